#include "sim/recovery_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "hop/element.h"
#include "sim/data.hpp"

namespace sumac::sim {
namespace {

using What = Strike::What;

/// kinds: a allreduce, r reduce, b bcast, z barrier, m any. strikes: n the leaf of the watched rank, o another leaf, t the
/// root node, s stops the leaf, S the root node, f takes a node for silent that lives, l the watched rank's link to its leaf, p a link between members, k kills a rank, d declares one dead, g a
/// rank gives up, P and K are p and k of rank 0, the root of epoch 1; a strike behind `+` comes during the recovery from
/// the one before, one behind `>` some operations later, and one behind `!` when a verdict is known.
struct Case {
  std::string_view name, kinds, strikes;
  bool pipelined = false, multicast = false, leaving = false;
};
constexpr Case kCases[] = {
    {"C1: the leaf of a reduce's root dies", "r", "n"},
    {"C2: a bcast's source has completed, and the other leaf dies", "b", "o"},
    {"C3: a reduce loses a leaf, then a rank", "rra", "n+k"},
    {"C4: a rank dies, and no node", "a", "k", true},
    {"C5: whoever supplies dies while it does", "ab", "n+k", true},
    {"C6: a tree that lives is left, and its late results", "ar", "l", true},
    {"C7: results by multicast, and the window", "a", "n", true, true},
    {"C8: members that are ahead when the tree is lost", "amb", "t", true},
    {"C9: a rank dies before it joins the members", "m", "nk", true},
    {"C10: a rank that was declared dead goes on", "m", "d+l", true},
    {"C11: members that compute while others recover", "m", "n"},
    {"C12: the tree is lost while members leave", "ab", "n", false, false, true},
    {"C13: the same behind unfinished operations", "ab", "t", true, false, true},
    {"C14: two epochs for nothing", "a", "l+p", true},
    {"C15: members that are a window apart", "aab", "n+p", true},
    {"C16: the only member that has a result dies", "arb", "nk", true},
    {"C17: multicast results, a node and a rank", "a", "o+k", true, true},
    {"root and leaf die", "m", "tn", true},
    {"two nodes die one after the other", "m", "n+o", true},
    {"a member gives up", "m", "g", true},
    {"a member gives up during a recovery", "m", "t+g", true},
    {"late results of a root that dies", "ab", "t+P+K", true},
    {"a verdict, and the root of its epoch loses a link", "rab", "nk!P", true},
    {"the same, and the root dies", "ra", "k!PP", true},
    {"a reduce's result is lost with a verdict", "r", "t>g!PP", true},
    {"members that were the tree lose a rank", "m", "n>k", true},
    {"the root stops, and no connection ends", "m", "S", true},
    {"a leaf stops, and its parent finds it silent", "m", "s", true},
    {"a node is late and is taken for lost", "m", "f", true},
    {"the same while members leave", "ab", "f", true, false, true},
};

void make_tree(RecoveryPlan& plan, Random& r) {
  Plan& base = plan.base;
  base.parent = {0};
  const std::uint32_t middle = pick(r, 2, 3);
  for (std::uint32_t i = 0; i < middle; ++i) base.parent.push_back(0);
  if (r.chance(0.2)) base.parent.push_back(1);  // one leaf lies deeper
  const std::uint32_t ranks = r.chance(0.6) ? pick(r, 2, 4) : pick(r, 5, 9);
  const auto nodes = static_cast<std::uint32_t>(base.parent.size());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) base.leaf.push_back(1 + (rank + pick(r, 0, 1)) % (nodes - 1));
  base.depth = nodes > middle + 1 ? 3 : 2;
}

OpPlan make_operation_of(Random& r, const Plan& base, char kind) {
  using wire::Coll;
  const Coll wanted = kind == 'a'   ? Coll::allreduce
                      : kind == 'r' ? Coll::reduce
                      : kind == 'b' ? Coll::bcast
                                    : Coll::barrier;
  for (;;) {
    OpPlan op = make_op(r, base);
    if (kind != 'm' && op.coll != wanted) continue;
    op.streaming = false;
    return op;
  }
}

/// Nine of ten go as datagrams where there are any.
OpPlan make_small_operation_of(Random& r, const Plan& base, char kind) {
  constexpr std::size_t kDatagramMax = 64;
  for (;;) {
    OpPlan op = make_operation_of(r, base, kind);
    if (op.coll == wire::Coll::barrier || r.chance(0.02)) return op;
    const bool is_sum = op.coll == wire::Coll::allreduce || op.coll == wire::Coll::reduce;
    if (is_sum && !hop_combines(static_cast<std::uint32_t>(op.op), static_cast<std::uint32_t>(op.dtype))) continue;
    if ((!is_sum && op.coll != wire::Coll::bcast) || op.tag != Dtype::null) continue;
    op.count = 1 + op.count % (kDatagramMax / element_of(op));
    return op;
  }
}

void add_strikes(RecoveryPlan& plan, Random& r, std::string_view kinds) {
  const std::uint32_t ranks = plan.ranks();
  const auto nodes = static_cast<std::uint32_t>(plan.base.parent.size());
  Strike at{.watched = pick(r, 0, ranks - 1),
            .operations = pick(r, 0, static_cast<std::uint32_t>(plan.ops.size()) - 1)};
  const auto soon = [&] { return Nanos(r.between(0, 4 * plan.base.faults.delay_max.count())); };
  for (const char kind : kinds) {
    if (kind == '!') {
      at.at_verdict = true;
      at.delay = {};
      continue;
    }
    if (kind == '>') {
      at.operations = pick(r, at.operations, static_cast<std::uint32_t>(plan.ops.size()) - 1);
      at.delay = {};
      continue;
    }
    if (kind == '+') {
      at.delay += Nanos(r.between(0, 12 * plan.base.faults.delay_max.count()));
      continue;
    }
    Strike strike = at;
    strike.delay += at.at_verdict ? soon() / 16 : soon();
    strike.target = pick(r, 0, ranks - 1);
    const bool of_root = kind == 'P' || kind == 'K';
    if (of_root) strike.target = 0;
    switch (kind) {
      case 'n': strike.what = What::kill_node, strike.target = plan.base.leaf[at.watched]; break;
      case 'o':
        strike.what = What::kill_node;
        strike.target = 1 + plan.base.leaf[at.watched] % (nodes - 1);
        break;
      case 's': strike.what = What::stop_node, strike.target = plan.base.leaf[at.watched]; break;
      case 'S': strike.what = What::stop_node, strike.target = 0; break;
      case 'f': strike.what = What::late_node, strike.target = pick(r, 0, nodes - 1); break;
      case 't': strike.what = What::kill_node, strike.target = 0; break;
      case 'l': strike.what = What::cut_leaf; break;
      case 'p':
      case 'P':
        strike.what = What::cut_members;
        strike.other = (strike.target + pick(r, 1, ranks - 1)) % ranks;
        break;
      case 'k':
      case 'K': strike.what = What::kill_rank; break;
      case 'd': strike.what = What::declare; break;
      default: strike.what = What::give_up; break;
    }
    plan.strikes.push_back(strike);
  }
}

/// In a part of the seeds large operations stream, with and without the lock, which the nodes of some seeds deny. They are drawn apart: so
/// a seed without streams stays what it was.
void add_streams(RecoveryPlan& plan, std::uint64_t seed) {
  Random r(seed * 0x9e3779b97f4a7c15ull + 31);
  if (!r.chance(0.4)) return;
  auto& quota = plan.base.grant.quota;
  quota.stream_window = pick(r, 1, 6);
  static constexpr std::uint32_t kBatches[] = {proto::kLockForEver, proto::kLockForEver, 0, 1, 2};
  plan.lock_batch = kBatches[r.below(std::size(kBatches))];
  plan.later_stream = r.chance(0.8);
  if (plan.lock_batch != 0 && r.chance(0.25)) plan.base.limits.streams = 0;
  for (OpPlan& op : plan.ops) {
    if (op.count == 0 || !r.chance(0.5)) continue;
    op.streaming = true;
    if (op.coll == wire::Coll::reduce_scatter || op.coll == wire::Coll::allgather) continue;
    op.count = quota.chunk_bytes / element_of(op) * (1 + r.below(r.chance(0.3) ? 24 : 6)) + r.below(3);
  }
}

}  // namespace

