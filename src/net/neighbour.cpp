#include "net/neighbour.hpp"

#include <linux/neighbour.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>

#include <algorithm>

#include "net/netlink.hpp"

namespace sumac::net {

Result<LinkAddress> link_address_of(unsigned interface) {
  ifreq request{};
  if (if_indextoname(interface, request.ifr_name) == nullptr) return fail_errno(fmt::format("interface {}", interface));
  const UniqueFd fd{socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  if (!fd || ioctl(fd.get(), SIOCGIFHWADDR, &request) != 0) return fail_errno(request.ifr_name);
  LinkAddress found{};
  if (request.ifr_hwaddr.sa_family == ARPHRD_ETHER)
    std::copy_n(reinterpret_cast<const std::uint8_t*>(request.ifr_hwaddr.sa_data), found.size(), found.begin());
  return found;
}

Result<Neighbour> neighbour_of(const SocketAddress& to) {
  const auto refused = [&](int error) {
    return fail(Errc::not_found, "{}: {}", format_address(to), std::strerror(error));
  };
  Question<rtmsg> route_question(RTM_GETROUTE);
  route_question.body.rtm_family = static_cast<unsigned char>(to.family());
  route_question.body.rtm_dst_len = static_cast<unsigned char>(8 * to.host().size());
  route_question.append(RTA_DST, to.host().data(), to.host().size());
  const auto route = ask(route_question);
  if (!route) return tl::unexpected(route.error());
  if (route->error() != 0) return refused(route->error());
  Neighbour found;
  const auto leaves_by = route->attribute<rtmsg>(RTA_OIF);
  if (leaves_by.size() != sizeof found.interface) return refused(ENETUNREACH);
  std::memcpy(&found.interface, leaves_by.data(), sizeof found.interface);
  const auto own = link_address_of(found.interface);
  if (!own) return tl::unexpected(own.error());
  found.own = *own;
  if (found.own == LinkAddress{}) return found;
  const auto router = route->attribute<rtmsg>(RTA_GATEWAY);
  const auto next = router.empty() ? to.host() : router;
  Question<ndmsg> question(RTM_GETNEIGH);
  question.body.ndm_family = static_cast<unsigned char>(next.size() == 4 ? AF_INET : AF_INET6);
  question.body.ndm_ifindex = static_cast<int>(found.interface);
  question.append(NDA_DST, next.data(), next.size());
  const auto neighbour = ask(question);
  if (!neighbour) return tl::unexpected(neighbour.error());
  if (neighbour->error() != 0) return refused(neighbour->error());
  const auto address = neighbour->attribute<ndmsg>(NDA_LLADDR);
  if (address.size() != found.next.size()) return refused(EHOSTUNREACH);
  std::ranges::copy(address, found.next.begin());
  return found;
}

}  // namespace sumac::net
