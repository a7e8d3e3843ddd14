#pragma once
// The sockets of the tcp backend and their options; the bare-tree benchmark uses the same.
#include <string_view>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/private_fd.hpp"
#include "base/result.hpp"
#include "net/address.hpp"

namespace sumac::net {

/// The unsent bytes that the kernel may hold for one connection; the rest stays in our queue, where it costs no copy.
/// Two streaming chunks of 64 KiB on the wire and two behind them keep 10 Gbit/s busy between two wake-ups.
inline constexpr int kUnsentMax = 256 * 1024;

/// Sets the options of every data connection: no Nagle, keepalive, limits for unacknowledged time and unsent bytes, and
/// cubic or reno if the machine has them.
Result<> set_stream_options(int fd, Millis user_timeout);

/// Returns a nonblocking listener that can be restarted on the same port at once.
Result<UniqueFd> listen_on(const SocketAddress& address, int backlog);

/// A nonblocking socket whose connect has begun. If it has already failed, `error` holds errno.
struct Connecting {
  PrivateFd fd;
  int error = 0;
};
/// `interface` is the port by which its packets leave and arrive, whatever the routing table prefers; empty means the
/// table's choice.
Result<Connecting> start_connect(const SocketAddress& address, Millis user_timeout, std::string_view interface = {});

Result<SocketAddress> local_address(int fd);

/// Returns true if the kernel has repeated what was sent three times without an answer, or two of its probes.
bool is_in_vain(int fd);

}  // namespace sumac::net