std::size_t recovery_cases() noexcept { return std::size(kCases); }

namespace {

RecoveryPlan make_plan_of(std::uint64_t seed, bool datagrams) {
  RecoveryPlan plan;
  plan.datagrams = datagrams;
  Random r(seed * 0x9e3779b97f4a7c15ull + 29);
  plan.base.seed = seed;
  make_tree(plan, r);
  plan.base.faults = {.delay_max = Micros(pick(r, 20, 200))};
  plan.osts = r.chance(0.7) ? pick(r, 1, 3) : pick(r, 4, 8);
  plan.base.ordered = true;
  plan.base.grant = {
      .job_id = JobId{1 + r.below(1000)},
      .quota = {.osts = 32, .payload_per_ost = 128, .max_groups = 2, .stream_window = 0, .chunk_bytes = 512}};
  plan.base.limits = {.osts = 64,
                      .groups = 2,
                      .payload_max = 128,
                      .first_sequence = r.chance(0.5) ? Sequence{} : Sequence{0xFFFFFFFFu - pick(r, 0, 40)}};
  plan.base.grant.job_key = key_of_seed(seed);

  Case named{"any", "m", "", r.chance(0.6), r.chance(0.2), r.chance(0.15)};
  static constexpr std::string_view kAny[] = {"n",    "t",     "l",  "p", "n+n", "n+l", "t+p", "l+p",
                                              "l+k",  "n+k",   "nk", "k", "d",   "t+d", "g",   "n+pp",
                                              "nk!p", "t+P+K", "s",  "S", "f",   "f+f"};
  named.strikes = kAny[r.below(std::size(kAny))];
  if (seed % 2 == 1) named = kCases[seed / 2 % std::size(kCases)];
  plan.name = named.name;
  // The longer ones are still under way when the job has a tree again.
  const std::uint32_t count = datagrams ? pick(r, 12, 50) : r.chance(0.9) ? pick(r, 4, 14) : pick(r, 30, 60);
  for (std::uint32_t i = 0; i < count; ++i)
    plan.ops.push_back(
        (datagrams ? make_small_operation_of : make_operation_of)(r, plan.base, named.kinds[i % named.kinds.size()]));
  const bool computes = named.name.starts_with("C11") || r.chance(0.2);
  for (std::uint32_t rank = 0; rank < plan.ranks(); ++rank) {
    plan.depth.push_back(named.pipelined ? pick(r, 1, named.leaving ? 20 : 6) : 1);
    plan.think.push_back(computes && r.chance(0.5) ? Millis(pick(r, 1, 20)) : Micros(pick(r, 0, 200)));
  }
  plan.base.multicast = named.multicast;
  add_strikes(plan, r, named.strikes);
  add_streams(plan, seed);
  if (named.leaving)
    for (Strike& each : plan.strikes) each.operations = count;
  plan.strikes_early = seed % 2 == 0 && r.chance(0.06);
  if (seed % 2 == 0 && r.chance(0.08)) {
    plan.odd_rank = static_cast<std::int32_t>(pick(r, 0, plan.ranks() - 1));
    plan.odd_operation = pick(r, 0, count - 1);
  }
  return plan;
}

}  // namespace

