#include "sim/hop_seed.hpp"

#include "hop/rule.h"
#include "proto/recovery_rule.hpp"
#include "proto/test_datagrams.hpp"
#include "sim/coverage.hpp"
#include "sim/hop_group.hpp"
#include "sim/recovery_seed.hpp"

namespace sumac::sim {
namespace {

using proto::test::DatagramCall, proto::test::DatagramWorld;

/// The explorers of every order find the others (hop_explore.cpp, explore.cpp): they need two processors, members that differ, or one that
/// never calls.
constexpr struct {
  HopRule rule;
  const char* name;
} kRules[] = {{kHopAnswersAgain, "answers_again"},
              {kHopUpAgain, "up_again"},
              {kHopCountsAfterAnswer, "counts_after_answer"},
              {kHopFrozenIsSilent, "frozen_is_silent"},
              {kHopAwaitsAllParts, "awaits_all_parts"},
              {kHopAsksOn, "asks_on"},
              {kHopHoldsBack, "holds_back"},
              {kHopAwaitsLinks, "awaits_links"},
              {kHopAwaitsDatagrams, "awaits_datagrams"},
              {kHopAnswersBefore, "answers_before"},
              {kHopLeavesSilent, "leaves_silent"},
              {kHopLetsGo, "lets_go"},
              {kHopNamesTheRoot, "names_the_root"},
              {kHopProbesParent, "probes_parent"},
              {kHopBoundsByOwn, "bounds_by_own"}};
/// These bring a member's results to others whose datagrams were lost.
constexpr proto::recovery::Rule kOfRecovery[] = {proto::recovery::Rule::verdict_has_mask,
                                                 proto::recovery::Rule::retain_a_window};
constexpr const char* kGroupRules[] = {"enough_slots", "awaits_both_ways"};
constexpr int kRuleCount = static_cast<int>(std::size(kRules)),
              kRecoveryCount = static_cast<int>(std::size(kOfRecovery));
static_assert(std::size(kGroupRules) == static_cast<std::size_t>(HopGroupRule::count));
static_assert(kHopConditions == std::size(kRules) + std::size(kOfRecovery) + std::size(kGroupRules));

enum class HopStrike { none, gives_up, member_ends, leaf_ends };

class HopSeed {
 public:
  explicit HopSeed(std::uint64_t seed) : random_(seed), plan_(drawn(random_, seed)), world_(plan_) {
    // Whoever outlives its tree goes on among the members then, in the world of recovery.
    strike_ = plan_.outlives || random_.chance(0.4)
                  ? HopStrike::none
                  : static_cast<HopStrike>(random_.between(1, plan_.has_two_levels ? 3 : 2));
    calls_ = proto::test::mixed(random_, 20 + static_cast<std::uint32_t>(random_.below(60)));
    depth_ = static_cast<std::uint32_t>(random_.between(1, 12));
    strike_at_ = static_cast<std::uint32_t>(random_.below(calls_.size()));
  }

  Report run() {
    world_.make();
    for (int i = 0; i < 60; ++i) world_.pass();
    report_.failure = operate();
    if (report_.failure.empty() && has_struck_) report_.failure = judge_end();
    if (report_.failure.empty()) report_.failure = leave();
    report_.groups = 1;
    report_.operations = progress_.taken[0];
    report_.datagrams = world_.datagrams();
    report_.verdicts = world_.groups[0]->verdict() ? 1 : 0;
    report_.virtual_seconds = std::chrono::duration<double>(world_.tree.now.time_since_epoch()).count();
    return report_;
  }

 private:
  static DatagramWorld::Plan drawn(Random& random, std::uint64_t seed) {
    DatagramWorld::Plan plan = proto::test::drawn_plan(random, seed);
    plan.outlives = random.chance(0.5);
    return plan;
  }
  static constexpr int kTurnsMax = 20'000;

  bool is_over(std::uint32_t rank) const {
    return progress_.has_failed[rank] || progress_.taken[rank] == calls_.size() ||
           (has_struck_ && progress_.taken[rank] == progress_.posted[rank] &&
            world_.groups[rank]->phase() != proto::ClientGroup::Phase::standing);
  }

