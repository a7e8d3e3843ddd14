#include "net/tcp_socket.hpp"

#include <netinet/tcp.h>

#include <string_view>

namespace sumac::net {
namespace {

template <class T>
Result<> set_option(int fd, int level, int name, T value, std::string_view what) {
  if (setsockopt(fd, level, name, &value, sizeof value) != 0) return fail_errno(fmt::format("socket option {}", what));
  return {};
}

// Windows limit our data in flight, so there is no queue to probe for. A congestion control that leaves
// the link idle to measure it (BBR, the default of some machines) costs a steady stream 3 to 4 %. If the machine has
// neither cubic nor reno, its own choice stays.
void prefer_loss_based_control(int fd) {
  for (const std::string_view name : {"cubic", "reno"})
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) == 0) return;
}

}  // namespace

Result<> set_stream_options(int fd, Millis user_timeout) {
  // Each message is complete, so waiting for a second one to share its packet would only add latency.
  if (auto r = set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY"); !r) return r;
  // An idle connection to a host that lost power is detected after 10 + 4 x 5 s, one with data in flight after
  // user_timeout.
  if (auto r = set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE"); !r) return r;
  if (auto r = set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 10, "TCP_KEEPIDLE"); !r) return r;
  if (auto r = set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5, "TCP_KEEPINTVL"); !r) return r;
  if (auto r = set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 4, "TCP_KEEPCNT"); !r) return r;
  const auto timeout_ms = static_cast<unsigned>(user_timeout.count());
  if (auto r = set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, timeout_ms, "TCP_USER_TIMEOUT"); !r) return r;
  prefer_loss_based_control(fd);
  // Buffer sizes are left to the kernel: setting SO_SNDBUF or SO_RCVBUF would switch off its tuning to the path.
  return set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, kUnsentMax, "TCP_NOTSENT_LOWAT");
}

bool is_in_vain(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
  return info.tcpi_retransmits >= 3 || info.tcpi_probes >= 2;
}

Result<UniqueFd> listen_on(const SocketAddress& address, int backlog) {
  UniqueFd fd{socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP)};
  if (!fd) return fail_errno("socket");
  // It is set from the first start on, because a restarted node must get its port back while old connections are in
  // TIME_WAIT.
  if (auto r = set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR"); !r) return tl::unexpected(r.error());
  if (address.family() == AF_INET6)
    if (auto r = set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1, "IPV6_V6ONLY"); !r)
      return tl::unexpected(r.error());
  if (bind(fd.get(), address.get(), address.length) != 0 || listen(fd.get(), backlog) != 0) {
    const char* remedy = errno == EADDRINUSE      ? " (stop the other process, or choose another port)"
                         : errno == EADDRNOTAVAIL ? " (choose an address of this machine)"
                                                  : "";
    return fail_errno(fmt::format("listen on {}{}", format_address(address), remedy));
  }
  return fd;
}

Result<Connecting> start_connect(const SocketAddress& address, Millis user_timeout, std::string_view interface) {
  Connecting result;
  result.fd = PrivateFd::from(
      [&] { return socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP); });
  if (!result.fd) return fail_errno("socket");
  if (auto r = set_stream_options(result.fd.get(), user_timeout); !r) return tl::unexpected(r.error());
  // Two ports may have addresses of the same network, so a source address alone would not choose between them.
  if (!interface.empty() && setsockopt(result.fd.get(), SOL_SOCKET, SO_BINDTODEVICE, interface.data(),
                                       static_cast<socklen_t>(interface.size())) != 0)
    return fail_errno(fmt::format("use interface {}{}", interface,
                                  errno == EPERM ? " (without privileges that takes Linux 5.7 or later)" : ""));
  if (connect(result.fd.get(), address.get(), address.length) != 0 && errno != EINPROGRESS && errno != EINTR)
    result.error = errno;
  return result;
}

Result<SocketAddress> local_address(int fd) {
  SocketAddress address;
  address.length = sizeof address.storage;
  if (getsockname(fd, address.get(), &address.length) != 0) return fail_errno("getsockname");
  return address;
}

}  // namespace sumac::net
