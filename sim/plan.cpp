#include "sim/plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sumac::sim {
namespace {

constexpr std::uint32_t kPayload = 128;
constexpr std::uint32_t kChunk = 512;  // small, so that a stream of many chunks is cheap here

void make_tree(Plan& plan, Random& r) {
  // If members disagree, several nodes shall notice at once, so there must be more than one node and a handful of
  // ranks.
  const bool broad = plan.scenario == Scenario::disagree && r.chance(0.7);
  plan.depth = pick(r, broad ? 2 : 1, 3);
  plan.parent = {0};
  if (plan.depth >= 2) {
    const std::uint32_t middle = pick(r, 2, 4);
    for (std::uint32_t i = 0; i < middle; ++i) plan.parent.push_back(0);
    if (plan.depth == 3) {
      const std::uint32_t leaves = pick(r, 2, 7);
      for (std::uint32_t i = 0; i < leaves; ++i) plan.parent.push_back(1 + pick(r, 0, middle - 1));
    }
  }
  // Mostly few ranks are drawn: half the seeds have at most 11.
  const auto ranks = std::max(static_cast<std::uint32_t>(2.0 * std::pow(32.0, r.unit()) + 0.5), broad ? 12u : 2u);
  const auto nodes = static_cast<std::uint32_t>(plan.parent.size());
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    plan.leaf.push_back(pick(r, r.chance(0.05) ? 0 : nodes / 2, nodes - 1));
}

Dtype pick_dtype(Random& r) { return static_cast<Dtype>(r.below(kDtypeCount)); }

}  // namespace

OpPlan make_op(Random& r, const Plan& plan) {
  OpPlan op;
  if (r.chance(0.2)) return op;  // the default operation is a barrier
  using wire::Coll;
  constexpr Coll kKinds[] = {Coll::allreduce, Coll::allreduce,      Coll::reduce,
                             Coll::bcast,     Coll::reduce_scatter, Coll::allgather};
  op.coll = kKinds[r.below(std::size(kKinds))];
  // An operation with a part for each member takes many numbers in a large group, so mostly small groups do it;
  // otherwise such a seed would contain little else.
  constexpr Coll kRooted[] = {Coll::reduce, Coll::bcast};
  if (plan.ordered && r.chance(0.5)) op.coll = kRooted[r.below(std::size(kRooted))];
  const bool by_parts = op.coll == Coll::reduce_scatter || op.coll == Coll::allgather;
  if (by_parts && plan.leaf.size() > 8 && !r.chance(0.05)) op.coll = Coll::allreduce;
  op.root = pick(r, 0, 63);
  const bool adds = op.coll != Coll::bcast && op.coll != Coll::allgather;
  do {
    op.dtype = pick_dtype(r);
    op.op = adds                                          ? static_cast<Op>(r.below(kOpCount))
            : op.coll == Coll::allgather && r.chance(0.3) ? Op::bor
                                                          : Op::null;
    op.tag = is_pair(op.op) && r.chance(0.6) ? pick_dtype(r) : Dtype::null;
  } while (op.op != Op::null && !legal(op.dtype, op.op, op.tag));
  // Few of all types and operations depend on the order: they get a larger share.
  if ((op.op == Op::sum || op.op == Op::prod) && op.coll != Coll::allgather && r.chance(0.7)) {
    constexpr Dtype kFloats[] = {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};
    op.dtype = kFloats[r.below(std::size(kFloats))];
    op.reproducible = true;
  }
  const std::uint64_t element = op.op == Op::null ? width(op.dtype) : element_bytes(op.dtype, op.op, op.tag);
  op.streaming = plan.grant.quota.stream_window != 0 && r.chance(0.15);
  const std::uint64_t unit = (op.streaming ? kChunk : kPayload) / element;
  const double kind = r.unit();
  if (kind < 0.02)
    op.count = 0;
  else if (kind < 0.5)
    op.count = 1 + r.below(std::min<std::uint64_t>(unit, 8));
  else if (kind < 0.85)
    op.count = unit - 1 + r.below(3);  // just below, at and above one fragment
  else
    op.count = unit * (2 + r.below(op.streaming ? 5 : 10)) + r.below(3);
  // The count is one member's part: in a group of many members the whole is large already.
  if (op.coll == Coll::reduce_scatter || op.coll == Coll::allgather)
    op.count = std::min<std::uint64_t>(op.count, 1 + r.below(9));
  if (op.count == 0) op.streaming = false;
  return op;
}

