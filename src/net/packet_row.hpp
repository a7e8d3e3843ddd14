#pragma once
// Small messages in a row share packets (docs/adr/0104). Nagle's rule with credits: the first ones leave at once, and
// while those are unacknowledged the kernel keeps the next ones until an acknowledgement comes. So no message waits longer
// than one round trip, although nobody looks for messages meanwhile.
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>

namespace sumac::net {

/// So many messages leave alone. The peer's kernel acknowledges every second small packet as soon as it is read, while it
/// may delay the acknowledgement of a single one by 40 ms; so there must be at least two.
inline constexpr std::size_t kAloneInRow = 8;

class PacketRow {
 public:
  /// The bytes of a socket that the peer has not acknowledged, and those of them that have not left this host.
  struct Backlog {
    std::size_t unacknowledged = 0, unsent = 0;
    bool in_flight() const noexcept { return unacknowledged > unsent; }
  };

  /// Decides whether the next message, of `bytes` bytes, shares a packet. `backlog` is called only if that depends on it.
  template <class Look>
  bool shares(std::size_t bytes, Look&& backlog) {
    if (held_ || alone_ >= kAloneInRow) {
      const Backlog now = backlog();
      // The shared packet has left, and its acknowledgement may be slow: count anew.
      if (held_ && now.unsent == 0) held_ = false, alone_ = 0;
      if (!held_ && alone_ >= kAloneInRow)
        held_ = now.unacknowledged - now.unsent >= kAloneInRow * std::max(bytes, last_bytes_);
    }
    if (held_) return true;
    alone_ = std::min(alone_ + 1, kAloneInRow);
    last_bytes_ = bytes;
    return false;
  }
  /// Called after a message that shares a packet was given to the kernel. Returns whether the packet must be pushed: an
  /// acknowledgement would have let it go, and none is on its way.
  static bool is_stuck(const Backlog& now) noexcept { return now.unsent != 0 && !now.in_flight(); }
  /// Everything has left, or is about to.
  void end() noexcept { held_ = false, alone_ = 0; }
  bool holds() const noexcept { return held_; }

 private:
  std::size_t alone_ = 0, last_bytes_ = 0;
  bool held_ = false;
};

inline PacketRow::Backlog backlog_of(int fd) noexcept {
  int unacknowledged = 0, unsent = 0;
  // A socket that cannot say it has nothing in flight, so its messages leave alone.
  if (ioctl(fd, SIOCOUTQNSD, &unsent) != 0 || ioctl(fd, SIOCOUTQ, &unacknowledged) != 0) return {};
  // An acknowledgement between the two calls only makes the second number smaller.
  unacknowledged = std::max(unacknowledged, unsent);
  return {static_cast<std::size_t>(unacknowledged), static_cast<std::size_t>(unsent)};
}

/// Sends what the kernel keeps of this socket.
inline void push_packet(int fd) noexcept {
  const int on = 1;
  // It can only fail for a connection that has ended.
  static_cast<void>(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
}

}  // namespace sumac::net
