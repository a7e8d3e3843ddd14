#pragma once
// A small group in every order of events: its members, the node that stands for their tree, and what is under way between them.
#include <cstdint>
#include <string>
#include <vector>

#include "proto/recovery_member.hpp"

namespace sumac::sim {

namespace recovery = proto::recovery;

/// Says what a world begins with, and how often something may fail in it.
struct Case {
  recovery::Rank members = 2;
  unsigned window = 1;
  std::string kinds = "ab0r1a";  ///< The members' operations: a: of all; bN: from N; rN: to N.
  bool pipelined = false;        ///< The user posts without waiting for what it has posted.
  int trees = 1, deaths = 0, alarms = 0;
  bool zombies = false;   ///< A member that is declared dead goes on.
  bool gives_up = false;  ///< A death is a member's own word.

  std::vector<recovery::Operation> script() const;
};

struct Step {
  enum class What : std::uint8_t {
    hear,        ///< b hears the next message of a.
    post,        ///< a's user calls the next operation, or leaves.
    tree_dies,   ///< The tree dies. A member may hear what it sent before, until it notices.
    notices,     ///< a notices it.
    gives_up,    ///< a says that it cannot go on.
    dies,        ///< a dies; what it sent may still be heard, until its death is told.
    declared,    ///< The manager declares a dead.
    told,        ///< a is told that b is dead.
    told_left,   ///< a is told that b has left.
    link_breaks  ///< The link of a and b breaks; nobody has died.
  };
  What what = What::hear;
  std::uint8_t a = 0, b = 0;
};

class RecoveryWorld {
 public:
  explicit RecoveryWorld(const Case& plan);

  /// Calls `take(step, is_due)` for everything that may happen next. What is due happens at last if nothing else does.
  template <class Take>
  void each_step(Take take) const;
  /// Returns what is wrong then, in words; empty: nothing.
  std::string apply(Step step);
  /// Returns what is wrong if nothing is due any more.
  std::string at_the_end() const;
  /// Says in words what the step will be.
  std::string describe(Step step) const;
  /// Two worlds of a case with the same hash go on alike, but for a chance of one in 2^64.
  std::uint64_t hash() const;

 private:
  using Rank = recovery::Rank;
  enum class Outcome : std::uint8_t { open, completed, failed };

  Rank tree() const noexcept { return size_; }
  std::vector<recovery::Message>& link(Rank from, Rank to) { return links_[from * (size_ + 1) + to]; }
  const std::vector<recovery::Message>& link(Rank from, Rank to) const { return links_[from * (size_ + 1) + to]; }
  bool hears(Rank each) const { return each == tree() ? tree_lives_ : runs_[each] && !members_[each].is_gone(); }
  /// A member that gave up answers, and does nothing else.
  bool answers(Rank each) const { return hears(each) || (each != tree() && members_[each].gave_up()); }
  /// The promises are made to those that live and are not taken for dead.
  bool counts(Rank each) const { return runs_[each] && !declared_[each] && !members_[each].gave_up(); }
  void collect(Rank from);
  void collect_tree();
  void check();
  void clear(Rank from, Rank to) { link(from, to).clear(); }

  Rank size_;
  bool pipelined_, zombies_, gives_up_;
  std::vector<recovery::Operation> script_;
  std::vector<recovery::Member> members_;
  std::vector<bool> runs_, declared_, noticed_;
  std::vector<bool> has_left_;          ///< The user has called leave().
  std::vector<bool> told_, told_left_;  ///< They are ordered by who is told (the tree comes last), and of whom.
  std::vector<Outcome> outcomes_;       ///< They are ordered by member and number.
  recovery::Root node_;
  bool tree_lives_ = true;
  std::vector<std::vector<recovery::Message>>
      links_;  ///< They are ordered by sender and receiver; the tree comes behind the members.
  int trees_, deaths_, alarms_;
  std::string wrong_;
};

template <class Take>
void RecoveryWorld::each_step(Take take) const {
  const auto byte = [](Rank rank) { return static_cast<std::uint8_t>(rank); };
  for (Rank from = 0; from <= size_; ++from)
    for (Rank to = 0; to <= size_; ++to)
      if (!link(from, to).empty() && answers(to)) take(Step{Step::What::hear, byte(from), byte(to)}, true);
  for (Rank each = 0; each < size_; ++each) {
    const recovery::Member& member = members_[each];
    if (hears(each)) {
      const bool may_post = pipelined_ || member.done() == member.posted();
      if (may_post && (member.posted() < script_.size() || !has_left_[each]))
        take(Step{Step::What::post, byte(each)}, true);
      if (!tree_lives_ && !noticed_[each] && member.epoch() == 0) take(Step{Step::What::notices, byte(each)}, true);
      if (alarms_ > 0 && member.epoch() == 0) take(Step{Step::What::link_breaks, byte(each), byte(tree())}, false);
      for (Rank other = 0; other < each && alarms_ > 0; ++other)
        if (hears(other) && (member.epoch() > 0 || members_[other].epoch() > 0))
          take(Step{Step::What::link_breaks, byte(each), byte(other)}, false);
      if (deaths_ > 0 && counts(each))
        take(Step{gives_up_  ? Step::What::gives_up
                  : zombies_ ? Step::What::declared
                             : Step::What::dies,
                  byte(each)},
             false);
    }
    if (!runs_[each] && !declared_[each] && !member.is_gone()) take(Step{Step::What::declared, byte(each)}, true);
    for (Rank other = 0; other <= size_; ++other) {
      if (other == each || !hears(other)) continue;
      if (declared_[each] && !told_[other * size_ + each]) take(Step{Step::What::told, byte(other), byte(each)}, true);
      if (other < size_ && member.is_gone() && !member.gave_up() && !declared_[each] &&
          !told_left_[other * size_ + each] && members_[other].epoch() > 0)
        take(Step{Step::What::told_left, byte(other), byte(each)}, true);
    }
  }
  if (trees_ > 0 && tree_lives_) take(Step{Step::What::tree_dies}, false);
}

}  // namespace sumac::sim
