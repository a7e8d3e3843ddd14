#pragma once
// A group that lasts for the life of its communicator: on a tree, among its members when that is lost, and on another tree
// when there is one. Each life is a Group of its own, with its own id and numbers; Return agrees where one ends. An operation belongs to
// one life as a whole, and is posted in the next one when this member has left the life before, in which everybody then had everything.
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "proto/recovery_group.hpp"
#include "proto/recovery_return.hpp"

namespace sumac::proto::recovery {

/// Its user knows the trees.
class Trees {
 public:
  /// Makes this member's part of a group on a tree that the job has again, started. Null: it cannot be told yet whether there will be
  /// one; the call is repeated. An error: there will be none.
  virtual sumac::Result<std::unique_ptr<Group>> join(TreeId tree, GroupId group, Time now) = 0;

 protected:
  ~Trees() = default;
};

class LastingGroup {
 public:
  using Phase = Group::Phase;

  LastingGroup(std::unique_ptr<Group> first, Rank self, Rank size, Peers& peers, Trees& trees)
      : self_(self), size_(size), peers_(peers), trees_(trees), current_(std::move(first)), return_(self, size) {
    current_->tell_of_unrest(&calm_);
  }

  // As those of Group. A completion's id is that of the operation in its life: the token says which one it is.
  void start(Time now) { current_->start(now); }
  tl::expected<OpId, Errc> post(const proto::Operation& operation, Time now);
  std::optional<Completion> next_completion();
  std::uint32_t outstanding() const noexcept;
  void wake(Time now);
  void give_up(Time now, std::uint32_t dead = wire::kNoRank);
  void leave(Time now);
  Phase phase() const noexcept;
  /// The life in which there is a verdict: its numbers count from there.
  GroupKey ended_in() const noexcept { return ended_->key(); }
  const std::optional<proto::Verdict>& verdict() const noexcept { return verdict_ ? verdict_ : current_->verdict(); }
  std::string why(std::span<const std::string> names = {}) const { return ended_->why(names); }
  const GroupShape& shape() const noexcept { return current_->shape(); }
  void on_message(Rank from, std::span<const std::byte> frame, Time now);
  void on_link_lost(Rank peer, Time now);
  void dead(Rank member, Time now);
  void departed(GroupKey group, Rank member, Time now);
  void run(Time now);

  /// Not null while nothing but a tree concerns this group, which is nearly always: the calls of its user may go to the group on the
  /// tree, and run() has nothing to do. A run() has followed whatever happened before.
  ClientGroup* calm() const noexcept { return calm_; }
  /// New operations go there.
  Group& current() const noexcept { return *current_; }
  ClientGroup& on_tree() const noexcept { return current_->on_tree(); }
  recovery::Epoch epoch() const noexcept { return current_->epoch(); }
  bool has_tree() const noexcept { return current_->has_tree(); }
  bool is_group(GroupKey group) const noexcept;
  /// This member has left that life.
  bool has_left(GroupKey group) const noexcept;
  /// Member 0 alone: whether a group on a tree would be of use now, and that there is one.
  bool wants_tree() const noexcept;
  void propose(TreeId tree, GroupId group, Time now);
  /// The manager's word: the tree of the current life is lost.
  void lose_tree(Time now);
  const std::deque<GroupKey>& lives_left() const noexcept { return left_; }
  /// It is about to go on with another tree.
  bool is_changing() const noexcept { return return_.proposal().stage >= Proposal::Stage::hold; }
  /// It has gone to another tree so often.
  std::uint32_t returns() const noexcept { return returns_; }
  const char* broken() const noexcept;
  std::size_t bytes_kept() const noexcept;
  bool is_over() const noexcept;

 private:
  bool is_quiet() const noexcept;
  void settle(Time now);
  void act(Return::Action action, Time now);
  void look_at_next(Time now);
  void go_on(Time now);
  void move_on(Time now);
  void fail_rest();
  void say(GroupKey life);

  Rank self_, size_;
  Peers& peers_;
  Trees& trees_;
  std::unique_ptr<Group> current_;
  std::unique_ptr<Group> next_;               ///< The group of the proposal, from the time when this member joins it.
  std::vector<std::unique_ptr<Group>> past_;  ///< Left, or not used. Something of theirs may still be on a tree.
  const Group* ended_ = current_.get();       ///< It has the verdict, if there is one.
  Return return_;
  bool joins_ = false;  ///< The group of the proposal is still to be joined.
  bool leaves_ = false;
  ClientGroup* calm_ = nullptr;
  std::deque<proto::Operation> waiting_;  ///< They go to the next group.
  std::deque<Completion> failed_;         ///< They would have.
  std::deque<GroupKey> left_;             ///< Lives that this member has left: whoever asks there is told so.
  std::vector<Rank> dead_;
  std::optional<proto::Verdict> verdict_;
  std::vector<std::byte> head_;
  std::uint32_t returns_ = 0;
};

}  // namespace sumac::proto::recovery