namespace {

std::vector<std::uint32_t> pick_members(Random& r, const Plan& plan, bool all) {
  std::vector<std::uint32_t> ranks(plan.leaf.size());
  std::iota(ranks.begin(), ranks.end(), 0u);
  if (all) return ranks;
  r.shuffle(std::span(ranks));
  if (r.chance(0.25)) {  // ranks of one leaf: a group that never reaches the tree's root
    const std::uint32_t leaf = plan.leaf[ranks[0]];
    std::erase_if(ranks, [&](std::uint32_t rank) { return plan.leaf[rank] != leaf; });
  } else {
    ranks.resize(1 + r.below(ranks.size()));
  }
  return ranks;  // shuffled: group ranks are not in the order of world ranks
}

void make_faults(Plan& plan, Random& r) {
  const auto rate = [&] { return r.chance(0.3) ? 0.0 : 0.2 * r.unit(); };
  Faults& f = plan.faults;
  f.loss = rate();
  f.duplicate = rate();
  f.reorder = rate();
  // If several verdicts are possible, a later one shall sometimes overtake the first.
  if (plan.scenario == Scenario::disagree) f.loss = 0.1 + 0.1 * r.unit(), f.reorder = 0.1 + 0.1 * r.unit();
  f.late_copy = r.chance(0.5) ? 0.02 : 0;
  f.ghost = r.chance(0.3) ? 0.02 : 0;
  f.delay_max = Micros(pick(r, 50, 1000));
}

}  // namespace

const char* to_string(Scenario scenario) noexcept {
  static constexpr const char* kNames[] = {"clean",        "disagree",   "lost_joining", "lost_standing", "hasty_leave",
                                           "bad_join",     "few_groups", "few_osts",     "revoked",       "stranger",
                                           "false_parent", "false_join", "far_number",   "garbage",       "lost_link"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Scenario::count));
  return kNames[static_cast<std::size_t>(scenario)];
}

Plan make_plan(std::uint64_t seed) {
  Plan plan;
  plan.seed = seed;
  Random r(seed * 0x9e3779b97f4a7c15ull + 17);
  // Every other seed is clean; the others rotate, so that any 30 consecutive seeds contain every scenario.
  const auto others = static_cast<std::uint64_t>(Scenario::count) - 1;
  plan.scenario = seed % 2 == 0 ? Scenario::clean : static_cast<Scenario>(1 + seed / 2 % others);
  make_tree(plan, r);
  make_faults(plan, r);
  plan.ordered = Random(seed * 0xd1342543de82ef95ull + 5).chance(0.4);
  if (plan.ordered) plan.faults = {.delay_max = plan.faults.delay_max};

  // Multicast has a generator of its own: the rest of a seed is the same with and without it.
  Random own(seed * 0x2545f4914f6cdd1dull + 3);
  plan.multicast = own.chance(0.5);
  plan.faults.datagram_loss = own.chance(0.3) ? 0 : 0.8 * own.unit();

  const std::uint32_t track_count =
      plan.scenario == Scenario::few_groups || plan.scenario == Scenario::few_osts ? 3 : pick(r, 1, 3);
  plan.grant = {.job_id = JobId{1 + r.below(1000)},
                .quota = {.osts = pick(r, 12, 48),
                          .payload_per_ost = kPayload,
                          .max_groups = pick(r, track_count, 6),
                          .stream_window = r.chance(0.2) ? 0 : pick(r, 2, 16),
                          .chunk_bytes = kChunk}};
  plan.limits = {.osts = 64,
                 .groups = plan.grant.quota.max_groups,
                 .payload_max = kPayload,
                 .chunk_max = kChunk,
                 .stream_window_max = 16,
                 .resend_after = Millis(pick(r, 8, 30)),
                 .first_sequence = r.chance(0.5) ? Sequence{} : Sequence{0xFFFFFFFFu - pick(r, 0, 300)}};
  if (plan.ordered) plan.limits.resend_after = Duration{0};
  plan.grant.job_key = key_of_seed(plan.seed);
  if (plan.scenario == Scenario::few_groups) plan.grant.quota.max_groups = 1;
  if (plan.scenario == Scenario::few_osts) plan.grant.quota.osts = pick(r, 1, 4);
  plan.eager = r.chance(0.5);

  plan.tracks.resize(track_count);
  const std::uint32_t session_count = pick(r, track_count, track_count * 4);
  // A refused group completes no operation, and one that ends early completes few: more are planned for such scenarios.
  const std::uint32_t wanted = plan.scenario == Scenario::clean ? kOperationsMin : kOperationsMin * 5 / 2;
  const std::uint32_t ops_each = (wanted + session_count - 1) / session_count;
  for (std::uint32_t i = 0; i < session_count; ++i) {
    SessionPlan session;
    session.members = pick_members(r, plan, i == 0);
    for (std::uint32_t op = 0; op < ops_each; ++op) session.ops.push_back(make_op(r, plan));
    plan.tracks[i % track_count].push_back(std::move(session));
  }

  plan.victim_session = static_cast<std::uint32_t>(r.below(plan.tracks[0].size()));
  if (plan.scenario == Scenario::hasty_leave)
    plan.victim_session = static_cast<std::uint32_t>(plan.tracks[0].size() - 1);
  auto& session = plan.tracks[0][plan.victim_session];
  if (session.members.size() < 2 || plan.scenario == Scenario::disagree) session.members = pick_members(r, plan, true);
  plan.victim = pick(r, 0, static_cast<std::uint32_t>(session.members.size() - 1));
  plan.victim_op = static_cast<std::uint32_t>(r.below(session.ops.size()));
  plan.more_victims = r.chance(0.6);
  const bool loses_member = plan.scenario == Scenario::lost_joining || plan.scenario == Scenario::lost_standing ||
                            plan.scenario == Scenario::far_number || plan.scenario == Scenario::hasty_leave;
  if (loses_member) {
    // Only the special group shall be affected: the others consist of members that stay.
    const std::uint32_t lost = session.members[plan.victim];
    for (std::size_t track = 0; track < plan.tracks.size(); ++track)
      for (std::size_t i = 0; i < plan.tracks[track].size(); ++i)
        if (track != 0 || i > plan.victim_session) {
          auto& members = plan.tracks[track][i].members;
          std::erase(members, lost);
          if (members.empty()) members.push_back(lost == 0 ? 1 : 0);
        }
  }
  return plan;
}

