#pragma once
// A member's side of the datagram way of one group (docs/protocol.md): it contributes numbers as frames, repeats them until
// they are closed, and keeps their results. It does no I/O. Nodes have no timers, so all repetition is the members'.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/inline_vec.hpp"
#include "wire/hop_frame.hpp"

namespace sumac::proto {

inline constexpr std::uint32_t kHopWindowMax = 8;

struct HopMemberConfig {
  std::uint32_t group = 0;            ///< the leaf's number of the group
  std::uint8_t child = 0;             ///< our index there
  std::uint32_t window = 1;           ///< W, at most kHopWindowMax
  std::uint32_t levels = 1;           ///< nodes on the longest way from a member to the root of the group
  HopKey up{};                        ///< Our frames have tags under this key,
  HopKey down{};                      ///< and the leaf's under this one.
  Sequence first{};                   ///< the group's first number
  Duration first_wait = Millis(1);    ///< A probe is repeated after it, while no round trip is known.
  Duration least_wait = Micros(200);  ///< Nothing is repeated sooner: members are late more often than frames are lost.
  Duration longest_wait = Millis(10);
};

class HopOutbox {
 public:
  virtual void send_datagram(std::span<const std::byte> frame) = 0;

 protected:
  ~HopOutbox() = default;
};

class HopMember {
 public:
  HopMember(const HopMemberConfig& config, HopOutbox& outbox);

  /// Asks the leaf's kernel for an answer, until it comes: it proves path and keys, and measures the round trip.
  void probe(Time now);
  bool is_proven() const noexcept { return round_trip_ != kUnknown; }

  /// May this member contribute `number`, by whichever way? Not while a number of this way that lies W or more in front of it
  /// is open: the others could go on and overwrite the nodes' slot of it.
  bool has_room(Sequence number) const noexcept;
  /// Sends the contribution to the number that `header` names; there is room for it. The payload is copied: it is empty at
  /// those who only receive a bcast, and at the root of a reduce, whose result is the sum of the others.
  void contribute(const HopHeader& header, std::span<const std::byte> payload, Time now);

  /// Does the number have its result? The source of a bcast does not wait for one, nor do the leaves of a reduce.
  bool is_answered(Sequence number) const noexcept;
  /// Has every member contributed it?
  bool is_closed(Sequence number) const noexcept;
  /// The result of an answered number, until a number 2 W behind it comes.
  std::span<const std::byte> result(Sequence number) const noexcept;
  bool is_idle() const noexcept { return open_.empty(); }
  /// The first open number; there is one.
  Sequence first_open() const noexcept { return open_[0]; }

  /// Handles a datagram from the leaf's address. Errc::denied, invalid: it is no frame of this way, and nothing has happened.
  Errc on_datagram(std::span<const std::byte> datagram, Time now);

  /// A verdict: numbers from `first` on are never answered, and are not sent any more.
  void fail_from(Sequence first);

  void tick(Time now);
  Time next_due() const noexcept { return due_; }
  /// Frames were sent for so long, and nothing came back. Open numbers are sent again, and then the node is probed, so a long
  /// silence means that the way is lost.
  Duration silence(Time now) const noexcept { return unheard_ < kUnheardLeast ? Duration(0) : now - asked_at_; }

 private:
  static constexpr Duration kUnknown = Duration::max();
  static constexpr unsigned kEvenWaits = 3;  ///< Then they double.
  /// A member that does nothing else for a second has sent more.
  static constexpr unsigned kUnheardLeast = 20;

  struct Number {
    Sequence number{};
    bool is_called = false, is_answered = false, is_closed = false;
    unsigned sent = 0;
    Time sent_at{}, resend_at = kNever;
    HopFrame call{};    ///< as contributed
    HopFrame result{};  ///< It may be here before the call.
  };

  Number& at(Sequence number) noexcept { return numbers_[number_of(number) & (numbers_.size() - 1)]; }
  const Number& at(Sequence number) const noexcept { return numbers_[number_of(number) & (numbers_.size() - 1)]; }
  bool is_open(const Number& n) const noexcept { return n.is_called && !(n.is_answered && n.is_closed); }
  void send(Number& n, Time now);
  void send_probe(Time now);
  void note_asked(Time now) noexcept {
    if (unheard_++ == 0) asked_at_ = now;
  }
  void take(Number& n, const HopFrame& frame, Time now);
  void forget_closed();
  Duration wait(unsigned sent) const noexcept;

  HopMemberConfig config_;
  HopOutbox& outbox_;
  std::vector<Number> numbers_;
  InlineVec<Sequence, kHopWindowMax> open_;  ///< In their order.
  Sequence next_;                            ///< Behind the last number of this way.
  Duration round_trip_ = kUnknown;
  std::uint32_t probe_ = 0;
  unsigned probes_sent_ = 0;
  unsigned unheard_ = 0;  ///< Frames sent since one came.
  Time probed_at_{}, probe_due_ = kNever, asked_at_{}, due_ = kNever;
};

}  // namespace sumac::proto
