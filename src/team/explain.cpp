// Describes a team's choices and their reasons to users: one line per collective and range of sizes.
#include <algorithm>
#include <cstring>
#include <string>

#include "base/c_text.hpp"
#include "shm/single/timed.hpp"
#include "team/c_types.hpp"
#include "team/printed_tables.hpp"
#include "team/team.hpp"

namespace {

using sumac::coll::Fold;
using sumac::coll::Kind;
using sumac::coll::Operation;
using sumac::shm::kTimed;
using sumac::team::Choice;
using sumac::team::Way;

/// A choice depends on the fold: the most usual one represents all.
const Fold* usual_fold() {
  static const sumac_fold_t fold = [] {
    sumac_fold_t made;
    sumac_fold_standard(&made, static_cast<int>(sumac::Dtype::float64), static_cast<int>(sumac::Op::sum),
                        static_cast<int>(sumac::Dtype::null));
    return made;
  }();
  return sumac::team::fold_of(&fold);
}

/// A type that only a function of the caller's own can add, such as long double.
const Fold* other_fold() {
  static const sumac_fold_t fold = [] {
    sumac_fold_t made{};
    [[maybe_unused]] const int rc = sumac_fold_custom(
        &made, sizeof(long double), [](const sumac_fold_t*, void*, const void*, const void*, size_t) {}, nullptr);
    return made;
  }();
  return sumac::team::fold_of(&fold);
}

const Fold* fold_for(Kind kind) { return sumac::coll::collective(kind).reduces ? usual_fold() : nullptr; }
/// An allgatherv's size is that of its largest block.
bool depends_on_size(Kind kind) { return sumac::coll::has_size(kind) || kind == Kind::allgatherv; }

/// The first thing that shared memory does: the algorithm, and the kind and size that select it.
struct Inside {
  const sumac::shm::Algorithm* algorithm = nullptr;  ///< Null: shared memory has no part.
  std::string times{};  ///< If the algorithm is one of two that were timed: the reason for this one.
  Kind kind{};
  std::size_t bytes = 0;
};

Inside inside_of(const sumac_team_t& team, Kind kind, std::size_t bytes, const Choice& choice) {
  if (choice.way == Way::pass || team.island_group == nullptr) return {};
  auto part = kind;
  if (choice.way != Way::host) {
    if (part == Kind::allgather) part = Kind::allgatherv;
    if (sumac::coll::collective(part).is_pairwise) part = Kind::alltoallv;
    if (part == Kind::reduce_scatter_block) bytes *= static_cast<std::size_t>(team.layout.size);
    if (part == Kind::allreduce || part == Kind::barrier || sumac::team::scatters_sums(part) ||
        sumac::coll::collective(part).is_prefix)
      part = Kind::reduce;
    bytes = std::min<std::size_t>(bytes, team.options->options.chunk.count);
  }
  const auto& group = *team.island_group;
  const auto* algorithm = group.tuning().pick(part, bytes);
  if (algorithm->name == kTimed)
    if (const auto* better = decided(group, part, bytes))
      return {better, about_decision(group, part, bytes), part, bytes};
  return {algorithm, "", part, bytes};
}

constexpr std::string_view kSingle = "single";

/// Returns the first size that may go by single copy; SIZE_MAX if none may.
std::size_t single_from(const sumac::shm::Tuning& tuning, Kind kind) {
  std::size_t from = 0;
  for (const auto& row : tuning.rows[index_of(kind)]) {
    if (row.algorithm->name == kSingle || row.algorithm->name == kTimed) return from;
    if (row.bytes_max == SIZE_MAX) break;
    from = row.bytes_max + 1;
  }
  return SIZE_MAX;
}

/// The reason why the built-in choice uses single copy for large messages, or does not.
std::string about_copy(const sumac_team_t& team) {
  if (!team.options->options.single_copy) return "SUMAC_SHM_SINGLE_COPY=0";
  if (!team.no_copy.empty()) return team.no_copy;
  return about_single_copy(team.island_input);
}

bool is_measured(const sumac_team_t& team, const Inside& inside) {
  if (!team.uses_tuning_file) return false;
  bool is_its = false;  // Decided by the last row that begins at or before this size.
  for (const auto& choice : choices_for(team.options->tuning, to_string(inside.kind),
                                        static_cast<std::uint32_t>(team.island_input.size), team.island_input.crowded))
    if (choice.from_bytes <= inside.bytes) is_its = choice.algorithm == inside.algorithm->name;
  return is_its;
}

/// The reason for this algorithm, and why it is not single copy.
std::string why_inside(const sumac_team_t& team, const Inside& inside) {
  const auto& options = team.options->options;
  const std::string_view name = inside.algorithm->name;
  if (!inside.times.empty()) return ": " + inside.times;
  if (options.forced[index_of(inside.kind)] == name)
    return fmt::format(", as {} says", sumac::team::force_variable(inside.kind));
  if (is_measured(team, inside)) return ", as measured on this machine";
  if (name == kSingle || name == kTimed) return ": " + about_copy(team);
  // Computes the built-in choice for the case that single copy were allowed.
  sumac::shm::TuningInput allowed = team.island_input;
  allowed.single_copy = true;
  const std::size_t from = single_from(default_tuning(allowed), inside.kind);
  if (from == SIZE_MAX) return "";
  if (inside.bytes >= from) return fmt::format("; not by \"{}\": {}", kSingle, about_copy(team));
  if (single_from(team.island_group->tuning(), inside.kind) != from) return "";
  return fmt::format("; perhaps by \"{}\" from {} B on", kSingle, from);
}

// A question is an operation without buffers; its `bytes` have the meaning of sumac_team_choice().

/// Returns the bytes that travel between hosts.
std::size_t across_bytes(const sumac_team_t& team, const Operation& ask) {
  if (sumac::coll::collective(ask.kind).is_prefix) return ask.bytes * team.layout.islands.size();
  const bool of_all =
      ask.kind == Kind::allgather || ask.kind == Kind::allgatherv || ask.kind == Kind::reduce_scatter_block;
  return of_all ? ask.bytes * static_cast<std::size_t>(team.layout.size) : ask.bytes;
}

bool is_compared(const sumac_team_t& team, const Operation& ask) {
  return ask.bytes >= team.compared_from[index_of(ask.kind)];
}

const sumac::coll::Decision* comparison_of(const sumac_team_t& team, const Operation& ask) {
  if (!is_compared(team, ask) || team.comparison == nullptr) return nullptr;
  const auto& decision = team.comparison->of(ask.kind, ask.bytes);
  return decision.is_settled() ? &decision : nullptr;
}

Choice choice_of(const sumac_team_t& team, const Operation& ask) {
  if (const auto* decision = comparison_of(team, ask);
      decision != nullptr && decision->way() == sumac::coll::Decision::Way::second)
    return {Way::pass, false, sumac::team::Why::next_is_faster};
  return team.choose(ask.kind, ask.bytes, across_bytes(team, ask), ask.fold);
}

/// Returns the next module's part in the choice.
std::string about_next(const sumac_team_t& team, const Operation& ask) {
  using Decided = sumac::coll::Decision::Way;
  if (!is_compared(team, ask)) return "";
  const char* const rows =
      sumac::team::Comparison::comes_in_rows(ask.kind, ask.bytes) ? "; calls in a row stay in shared memory" : "";
  if (const auto* decision = comparison_of(team, ask))
    return fmt::format("; 1 KiB took {:.1f} ns, by the next module {:.1f} ns{}", decision->median_ns(Decided::first),
                       decision->median_ns(Decided::second), rows);
  return fmt::format("; or by the next module, if the program's own calls are faster by it{}", rows);
}

/// Do the kernels of the tree's nodes answer it?
std::string about_hop(const sumac_team_t& team, const Operation& ask) {
  const auto text = team.tree->about_hop(sumac::team::started_across(ask.kind), across_bytes(team, ask),
                                         sumac::team::fold_across(ask.kind, ask.fold));
  return text.empty() ? "" : "; " + text;
}

/// The reason why the tree does not take it as a whole.
std::string about_tree(const sumac_team_t& team, const Operation& ask, const Choice& choice) {
  if (team.tree == nullptr || choice.why == sumac::team::Why::disabled) return "";
  const Kind started = sumac::team::started_across(ask.kind);
  const std::string why =
      team.tree->why_not(started, across_bytes(team, ask), sumac::team::fold_across(ask.kind, ask.fold));
  if (why.empty()) return choice.way == Way::tree ? about_hop(team, ask) : "";
  if (choice.way != Way::tree) return fmt::format("; not by the tree: {}", why);
  return fmt::format("; in pieces of {} B, since as a whole: {}", team.options->options.chunk.count, why);
}

/// Names the algorithm by which leaders carry it, where they have several.
std::string about_leaders(const sumac_team_t& team, const Operation& ask, const Choice& choice) {
  const bool is_vector = sumac::coll::collective(ask.kind).keeps == sumac::coll::Share::vector;
  const Kind started = sumac::team::started_across(ask.kind);
  // Pairwise kinds and blocks of sums go from leader to leader, and values by an allgatherv of another size.
  const bool goes_as_itself = is_vector || started == Kind::barrier || started == Kind::allgatherv;
  if (choice.way != Way::leaders || choice.sums == sumac::team::Sums::by_values || !goes_as_itself) return "";
  std::size_t bytes = across_bytes(team, ask);
  if (is_vector) bytes = std::min(bytes, team.chunk_wanted(team.own_across, bytes));
  const auto algorithm = team.own_across->algorithm(started, bytes, sumac::team::fold_across(ask.kind, ask.fold));
  return algorithm.empty() ? "" : fmt::format(" by \"{}\"", algorithm);
}

std::string sentence(const sumac_team_t& team, const Operation& ask, const Choice& choice, const Inside& inside) {
  std::string text(sumac::team::words_for(choice.why));
  if (choice.by_steps && choice.why != sumac::team::Why::by_domain) text += ", domain by domain";
  text += about_leaders(team, ask, choice) + about_tree(team, ask, choice) + about_next(team, ask);
  if (inside.algorithm == nullptr) return text;
  text += fmt::format("; \"{}\" ({}", inside.algorithm->name, inside.algorithm->doc);
  if (!inside.algorithm->in_place.empty()) text += fmt::format("; in place \"{}\"", inside.algorithm->in_place);
  return text + ")" + why_inside(team, inside);
}

/// Adds one line per range of sizes with the same answer; it asks for powers of two.
std::string lines_of(const sumac_team_t& team, Kind kind, std::string_view name, const Fold* fold) {
  std::string text, last;
  std::size_t first = 0;
  const auto close = [&](std::size_t end) {
    if (last.empty()) return;
    const std::string range = !depends_on_size(kind)          ? "any size"
                              : end == SIZE_MAX && first == 1 ? "any size"
                              : end == SIZE_MAX               ? fmt::format("from {} B", first)
                                                              : fmt::format("{} to {} B", first, end - 1);
    text += fmt::format("  {:<22}{:<24}{}\n", name, range, last);
  };
  const auto ask = [&](std::size_t bytes) {
    const Operation one{.kind = kind, .bytes = bytes, .fold = fold};
    const Choice choice = choice_of(team, one);
    return fmt::format("{}: {}", to_string(choice.way),
                       sentence(team, one, choice, inside_of(team, kind, bytes, choice)));
  };
  first = 1;
  last = ask(depends_on_size(kind) ? 1 : 0);
  for (std::size_t bytes = 2; depends_on_size(kind) && bytes <= (std::size_t{1} << 30); bytes *= 2) {
    std::string now = ask(bytes);
    if (now == last) continue;
    // The threshold lies between two powers of two, so search for it.
    std::size_t low = bytes / 2, high = bytes;
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      (ask(middle) == last ? low : high) = middle;
    }
    close(high);
    first = high;
    last = std::move(now);
  }
  close(SIZE_MAX);
  return text;
}