OpPlan another(const OpPlan& op, Random& r, const Plan& plan) {
  for (;;) {
    OpPlan other = make_op(r, plan);
    if ((op.coll == wire::Coll::reduce || op.coll == wire::Coll::bcast) && r.chance(0.5)) {
      other = op;
      other.root = op.root + 1;
      return other;
    }
    if (op.coll == wire::Coll::allreduce && r.chance(0.7)) {
      other = op;
      if (op.reproducible && op.count != 0 && r.chance(0.5)) {
        other.reproducible = false;
        return other;
      }
      switch (r.below(3)) {
        case 0: other.count = op.count + 1; break;
        case 1:
          other.op = op.op == Op::sum ? Op::max : Op::sum;
          other.tag = Dtype::null;
          break;
        default: other.dtype = op.dtype == Dtype::int32 ? Dtype::uint32 : Dtype::int32; break;
      }
      other.reproducible = op.reproducible && is_float(other.dtype) && other.op == op.op;
    }
    const bool differs = other.coll != op.coll || other.op != op.op || other.dtype != op.dtype || other.tag != op.tag ||
                         other.count != op.count;
    if (differs && (other.op == Op::null || legal(other.dtype, other.op, other.tag))) return other;
  }
}

std::uint32_t Plan::operations() const {
  std::uint32_t total = 0;
  for (const auto& track : tracks)
    for (const auto& session : track) total += static_cast<std::uint32_t>(session.ops.size());
  return total;
}

std::string Plan::describe() const {
  std::string text = fmt::format(
      "seed {}: {}, {} ranks, {} nodes, depth {}, {} operations; loss {:.2f} duplicates {:.2f} reorder {:.2f} late "
      "copies {:.2f} ghosts {:.2f} "
      "delay up to {} us\n  grant: {} OSTs, {} groups, stream window {}; first number {}; {}{}{}\n",
      seed, to_string(scenario), leaf.size(), parent.size(), depth, operations(), faults.loss, faults.duplicate,
      faults.reorder, faults.late_copy, faults.ghost, std::chrono::duration_cast<Micros>(faults.delay_max).count(),
      grant.quota.osts, grant.quota.max_groups, grant.quota.stream_window, limits.first_sequence,
      eager ? "eager" : "in turn", ordered ? "; ordered hops" : "",
      multicast ? fmt::format("; multicast, {:.2f} lost", faults.datagram_loss) : "");
  for (std::size_t track = 0; track < tracks.size(); ++track)
    for (std::size_t i = 0; i < tracks[track].size(); ++i)
      text += fmt::format("  track {} session {}: {} members, {} operations\n", track, i,
                          tracks[track][i].members.size(), tracks[track][i].ops.size());
  return text;
}

}  // namespace sumac::sim
