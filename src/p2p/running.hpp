#pragma once
// One operation under way: its steps, how many others each still waits for, and the messages with each peer in their
// order. It sends nothing itself; the engine asks for the next message and hands in those that arrive. Records are used
// again, so no message allocates, and an operation little.
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.hpp"
#include "base/clock.hpp"
#include "coll/operation.hpp"
#include "coll/patterns/pattern.hpp"
#include "p2p/choose.hpp"
#include "wire/peer.hpp"

namespace sumac::p2p {

/// The messages with one peer in one direction. The k-th one there is the k-th one here.
struct Lane {
  std::uint32_t peer = 0;
  std::uint32_t sequence = 0;   ///< The operation's number; for a direct one the number between these two members.
  std::uint32_t first = 0;      ///< Position of the lane's steps in Running::order.
  std::uint32_t count = 0;      ///< The number of messages.
  std::uint32_t next = 0;       ///< The next one to send, or to receive.
  std::uint32_t open = 0;       ///< Out: as many may go. In: for as many there is memory.
  std::uint32_t announced = 0;  ///< In: the peer knows of so many.
  std::uint32_t wanted = 0;     ///< In: the peer must know of so many, because the last of them is long.
  std::uint32_t received = 0;   ///< In: arrived, some perhaps before their step may run.
};

class Running {
 public:
  enum class State : std::uint8_t { under_way, done, failed };

  /// Prepares a record for an operation. `eager_max`: longer messages wait until they are announced.
  void begin(coll::Member me, const coll::Operation& operation, Algorithm algorithm, bool is_direct,
             std::uint64_t eager_max);
  /// Runs everything that may run without a message, and notes the lanes in which a message may have become possible.
  void run();
  struct Touched {
    std::uint32_t peer = 0;
    bool is_out = false;
  };
  /// Takes one of the noted lanes; nothing when there is none.
  std::optional<Touched> next_touched() noexcept {
    if (touched_.empty()) return std::nullopt;
    const Touched last = touched_.back();
    touched_.pop_back();
    return last;
  }

  bool is_over() const noexcept { return left_ == 0; }
  std::span<Lane> outs() noexcept { return outs_; }
  std::span<Lane> ins() noexcept { return ins_; }
  Lane* out_to(std::uint32_t peer) noexcept { return lane(outs_, out_of_, peer); }
  Lane* in_from(std::uint32_t peer) noexcept { return lane(ins_, in_of_, peer); }

  bool is_long(std::uint64_t bytes) const noexcept { return !pattern_.is_eager || bytes > eager_max_; }
  std::uint64_t bytes_of(const Lane& lane, std::uint32_t index) const noexcept {
    return pattern_.steps[order_[lane.first + index]].bytes;
  }
  /// True if the step of the lane's next message waits for no other one.
  bool may_next(const Lane& lane) const noexcept {
    return lane.next < lane.count && marks_[order_[lane.first + lane.next]].waits == 0;
  }
  /// Raises `open` and `wanted` of an incoming lane as far as its steps allow.
  void open(Lane& lane) noexcept;

  std::span<const std::byte> next_out(const Lane& lane) const noexcept;
  /// The memory of the next message that is not added to anything; null if it is.
  std::byte* next_in(const Lane& lane) const noexcept;
  std::uint32_t next_step(const Lane& lane) const noexcept { return order_[lane.first + lane.next]; }

  /// The lane's next message has arrived. `body` may be the memory of next_in().
  void take(Lane& lane, const std::byte* body);
  /// A send's bytes have left the memory that they lay in.
  void left(std::uint32_t step);

  coll::Operation operation{};
  wire::PeerTerms terms{};
  std::uint32_t sequence = 0;
  bool is_direct = false;
  State state = State::under_way;
  Time ask_at{};
  bool has_asked = false;
  bool meets_all() const noexcept { return pattern_.meets_all; }

  /// Messages that arrived before their step may run, in the order of arrival.
  struct Early {
    std::uint32_t peer = 0, index = 0;
    BufferRef frame;
  };
  std::vector<Early> early;

 private:
  struct Mark {
    std::uint32_t waits = 0;
    std::uint32_t first_waiter = coll::kNoStep;  ///< Twice a step that waits for this one, plus which.
    std::uint32_t next_waiter[2] = {coll::kNoStep, coll::kNoStep};  ///< The next one that waits for after[i].
  };

  static Lane* lane(std::vector<Lane>& lanes, const std::vector<std::uint32_t>& of, std::uint32_t peer) noexcept {
    return of[peer] == coll::kNoStep ? nullptr : &lanes[of[peer]];
  }
  const coll::Step& step_of(const Lane& lane) const noexcept { return pattern_.steps[next_step(lane)]; }
  std::byte* at(coll::Part part) const noexcept;
  void link();
  void make_lanes(coll::Member me);
  void perform(const coll::Step& step);
  void finish(std::uint32_t step);

  coll::Pattern pattern_;
  std::uint64_t eager_max_ = 0;
  std::vector<Mark> marks_;
  std::vector<Lane> outs_, ins_;
  std::vector<std::uint32_t> out_of_, in_of_;  ///< The lane of each peer, or kNoStep.
  std::vector<std::uint32_t> order_;           ///< Each lane's steps, one lane after the other.
  std::vector<std::uint32_t> runnable_;
  std::vector<Touched> touched_;
  std::uint32_t left_ = 0;
  std::unique_ptr<std::byte[]> work_;
  std::size_t work_bytes_ = 0;
};

}  // namespace sumac::p2p