/// Returns what the first line adds about waiting; nothing where ranks spin.
std::string_view how_ranks_wait(const sumac::shm::WaitSettings& waiting) {
  if (waiting.crowded()) return ": ranks yield instead of spinning";
  return waiting.caller_yields ? ": ranks yield instead of spinning, because MPI does (mpi_yield_when_idle)" : "";
}

std::string name_of(const sumac_team_t& team) { return team.name.empty() ? "without a name" : team.name; }

std::string heading(const sumac_team_t& team) { return fmt::format("sumac: communicator {}: ", name_of(team)); }

std::string size_of(const sumac_team_t& team) {
  const int hosts = team.layout.machines;
  return fmt::format("{} ranks on {} host{}", team.layout.size, hosts, hosts == 1 ? "" : "s");
}

/// Returns everything that follows the heading; it does not depend on the communicator's name.
std::string table_of(const sumac_team_t& team) {
  const auto& layout = team.layout;
  std::string text = fmt::format("{}{}: {}; {} ranks here for {:.3g} processors{}\n", size_of(team),
                                 layout.ranks_apart ? ", each as a host of its own" : "", layout.words,
                                 team.waiting.ranks_on_host, team.waiting.cpus, how_ranks_wait(team.waiting));
  text += fmt::format("  {}\n", layout.domain_words);
  if (team.segment)
    text += fmt::format("  shared memory: {}, {} KiB of addresses\n",
                        team.segment->handle().backing == sumac::shm::Backing::memfd ? "memfd" : "a file in /dev/shm",
                        team.segment->handle().bytes / 1024);
  if (team.island_group != nullptr && team.island_input.size > 1)
    text += fmt::format("  single copy of large messages, by default: {}: {}\n",
                        team.island_input.single_copy && may_copy_once(team.island_input) ? "perhaps" : "no",
                        about_copy(team)) +
            fmt::format("  large messages are written {}\n", about_stores(*team.island_group));
  if (team.own_across != nullptr && team.tree == nullptr && !team.no_tree.empty())
    text += fmt::format("  no tree between hosts: {}\n", team.no_tree);
  if (const auto why = team.tree == nullptr ? "" : team.tree->no_hop(); !why.empty())
    text += fmt::format("  no hop: {}\n", why);
  if (team.uses_tuning_file) text += fmt::format("  choices measured on this machine: {}\n", team.options->tuning_path);
  for (const auto& remark : team.remarks) text += fmt::format("  {}\n", remark);
  for (const auto& row : sumac::coll::kCollectives) text += lines_of(team, row.kind, row.name, fold_for(row.kind));
  // The tree does not support some types for a collective that it otherwise takes.
  if (choice_of(team, {.kind = Kind::allreduce, .bytes = 8, .fold = usual_fold()}).way == Way::tree)
    text += lines_of(team, Kind::allreduce, "allreduce, others", other_fold());
  text += "  all others              any size                pass: the next module's\n";
  return text;
}

}  // namespace

