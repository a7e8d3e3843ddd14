#include "lab/netlink.hpp"

#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace sumac::lab {

namespace {

/// A request under construction: header, fixed part, then attributes, some of them nested.
class Request {
 public:
  template <class Fixed>
  Request(std::uint16_t type, std::uint16_t flags, const Fixed& fixed) {
    header()->nlmsg_type = type;
    header()->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
    header()->nlmsg_len = NLMSG_LENGTH(sizeof fixed);
    std::memcpy(NLMSG_DATA(header()), &fixed, sizeof fixed);
  }

  void put(unsigned short type, const void* data, std::size_t bytes) {
    auto* attribute = open(type);
    if (bytes != 0) std::memcpy(RTA_DATA(attribute), data, bytes);
    header()->nlmsg_len += static_cast<std::uint32_t>(RTA_ALIGN(bytes));
    attribute->rta_len = static_cast<unsigned short>(RTA_LENGTH(bytes));
  }
  void put(unsigned short type, const std::string& text) { put(type, text.c_str(), text.size() + 1); }
  void put(unsigned short type, std::uint32_t number) { put(type, &number, sizeof number); }

  rtattr* open(unsigned short type) {
    auto* attribute = reinterpret_cast<rtattr*>(end());
    attribute->rta_type = type;
    header()->nlmsg_len += RTA_LENGTH(0);
    return attribute;
  }
  void close(rtattr* nested) { nested->rta_len = static_cast<unsigned short>(end() - reinterpret_cast<char*>(nested)); }
  /// Appends the fixed part that the peer of a veth pair begins with.
  void skip_ifinfo() {
    std::memset(end(), 0, sizeof(ifinfomsg));
    header()->nlmsg_len += sizeof(ifinfomsg);
  }
  void* data() { return buffer_; }

 private:
  nlmsghdr* header() { return reinterpret_cast<nlmsghdr*>(buffer_); }
  char* end() { return buffer_ + NLMSG_ALIGN(header()->nlmsg_len); }
  alignas(NLMSG_ALIGNTO) char buffer_[1024] = {};
};

void put_end(Request& request, const VethEnd& end, std::uint32_t mtu_bytes) {
  request.put(IFLA_IFNAME, end.name);
  request.put(IFLA_ADDRESS, end.mac.data(), end.mac.size());
  request.put(IFLA_MTU, mtu_bytes);
}

}  // namespace

Result<Netlink> Netlink::open() {
  UniqueFd fd{::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)};
  if (!fd) return fail_errno("open a netlink socket");
  return Netlink{std::move(fd)};
}

Result<> Netlink::talk(void* request, std::string_view what) {
  auto* header = static_cast<nlmsghdr*>(request);
  header->nlmsg_seq = ++sequence_;
  if (::send(fd_.get(), header, header->nlmsg_len, 0) < 0) return fail_errno(what);
  alignas(NLMSG_ALIGNTO) char answer[4096];
  const auto got = ::recv(fd_.get(), answer, sizeof answer, 0);
  if (got < 0) return fail_errno(what);
  const auto* reply = reinterpret_cast<const nlmsghdr*>(answer);
  if (!NLMSG_OK(reply, static_cast<std::size_t>(got)) || reply->nlmsg_type != NLMSG_ERROR) {
    return fail(Errc::io, "{}: the kernel gave no answer to the request", what);
  }
  const auto* error = static_cast<const nlmsgerr*>(NLMSG_DATA(reply));
  if (error->error == 0) return {};
  errno = -error->error;
  return fail_errno(what);
}

Result<> Netlink::make_veth(const VethEnd& here, const VethEnd& there, int there_fd, std::uint32_t mtu_bytes) {
  Request request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, ifinfomsg{});
  put_end(request, here, mtu_bytes);
  auto* info = request.open(IFLA_LINKINFO);
  request.put(IFLA_INFO_KIND, "veth", 4);
  auto* data = request.open(IFLA_INFO_DATA);
  auto* peer = request.open(VETH_INFO_PEER);
  request.skip_ifinfo();
  put_end(request, there, mtu_bytes);
  request.put(IFLA_NET_NS_FD, static_cast<std::uint32_t>(there_fd));
  request.close(peer);
  request.close(data);
  request.close(info);
  return talk(request.data(), fmt::format("make the network device {}", here.name));
}

Result<> Netlink::set_up(const std::string& device) {
  ifinfomsg fixed{};
  fixed.ifi_index = static_cast<int>(::if_nametoindex(device.c_str()));
  fixed.ifi_flags = IFF_UP;
  fixed.ifi_change = IFF_UP;
  Request request(RTM_NEWLINK, 0, fixed);
  return talk(request.data(), fmt::format("set device {} up", device));
}

Result<> Netlink::await_running(const std::string& device) {
  constexpr int kWaitMs = 5000;
  // The socket listens before the first look, so that no change in between is missed.
  const UniqueFd events(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!events) return fail_errno("netlink socket");
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK;
  if (::bind(events.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
    return fail_errno("bind to link events");
  const UniqueFd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!any) return fail_errno("socket");
  ifreq request{};
  device.copy(request.ifr_name, sizeof request.ifr_name - 1);
  for (;;) {
    if (::ioctl(any.get(), SIOCGIFFLAGS, &request) < 0) return fail_errno(fmt::format("flags of device {}", device));
    if ((request.ifr_flags & IFF_RUNNING) != 0) return {};
    pollfd wait{events.get(), POLLIN, 0};
    if (::poll(&wait, 1, kWaitMs) == 0)
      return fail(Errc::timeout, "device {} is up but not running after {} s: its other end is down", device,
                  kWaitMs / 1000);
    std::array<std::byte, 8192> heard;
    if (::recv(events.get(), heard.data(), heard.size(), 0) < 0 && errno != EINTR && errno != ENOBUFS)
      return fail_errno("link events");
  }
}

Result<> Netlink::add_address(const std::string& device, std::uint32_t ip, unsigned prefix_bits) {
  ifaddrmsg fixed{};
  fixed.ifa_family = AF_INET;
  fixed.ifa_prefixlen = static_cast<std::uint8_t>(prefix_bits);
  fixed.ifa_index = ::if_nametoindex(device.c_str());
  Request request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, fixed);
  request.put(IFA_LOCAL, htonl(ip));
  request.put(IFA_ADDRESS, htonl(ip));
  return talk(request.data(), fmt::format("give device {} its address", device));
}

Result<> Netlink::add_neighbour(const std::string& device, std::uint32_t ip, const Mac& mac) {
  ndmsg fixed{};
  fixed.ndm_family = AF_INET;
  fixed.ndm_ifindex = static_cast<int>(::if_nametoindex(device.c_str()));
  fixed.ndm_state = NUD_PERMANENT;
  Request request(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, fixed);
  request.put(NDA_DST, htonl(ip));
  request.put(NDA_LLADDR, mac.data(), mac.size());
  return talk(request.data(), fmt::format("add a neighbour on device {}", device));
}

Result<> disable_segmentation_offloads(const std::string& device) {
  const UniqueFd fd{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  if (!fd) return fail_errno("open a socket");
  for (const auto command : {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO}) {
    ethtool_value value{};
    value.cmd = static_cast<std::uint32_t>(command);
    ifreq request{};
    device.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&value);
    if (::ioctl(fd.get(), SIOCETHTOOL, &request) < 0) {
      return fail_errno(fmt::format("turn segmentation offloads of device {} off", device));
    }
  }
  return {};
}

}  // namespace sumac::lab
