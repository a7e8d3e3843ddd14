#include "team/select.hpp"

#include <algorithm>

namespace sumac::team {
namespace {

/// Returns whether to go level by level, and the reason.
std::pair<bool, Why> step_choice(const Shape& shape, const Question& question) {
  // A domain's sum is in general no node of the canonical tree.
  if (!shape.has_steps || !coll::collective(question.kind).has_levels || question.steps == Steps::never ||
      question.in_order)
    return {false, Why::one_host};
  if (question.steps == Steps::always) return {true, Why::by_domain};
  // A leader that all ranks wait for has to be scheduled once more for each level.
  if (shape.crowded) return {false, Why::crowded};
  if (question.bytes > kStepBytesMax) return {false, Why::too_large_by_domain};
  return {true, Why::by_domain};
}

/// True if the usual way over several islands adds along the canonical tree of the team's ranks: then islands are nodes
/// of it, and either the carrier goes on along the tree or the leaders add islands' sums themselves.
bool keeps_canonical_order(const Shape& shape, const Question& question) {
  // The sum of all islands before one is in general no node of a scan's tree.
  if (!shape.is_canonical || coll::collective(question.kind).is_prefix) return false;
  const bool leaders_add = question.across == Across::next && shape.island_size_max > 1 && scatters_sums(question.kind);
  return question.adds_canonically || leaders_add;
}

Why why_pairwise(const Shape& shape, const Question& question) {
  if (!coll::has_size(question.kind)) return Why::some_direct;
  return question.bytes <= shape.exchange_max ? Why::by_leaders : Why::all_direct;
}

Choice choose_way(const Shape& shape, const Question& question) {
  if (question.disabled) return {Way::pass, false, Why::disabled};
  const auto [by_steps, why_steps] = step_choice(shape, question);
  if (shape.islands == 1) return {Way::host, by_steps, why_steps};
  if (question.in_order && !keeps_canonical_order(shape, question)) {
    if (!question.values_can_travel) return {Way::pass, false, Why::no_across};
    return {Way::leaders, false, Why::by_values, Sums::by_values};
  }
  if (coll::collective(question.kind).is_prefix && !shape.is_contiguous) {
    if (shape.has_next || !question.values_can_travel) return {Way::pass, false, Why::scattered};
    return {Way::leaders, false, Why::by_values, Sums::by_values};
  }
  const bool is_pairwise = coll::collective(question.kind).is_pairwise;
  if (is_pairwise && shape.has_next && (shape.exchange_max == 0 || question.bytes > shape.exchange_max))
    return {Way::pass, false, Why::no_hierarchy};
  switch (question.across) {
    case Across::none: return {Way::pass, false, Why::no_across};
    case Across::tree: return {Way::tree, by_steps, Why::across_tree};
    case Across::next:
      if (shape.island_size_max == 1 && shape.has_next) return {Way::pass, false, Why::nothing_inside};
      if (is_pairwise) return {Way::leaders, false, why_pairwise(shape, question)};
      return {Way::leaders, by_steps, shape.has_next ? Why::across_next : Why::across_network};
  }
  return {Way::pass, false, Why::no_across};
}

}  // namespace

Choice choose(const Shape& shape, const Question& question) {
  Choice choice = choose_way(shape, question);
  if (question.in_order && choice.sums == Sums::in_any_order) choice.sums = Sums::in_order;
  return choice;
}

std::size_t exchange_limit(std::size_t wanted, int island_size_max, int ranks) {
  const auto blocks = static_cast<std::size_t>(island_size_max) * static_cast<std::size_t>(ranks);
  return std::min(wanted, kExchangeBytesMax / blocks);
}

std::string_view words_for(Why why) {
  switch (why) {
    case Why::one_host: return "all ranks share one memory";
    case Why::by_domain: return "domain by domain: fewer cache lines cross between NUMA nodes or sockets";
    case Why::too_large_by_domain: return "all ranks at once: too large to be worth a stop in each domain";
    case Why::crowded: return "all ranks at once: with more ranks than processors each stop in a domain costs a turn";
    case Why::across_tree: return "shared memory inside the hosts, the aggregation tree between them";
    case Why::across_next: return "shared memory inside the hosts, the MPI's own collective among their leaders";
    case Why::across_network: return "shared memory inside the hosts, messages among their leaders";
    case Why::disabled: return "switched off by HCOLL_ML_DISABLE_<COLL>";
    case Why::next_is_faster: return "the next module is faster here, by the times of the program's own calls";
    case Why::by_leaders: return "small blocks: one message for each pair of hosts, by their leaders";
    case Why::some_direct: return "small blocks in one message for each pair of hosts, large ones directly";
    case Why::all_direct: return "large blocks over several hosts: from rank to rank";
    case Why::no_hierarchy: return "large blocks over several hosts: leaders would move more than they save";
    case Why::no_across: return "nothing here moves it between hosts";
    case Why::nothing_inside: return "one rank per host and no tree for it: nothing is left to do here";
    case Why::by_values:
      return "the ranks exchange their values and add them along one tree, for the same bits in any way";
    case Why::scattered: return "the ranks of a host do not follow each other";
    case Why::too_many_bytes: return "more bytes than an int can count";
  }
  return "?";
}

std::string_view to_string(Way way) {
  switch (way) {
    case Way::host: return "host";
    case Way::leaders: return "leaders";
    case Way::tree: return "tree";
    case Way::pass: return "pass";
  }
  return "?";
}

}  // namespace sumac::team
