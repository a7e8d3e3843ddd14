// Asks the kernel's routing table. A connected socket that is bound to the
// interface would not do: if the table has no route, the kernel assumes that the address is on that interface's link,
// and reports nothing until a connection times out.
#include <arpa/inet.h>
#include <net/if.h>

#include <cerrno>
#include <cstring>

#include "net/host_ports.hpp"
#include "net/netlink.hpp"

namespace sumac::net {
namespace {

Question<rtmsg> question_of(unsigned interface, const SocketAddress& to) {
  Question<rtmsg> question(RTM_GETROUTE);
  question.body.rtm_family = static_cast<unsigned char>(to.family());
  // The flag asks for the table's own entry; otherwise the kernel assumes "on link", as for a socket.
  question.body.rtm_flags = RTM_F_FIB_MATCH;
  question.body.rtm_dst_len = static_cast<unsigned char>(8 * to.host().size());
  question.append(RTA_DST, to.host().data(), to.host().size());
  question.append(RTA_OIF, &interface, sizeof interface);
  return question;
}

bool means_no_way(int error) { return error == ENETUNREACH || error == EHOSTUNREACH || error == ENETDOWN; }

}  // namespace

Result<bool> leads_to(std::string_view interface, const SocketAddress& to) {
  const std::string name(interface);
  const unsigned index = if_nametoindex(name.c_str());
  if (index == 0) return fail_errno(fmt::format("interface {}", name));
  const auto answer = ask(question_of(index, to));
  if (!answer) return tl::unexpected(answer.error());
  if (answer->header()->nlmsg_type == RTM_NEWROUTE) return true;
  if (answer->header()->nlmsg_type != NLMSG_ERROR)
    return fail(Errc::io, "routing table: an answer of type {}", answer->header()->nlmsg_type);
  const int error = answer->error();
  if (means_no_way(error)) return false;
  return fail(Errc::io, "route to {} by interface {}: {}", format_address(to), name, std::strerror(error));
}

}  // namespace sumac::net