RecoveryPlan make_recovery_plan(std::uint64_t seed) { return make_plan_of(seed, false); }

RecoveryPlan make_datagram_plan(std::uint64_t seed) {
  RecoveryPlan plan = make_plan_of(seed, true);
  Random r(seed * 0x9e3779b97f4a7c15ull + 37);
  Faults& faults = plan.base.faults;
  faults.datagram_loss = r.chance(0.8) ? 0.3 * r.unit() : 0;
  faults.frame_copies = r.chance(0.5) ? 0.2 * r.unit() : 0;
  return plan;
}

OpPlan RecoveryPlan::planned(std::uint32_t rank, std::uint32_t index) const {
  OpPlan op = ops[index];
  if (static_cast<std::int32_t>(rank) != odd_rank || index != odd_operation) return op;
  Random r(base.seed);
  op = another(op, r, base);
  op.streaming = false;
  return op;
}

std::string RecoveryPlan::describe() const {
  static constexpr const char* kNames[] = {"kill node",   "stop node", "take for silent", "cut leaf of",
                                           "cut members", "kill rank", "declare dead",    "give up"};
  std::string text =
      fmt::format("{}: {} nodes, {} ranks, {} OSTs, stream window {}, lock batch {}, {} operations{}{}{}\n", name,
                  base.parent.size(), ranks(), osts, base.grant.quota.stream_window, lock_batch, ops.size(),
                  base.multicast ? ", multicast" : "", strikes_early ? ", early" : "",
                  datagrams ? fmt::format(", {:.0f} % of datagrams lost", 100 * base.faults.datagram_loss) : "");
  for (std::uint32_t rank = 0; rank < ranks(); ++rank)
    text += fmt::format("  rank {} at node {}, {} at once\n", rank, base.leaf[rank], depth[rank]);
  for (const Strike& each : strikes)
    text += fmt::format("  {} {} {} when rank {} has ended {} operations, {} us later\n",
                        kNames[static_cast<std::size_t>(each.what)], each.target, each.other, each.watched,
                        each.operations, each.delay.count() / 1000);
  if (odd_rank >= 0) text += fmt::format("  rank {} posts another operation at {}\n", odd_rank, odd_operation);
  return text;
}

}  // namespace sumac::sim
