// Asks the kernel's routing table by rtnetlink, which needs no privileges. A connected socket that is bound to the
// interface would not do: if the table has no route, the kernel assumes that the address is on that interface's link,
// and reports nothing until a connection times out.
#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fd.hpp"
#include "net/host_ports.hpp"

namespace sumac::net {
namespace {

struct Question {
  nlmsghdr header{};
  rtmsg route{};
  alignas(RTA_ALIGNTO) char attributes[64]{};
};

void append(Question& question, unsigned short type, const void* data, std::size_t bytes) {
  auto* attribute =
      reinterpret_cast<rtattr*>(reinterpret_cast<char*>(&question) + NLMSG_ALIGN(question.header.nlmsg_len));
  attribute->rta_type = type;
  attribute->rta_len = static_cast<unsigned short>(RTA_LENGTH(bytes));
  std::memcpy(RTA_DATA(attribute), data, bytes);
  question.header.nlmsg_len =
      NLMSG_ALIGN(question.header.nlmsg_len) + static_cast<std::uint32_t>(RTA_ALIGN(attribute->rta_len));
}

Question question_of(unsigned interface, const SocketAddress& to) {
  Question question;
  question.header.nlmsg_type = RTM_GETROUTE;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.header.nlmsg_len = NLMSG_LENGTH(sizeof(rtmsg));
  question.route.rtm_family = static_cast<unsigned char>(to.family());
  // The flag asks for the table's own entry; otherwise the kernel assumes "on link", as for a socket.
  question.route.rtm_flags = RTM_F_FIB_MATCH;
  question.route.rtm_dst_len = static_cast<unsigned char>(8 * to.host().size());
  append(question, RTA_DST, to.host().data(), to.host().size());
  append(question, RTA_OIF, &interface, sizeof interface);
  return question;
}

bool means_no_way(int error) { return error == ENETUNREACH || error == EHOSTUNREACH || error == ENETDOWN; }

}  // namespace

Result<bool> leads_to(std::string_view interface, const SocketAddress& to) {
  const std::string name(interface);
  const unsigned index = if_nametoindex(name.c_str());
  if (index == 0) return fail_errno(fmt::format("interface {}", name));
  const UniqueFd fd{socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)};
  if (!fd) return fail_errno("routing table");
  const auto question = question_of(index, to);
  if (send(fd.get(), &question, question.header.nlmsg_len, 0) < 0) return fail_errno("routing table");
  alignas(NLMSG_ALIGNTO) char answer[4096];
  ssize_t bytes = -1;
  while ((bytes = recv(fd.get(), answer, sizeof answer, 0)) < 0 && errno == EINTR) {
  }
  if (bytes < 0) return fail_errno("routing table");
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer);
  if (!NLMSG_OK(header, static_cast<std::size_t>(bytes)))
    return fail(Errc::io, "routing table: the answer is cut short");
  if (header->nlmsg_type == RTM_NEWROUTE) return true;
  if (header->nlmsg_type != NLMSG_ERROR)
    return fail(Errc::io, "routing table: an answer of type {}", header->nlmsg_type);
  const int error = -static_cast<const nlmsgerr*>(NLMSG_DATA(header))->error;
  if (means_no_way(error)) return false;
  return fail(Errc::io, "route to {} by interface {}: {}", format_address(to), name, std::strerror(error));
}

}  // namespace sumac::net