void sumac_team_choice(const sumac_team_t* team, int coll, size_t bytes, const sumac_fold_t* fold,
                       sumac_choice_t* choice) {
  const auto kind = static_cast<Kind>(coll);
  const Operation ask{
      .kind = kind, .bytes = bytes, .fold = fold == nullptr ? fold_for(kind) : sumac::team::fold_of(fold)};
  const Choice chosen = choice_of(*team, ask);
  const Inside inside = inside_of(*team, kind, bytes, chosen);
  choice->way = static_cast<int>(chosen.way);
  choice->how = inside.algorithm != nullptr ? inside.algorithm->name.data() : "";
  sumac::copy_text(sentence(*team, ask, chosen, inside), choice->reason, sizeof choice->reason);
}

std::string sumac::team::whole_explanation(const sumac_team_t& team) { return heading(team) + table_of(team); }

char* sumac_team_explain(const sumac_team_t* team) {
  // The object is never destroyed: another thread may make a communicator while the process exits.
  static auto& printed = *new sumac::team::PrintedTables;
  std::string table = table_of(*team);
  if (const auto same = printed.same_as(name_of(*team), table))
    table = fmt::format("{}: choices as printed for communicator {}\n", size_of(*team), *same);
  return strdup((heading(*team) + table).c_str());
}
