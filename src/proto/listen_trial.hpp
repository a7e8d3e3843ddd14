#pragma once
// This header belongs to src/proto alone: it decides whether listening to its group's multicast pays for a member.
// Where nothing arrives (the network has no multicast), or always after the link's copy, the member stops listening,
// and the root stops sending when no member listens any more.
#include <cstdint>

namespace sumac::proto {

class ListenTrial {
 public:
  static constexpr std::uint32_t kNumbers = 64;   ///< Numbers that one trial looks at.
  static constexpr std::uint32_t kFirstMin = 16;  ///< Listening stops when fewer of them came first by multicast.

  void listen(bool listening) noexcept {
    listening_ = listening;
    numbers_ = first_ = 0;
  }
  bool listening() const noexcept { return listening_; }

  /// The link's copy of a number that this member listened for has arrived; the argument says whether the datagram was
  /// earlier. Returns true when listening ends with this number.
  bool link_copy(bool multicast_was_first) noexcept {
    if (!listening_) return false;
    first_ += multicast_was_first ? 1 : 0;
    if (++numbers_ < kNumbers) return false;
    listen(first_ >= kFirstMin);
    return !listening_;
  }

 private:
  bool listening_ = false;
  std::uint32_t numbers_ = 0, first_ = 0;
};

}  // namespace sumac::proto
