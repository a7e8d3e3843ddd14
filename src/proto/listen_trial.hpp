#pragma once
// Inside this folder only: does it pay a member to listen to its group's multicast? Where nothing arrives (no multicast on this
// network), or always behind the link's copy, it stops, and the root stops sending when nobody listens any more.
#include <cstdint>

namespace sumac::proto {

class ListenTrial {
 public:
  static constexpr std::uint32_t kNumbers = 64;   ///< Looked at together.
  static constexpr std::uint32_t kFirstMin = 16;  ///< Of them; fewer came first: it stops.

  void listen(bool listening) noexcept {
    listening_ = listening;
    numbers_ = first_ = 0;
  }
  bool listening() const noexcept { return listening_; }

  /// The link's copy of a number that we listened for is here; was the other one there before? True: with this one listening ends.
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