  std::string operate() {
    for (int turns = 0; turns < kTurnsMax; ++turns) {
      if (auto wrong = world_.take_turns(calls_, depth_, progress_); !wrong.empty()) return wrong;
      if (!has_struck_) {
        for (std::uint32_t rank = 0; rank < 3; ++rank)
          if (progress_.has_failed[rank])
            return fmt::format("rank {} operation {} fails: {}", rank, progress_.taken[rank],
                               world_.groups[rank]->why()) +
                   world_.drops();
        if (strike_ != HopStrike::none && progress_.taken[0] >= strike_at_) strike();
      }
      if (is_over(0) && is_over(1) && is_over(2)) return {};
      world_.deliver();
      if (world_.kernels.random.chance(0.4)) world_.pass(Micros(100));
    }
    return fmt::format("somebody waits for ever: {} of {}", fmt::join(progress_.taken, " "), calls_.size());
  }

  void strike() {
    has_struck_ = true;
    const auto rank = static_cast<std::uint32_t>(random_.below(3));
    if (strike_ == HopStrike::gives_up)
      world_.groups[rank]->give_up();
    else
      world_.tree.cut(strike_ == HopStrike::leaf_ends ? world_.leaf.up : world_.clients[rank]->up);
  }

  /// An operation of all members is complete at nobody, or at everybody who has called it.
  std::string judge_end() const {
    if (strike_ != HopStrike::gives_up) return {};
    for (std::uint32_t n = 0; n < calls_.size(); ++n) {
      const auto coll = calls_[n].coll;
      if (coll == wire::Coll::bcast || coll == wire::Coll::reduce) continue;
      for (std::uint32_t a = 0; a < 3; ++a)
        for (std::uint32_t b = 0; b < 3; ++b)
          if (progress_.taken[a] > n && progress_.posted[b] > n && progress_.taken[b] == n)
            return fmt::format("operation {} is complete at rank {} and fails at rank {}", n, a, b);
    }
    return {};
  }
  std::string leave() {
    for (auto& group : world_.groups) group->leave(world_.tree.now);
    for (int i = 0; i < 400; ++i) {
      world_.pass(Millis(2));
      if (std::ranges::all_of(world_.groups,
                              [](const auto& g) { return g->phase() == proto::ClientGroup::Phase::left; }))
        break;
    }
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      if (world_.groups[rank]->phase() != proto::ClientGroup::Phase::left)
        return fmt::format("rank {} does not leave: {}", rank, to_string(world_.groups[rank]->phase()));
    if (has_struck_) return {};
    if (world_.at_root->groups() + world_.at_leaf->groups() != 0) return "a group stays in a kernel";
    return world_.drops();
  }

  Random random_;
  DatagramWorld::Plan plan_;
  DatagramWorld world_;
  std::vector<DatagramCall> calls_;
  std::uint32_t depth_ = 1, strike_at_ = 0;
  HopStrike strike_ = HopStrike::none;
  bool has_struck_ = false;
  DatagramWorld::Progress progress_;
  Report report_;
};

}  // namespace

Report run_hop_seed(std::uint64_t seed, int verbose) {
  if (seed % 2 == 0) {
    Report report = run_datagram_recovery_seed(seed / 2, verbose);
    report.seed = seed;
    return report;
  }
  Report report = HopSeed(seed).run();
  if (seed % 4 != 1 || !report.failure.empty()) return report;
  Report group = run_hop_group_seed(seed, verbose);
  group.operations += report.operations;
  group.messages += report.messages;
  group.datagrams += report.datagrams;
  group.verdicts += report.verdicts;
  group.groups += report.groups;
  group.virtual_seconds += report.virtual_seconds;
  return group;
}

std::string describe_hop_seed(std::uint64_t seed) {
  return seed % 2 == 0 ? make_datagram_plan(seed / 2).describe() : "one small group\n";
}

const char* name_of_hop_rule(std::size_t condition) {
  const auto at = static_cast<int>(condition);
  if (at < kRuleCount) return kRules[at].name;
  if (at < kRuleCount + kRecoveryCount) return to_string(kOfRecovery[at - kRuleCount]);
  return kGroupRules[at - kRuleCount - kRecoveryCount];
}

#ifdef SUMAC_HOP_MUTABLE
void break_hop_rule(int condition) {
  const int of_recovery = condition - kRuleCount, of_group = of_recovery - kRecoveryCount;
  hop_broken_rule = condition < 0 || of_recovery >= 0 ? -1 : kRules[condition].rule;
  break_rule(of_recovery < 0 || of_group >= 0 ? -1 : static_cast<int>(kOfRecovery[of_recovery]));
  broken_hop_group_rule = std::max(of_group, -1);
}
#else
void break_hop_rule(int) {}
#endif

}  // namespace sumac::sim
