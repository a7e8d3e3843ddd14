#pragma once
// A member of a group that survives the loss of its tree.
#include <optional>
#include <utility>
#include <vector>

#include "proto/recovery_root.hpp"

namespace sumac::proto::recovery {

class Member {
 public:
  /// Says what has become of a number that was posted.
  struct Event {
    enum class What : std::uint8_t {
      answered,  ///< The data of its result have come, by the message just heard or from this member's own root.
      completed,
      failed,
      left
    };
    What what;
    Number number = 0;
    bool operator==(const Event&) const = default;
  };

  /// This member's root has accepted a turn, and the data with it.
  struct Taken {
    Rank from = 0;
    Turn turn;
  };

  /// A number that was posted on the tree.
  struct Past {
    Operation operation;
    bool has_result = false;
  };

  /// @param window  At most so many numbers are open at once.
  Member(Rank self, Rank size, unsigned window);

  /// On the tree: `past` was posted there from number `first` on, in place of post() and hear() for each. All before is complete.
  void catch_up(Number first, Number closed, const std::vector<Past>& past);
  /// The user's next operation. Posting ends with leave().
  void post(Operation operation);
  /// Leaves the group as soon as everything posted has completed or failed.
  void leave();
  /// This member cannot go on. It counts as dead from here on.
  void give_up();
  /// Returns null, or what an honest member never says.
  const char* flaw(Rank from, const Message& message) const;
  void hear(Rank from, const Message& message);
  /// The tree is lost, or the link to another member. Nothing that was under way on it may be heard afterwards.
  void lost_tree();
  void lost_link(Rank peer);
  void dead(Rank member);  ///< It may be this one, which then has lost the group.
  void departed(Rank member);

  Epoch epoch() const noexcept { return epoch_; }
  Number posted() const noexcept { return posted_; }
  Number done() const noexcept { return done_; }
  const std::optional<Verdict>& verdict() const noexcept { return verdict_; }
  bool is_gone() const noexcept { return is_gone_; }
  bool gave_up() const noexcept { return gave_up_; }
  /// True while what this member got for the number, or its own part in it, must be kept.
  bool must_keep(Number number) const noexcept { return number >= first_ && number < posted_; }
  Number oldest() const noexcept { return first_; }
  /// False after a verdict when no number that is posted from now on completes.
  bool completes_more() const noexcept {
    return !verdict_ || posted_ < verdict_->first ||
           (posted_ - verdict_->first < kSpanMax && (verdict_->also >> (posted_ - verdict_->first)).any());
  }
  /// A number that is posted now has its turn at once, or completes or fails without one.
  bool has_room() const noexcept { return is_joined_ && (verdict_ ? completes_more() : posted_ < closed_ + window_); }
  bool is_root() const noexcept { return root_.has_value(); }
  std::vector<Taken> take_taken() { return std::exchange(taken_, {}); }
  std::vector<Send> take_sends() { return std::exchange(sends_, {}); }
  std::vector<Event> take_events() { return std::exchange(events_, {}); }
  const char* broken() const noexcept { return broken_ != nullptr || !root_ ? broken_ : root_->broken(); }
  void append_state(std::vector<std::uint64_t>& words) const;

 private:
  struct Record {
    Operation operation;
    bool has_result = false;
    Epoch result_in = 0;  ///< It came in this epoch.
  };

  Record* find(Number number);
  bool is_complete(const Record& record, Number number) const;
  bool fails(Number number) const;
  bool can_supply(const Record& record, Number number) const;
  void send(auto&& body);
  void move_to(Epoch epoch);
  void hear_from_root(const Message& message);
  void give_root(Rank from, const Turn& turn);
  void count_dead(Rank member, Why why);
  void run_root();
  Rank holder_of(Number number) const;
  void turn();
  void supply_what_completes();
  void take_turn(Turn::What what);
  void advance();
  void expelled();
  void forget_closed();
  void condemn(const Verdict& verdict);

  Rank self_, size_;
  unsigned window_;
  Epoch epoch_ = 0;
  bool is_joined_ = true, is_decided_ = false, leaves_ = false, told_leave_ = false, is_gone_ = false, gave_up_ = false;
  std::vector<bool> dead_, departed_;
  struct Dead {
    Rank member;
    Why why;
  };
  std::vector<Dead> dead_in_order_;  ///< As this member was told.
  Number first_ = 0;                 ///< `records_` begins with this number.
  std::vector<Record>
      records_;  ///< They hold the numbers that are kept, and those that were heard before they are posted.
  Number posted_ = 0, done_ = 0, contributed_ = 0;
  Number low_ = 0, next_ = 0;  ///< This epoch's first number, and the next turn, are these.
  Number closed_ = 0;          ///< As this epoch's root said.
  Number closed_ever_ = 0;
  std::vector<Rank> holders_;
  std::optional<Verdict> verdict_;
  std::optional<Root> root_;  ///< This member has one where it is the root of its epoch.
  std::vector<Send> sends_;
  std::vector<Event> events_;
  std::vector<Taken> taken_;
  const char* broken_ = nullptr;
};

}  // namespace sumac::proto::recovery
