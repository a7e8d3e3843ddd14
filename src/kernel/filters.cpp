#include "kernel/filters.hpp"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>

namespace sumac::kernel {
namespace {

/// Returns the filters of one direction, or -1.
int filters_at(int socket, int device, std::uint32_t parent) {
  struct {
    nlmsghdr header;
    tcmsg body;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_GETTFILTER;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.tcm_family = AF_UNSPEC;
  request.body.tcm_ifindex = device;
  request.body.tcm_parent = parent;
  if (send(socket, &request, sizeof request, 0) < 0) return -1;
  int found = 0;
  alignas(nlmsghdr) std::array<std::byte, 16384> buffer{};
  for (;;) {
    auto left = recv(socket, buffer.data(), buffer.size(), 0);
    if (left < 0) return -1;
    for (auto* message = reinterpret_cast<nlmsghdr*>(buffer.data()); NLMSG_OK(message, static_cast<unsigned>(left));
         message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == NLMSG_DONE) return found;
      if (message->nlmsg_type == NLMSG_ERROR) return 0;  // no clsact
      // A filter with a handle; without one it is only the chain's head.
      if (message->nlmsg_type == RTM_NEWTFILTER && static_cast<tcmsg*>(NLMSG_DATA(message))->tcm_handle != 0) ++found;
    }
  }
}

}  // namespace

Result<int> filters_of(int device) {
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (socket < 0) return fail_errno("ask for filters");
  int found = 0;
  for (const std::uint32_t direction : {TC_H_MIN_INGRESS, TC_H_MIN_EGRESS}) {
    const int here = filters_at(socket, device, TC_H_MAKE(TC_H_CLSACT, direction));
    if (here < 0) {
      const auto failed = fail_errno("ask for filters");
      close(socket);
      return failed;
    }
    found += here;
  }
  close(socket);
  return found;
}

}  // namespace sumac::kernel
