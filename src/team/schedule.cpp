#include "team/schedule.hpp"

#include <algorithm>

namespace sumac::team {
namespace {

/// The groups that this rank uses inside its island, from the innermost outwards.
struct Chain {
  std::array<Part, 2> parts{};
  std::size_t count = 0;
};

Chain chain_of(const Layout& layout, bool by_steps) {
  Chain chain;
  if (by_steps && layout.has_steps) {
    for (const Part& part : layout.steps) chain.parts[chain.count++] = part;
  } else if (layout.island_part) {
    chain.parts[chain.count++] = layout.island_part;
  }
  return chain;
}

/// Returns the index in the group of the root, or of the leader that represents it there; -1 if it is elsewhere.
int root_index(const Layout& layout, const Part& part, int root) {
  const auto& members = layout.groups[static_cast<std::size_t>(part.group)].members;
  const int rank = part.of_leaders ? layout.domain_leader_of[static_cast<std::size_t>(root)] : root;
  const auto at = std::lower_bound(members.begin(), members.end(), rank);
  return at != members.end() && *at == rank ? static_cast<int>(at - members.begin()) : -1;
}

Phase phase(const Part& part, coll::Kind kind, int root, Where in, Where out) {
  return {kind, part.group, root, in, out};
}

/// A phase behind the one between the islands.
Phase phase_down(const Part& part, coll::Kind kind, int root, Where in, Where out) {
  return {kind, part.down, root, in, out};
}

void go_across(Schedule& plan, coll::Kind kind, int root, Where in, Where out) {
  plan.goes_across = true;
  plan.across = {.kind = kind, .root = root, .in = in, .out = out};
}

Phase with(Errand what, Phase made) {
  made.errand = what;
  return made;
}

Phase errand(const Part& part, coll::Kind kind, Errand what) {
  return with(what, phase(part, kind, 0, Where::none, Where::none));
}

/// The blocks from other islands go to their receivers.
Phase deal(const Part& part) {
  return with(Errand::deal, phase_down(part, coll::Kind::alltoallv, 0, Where::none, Where::none));
}

bool has_across(const Layout& layout) { return layout.islands.size() > 1 && layout.leads(); }

/// Adds up inwards to the leader, then between the leaders, and returns the result. A barrier does the same without
/// data (run.hpp gives it one byte).
Schedule allreduce(const Layout& layout, const Chain& chain) {
  Schedule plan;
  const bool is_wide = layout.islands.size() > 1;
  Where value = Where::user_in;
  for (std::size_t s = 0; s < chain.count; ++s) {
    const Part& part = chain.parts[s];
    // In the outermost group of a team of one island, every member can get the result at once.
    const bool is_top = !is_wide && (s == 1 || part.of_leaders || chain.parts[s].group == layout.island_part.group);
    if (is_top) {
      plan.before.add(phase(part, coll::Kind::allreduce, 0, value, Where::user_out));
      continue;
    }
    const bool receives = part.index == 0;
    plan.before.add(phase(part, coll::Kind::reduce, 0, value, receives ? Where::user_out : Where::none));
    if (receives) value = Where::user_out;
  }
  if (has_across(layout)) go_across(plan, coll::Kind::allreduce, 0, value, Where::user_out);
  for (std::size_t s = chain.count; s-- > 0;)
    if (plan.before.phases[s].kind == coll::Kind::reduce)
      plan.after.add(phase_down(chain.parts[s], coll::Kind::bcast, 0, Where::none, Where::user_out));
  return plan;
}

Schedule reduce(const Layout& layout, const Chain& chain, int root) {
  Schedule plan;
  // The root has the user's buffer for sums; a rank that passes a sum on has none.
  const Where own = layout.rank == root ? Where::user_out : Where::scratch;
  Where value = Where::user_in;
  const auto receive = [&](bool receives) {
    if (!receives) return Where::none;
    if (own == Where::scratch) plan.uses_scratch = true;
    return own;
  };
  for (std::size_t s = 0; s < chain.count; ++s) {
    const Part& part = chain.parts[s];
    if (root_index(layout, part, root) >= 0) continue;  // In its own groups the root is served last.
    const Where out = receive(part.index == 0);
    plan.before.add(phase(part, coll::Kind::reduce, 0, value, out));
    if (out != Where::none) value = out;
  }
  const int root_island = layout.island_of[static_cast<std::size_t>(root)];
  if (has_across(layout)) {
    const Where out = receive(layout.island() == root_island);
    go_across(plan, coll::Kind::reduce, root_island, value, out);
    if (out != Where::none) value = out;
  }
  for (std::size_t s = chain.count; s-- > 0;) {
    const Part& part = chain.parts[s];
    const int at = root_index(layout, part, root);
    if (at < 0) continue;
    const Where out = receive(part.index == at);
    plan.after.add(phase_down(part, coll::Kind::reduce, at, value, out));
    if (out != Where::none) value = out;
  }
  return plan;
}

/// A reduction in which the island of the root adds its values first, as every other one does. So the sum of all is at
/// the leader of that island, which hands it on to the root by a broadcast in the island.
Schedule reduce_in_order(const Layout& layout, int root) {
  Schedule plan;
  const Part& part = layout.island_part;
  const Where own = layout.rank == root ? Where::user_out : Where::scratch;
  const bool adds = part && part.index == 0;
  plan.uses_scratch = own == Where::scratch;
  if (part) plan.before.add(phase(part, coll::Kind::reduce, 0, Where::user_in, adds ? own : Where::none));
  const int root_island = layout.island_of[static_cast<std::size_t>(root)];
  const bool is_here = layout.island() == root_island;
  if (has_across(layout))
    go_across(plan, coll::Kind::reduce, root_island, adds ? own : Where::user_in, is_here ? own : Where::none);
  const bool leads = layout.islands[static_cast<std::size_t>(root_island)].front() == root;
  if (part && is_here && !leads) plan.after.add(phase_down(part, coll::Kind::bcast, 0, Where::none, own));
  return plan;
}

Schedule bcast(const Layout& layout, const Chain& chain, int root) {
  Schedule plan;
  for (std::size_t s = 0; s < chain.count; ++s)
    if (const int at = root_index(layout, chain.parts[s], root); at >= 0)
      plan.before.add(phase(chain.parts[s], coll::Kind::bcast, at, Where::none, Where::user_out));
  if (has_across(layout))
    go_across(plan, coll::Kind::bcast, layout.island_of[static_cast<std::size_t>(root)], Where::none, Where::user_out);
  for (std::size_t s = chain.count; s-- > 0;)
    if (root_index(layout, chain.parts[s], root) < 0)
      plan.after.add(phase_down(chain.parts[s], coll::Kind::bcast, 0, Where::none, Where::user_out));
  return plan;
}

}  // namespace

Schedule schedule(const Layout& layout, coll::Kind kind, int root, bool by_steps, bool in_order) {
  const Chain chain = chain_of(layout, by_steps);
  switch (kind) {
    case coll::Kind::reduce: return in_order ? reduce_in_order(layout, root) : reduce(layout, chain, root);
    case coll::Kind::bcast: return bcast(layout, chain, root);
    case coll::Kind::barrier: {
      Schedule plan = allreduce(layout, chain);
      plan.across.kind = coll::Kind::barrier;
      return plan;
    }
    default: return allreduce(layout, chain);
  }
}

Schedule schedule_allgather(const Layout& layout) {
  Schedule plan;
  if (layout.island_part)
    plan.before.add(phase(layout.island_part, coll::Kind::allgatherv, 0, Where::user_in, Where::stage));
  if (has_across(layout)) go_across(plan, coll::Kind::allgatherv, 0, Where::stage, Where::stage);
  if (layout.island_part)
    plan.after.add(phase_down(layout.island_part, coll::Kind::bcast, 0, Where::none, Where::stage));
  return plan;
}

Schedule schedule_pairwise(const Layout& layout, bool with_counts) {
  Schedule plan;
  if (layout.island_part) {
    if (with_counts) plan.before.add(errand(layout.island_part, coll::Kind::allgather, Errand::counts));
    plan.before.add(errand(layout.island_part, coll::Kind::alltoallv, Errand::gather));
    plan.meanwhile.add(errand(layout.island_part, coll::Kind::alltoallv, Errand::local));
    plan.after.add(deal(layout.island_part));
  }
  if (has_across(layout)) go_across(plan, coll::Kind::alltoallv, 0, Where::none, Where::none);
  return plan;
}

Schedule schedule_reduce_scatter_block(const Layout& layout, bool by_tree) {
  Schedule plan;
  if (layout.island_part) {
    plan.before.add(errand(layout.island_part, coll::Kind::reduce, Errand::sum));
    plan.after.add(deal(layout.island_part));
  }
  if (has_across(layout))
    go_across(plan, by_tree ? coll::Kind::allreduce : coll::Kind::alltoallv, 0, Where::none, Where::none);
  return plan;
}

Schedule schedule_prefix(const Layout& layout, coll::Kind kind) {
  Schedule plan;
  if (layout.island_part) {
    plan.before.add(errand(layout.island_part, coll::Kind::reduce, Errand::sum));
    plan.meanwhile.add(errand(layout.island_part, kind, Errand::local));
    plan.after.add(with(Errand::deal, phase_down(layout.island_part, coll::Kind::bcast, 0, Where::none, Where::none)));
  }
  if (has_across(layout)) go_across(plan, coll::Kind::allgatherv, 0, Where::none, Where::none);
  return plan;
}

}  // namespace sumac::team
