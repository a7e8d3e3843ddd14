#pragma once
// The root of one epoch of a group that has lost its tree.
#include <optional>
#include <utility>
#include <vector>

#include "proto/recovery.hpp"

namespace sumac::proto::recovery {

class Root {
 public:
  /// Collects the joins of epoch `epoch`.
  Root(Rank size, unsigned window, Epoch epoch);
  /// An epoch in which every member has joined already and nothing has been contributed. It stands for a tree in tests.
  static Root begun(Rank size, unsigned window, Epoch epoch);

  void join(Rank from, const Join& join);
  /// Returns whether the turn counts, and with it the data that came with it.
  bool turn(Rank from, const Turn& turn);
  void leaves(Rank from, Number end);
  /// The manager's word about a member: it is dead, or it has left the group for good. Or its own: it gives up.
  void dead(Rank member, Why why = Why::died);
  void departed(Rank member);

  /// The next epoch must decide, because a member died that had to supply something.
  bool is_void() const noexcept { return phase_ == Phase::is_void; }
  /// Messages since the last call, to be sent in this order.
  std::vector<Send> take_sends() { return std::exchange(sends_, {}); }
  /// Null: the rules were kept. Otherwise what a member, or this code, has broken.
  const char* broken() const noexcept { return broken_; }
  /// Appends all that decides what this machine will do.
  void append_state(std::vector<std::uint64_t>& words) const;

 private:
  enum class Phase : std::uint8_t { collects, is_open, condemned, is_void, over };
  struct Slot {
    Operation operation;
    Rank turns = 0;  ///< Members that have had their turn.
    bool is_answered = false;
  };

  void send(Rank to, auto&& body) { sends_.push_back({to, {epoch_, std::forward<decltype(body)>(body)}}); }
  void send_all(auto&& body);
  Slot& slot_of(Number number);
  Rank holder_of(Number number) const;
  Rank holder_among_joined(Number number) const;
  bool has_heard_of_all() const;
  void try_decide();
  void decide();
  void answer(Number number);
  bool completes(Number number) const;
  void condemn(Rank culprit, Why why);
  void close();
  bool awaits_supply() const;
  void end_if_all_leave();

  Rank size_;
  unsigned window_;
  Epoch epoch_;
  Phase phase_ = Phase::collects;
  std::vector<std::optional<Join>> joins_;
  std::vector<bool> dead_, departed_, leaving_;
  Rank first_dead_ = kNobody;
  Why why_dead_ = Why::died;
  Number low_ = 0, closed_ = 0, told_ = 0, begun_ = 0;
  std::vector<Rank> holders_;
  std::vector<Number> ends_;  ///< Each leaving member has posted the numbers below this one.
  std::vector<Number> next_;  ///< Each member's next turn is for this number.
  Number first_slot_ = 0;
  std::vector<Slot> slots_;
  std::optional<Verdict> verdict_;
  std::vector<Send> sends_;
  const char* broken_ = nullptr;
};

}  // namespace sumac::proto::recovery
