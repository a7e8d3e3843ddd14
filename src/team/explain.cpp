// What a team does and why, for people: one line per collective and range of sizes.
#include <algorithm>
#include <cstring>
#include <string>

#include "shm/timed.hpp"
#include "team/c_types.hpp"
#include "team/team.hpp"

namespace {

using sumac::shm::Coll;
using sumac::shm::kTimed;
using sumac::team::Choice;
using sumac::team::Way;

/// SHARP_REDUCE and its like look at a fold: the most usual one stands for all.
const sumac_fold_t* usual_fold() {
  static const sumac_fold_t fold = [] {
    sumac_fold_t made;
    sumac_fold_standard(&made, static_cast<int>(sumac::Dtype::float64), static_cast<int>(sumac::Op::sum),
                        static_cast<int>(sumac::Dtype::null));
    return made;
  }();
  return &fold;
}

/// Of a type that only a function of the caller's can add, as long double.
const sumac_fold_t* other_fold() {
  static const sumac_fold_t fold = [] {
    sumac_fold_t made;
    sumac_fold_custom(
        &made, sizeof(long double), [](const sumac_fold_t*, void*, const void*, const void*, size_t) {}, nullptr);
    return made;
  }();
  return &fold;
}

bool has_fold(int coll) {
  return coll == SUMAC_COLL_ALLREDUCE || coll == SUMAC_COLL_REDUCE || coll == SUMAC_COLL_REDUCE_SCATTER_BLOCK;
}
const sumac_fold_t* fold_for(int coll) { return has_fold(coll) ? usual_fold() : nullptr; }
bool has_size(int coll) { return coll != SUMAC_COLL_BARRIER && coll != SUMAC_COLL_ALLTOALLV; }

/// What shared memory does first: the algorithm, and what it is chosen by.
struct Inside {
  const sumac::shm::Algorithm* algorithm = nullptr;  ///< None: it has no part.
  std::string times{};                               ///< It is one of two ways: why this one.
  Coll coll{};
  std::size_t bytes = 0;
};

Inside inside_of(const sumac_team_t& team, int coll, std::size_t bytes, const Choice& choice) {
  if (choice.way == Way::pass || team.island_group == nullptr) return {};
  auto part = static_cast<Coll>(coll);
  if (choice.way != Way::host) {
    if (part == Coll::allgather) part = Coll::allgatherv;
    if (part == Coll::alltoall) part = Coll::alltoallv;
    if (part == Coll::reduce_scatter_block) bytes *= static_cast<std::size_t>(team.layout.size);
    if (part == Coll::allreduce || part == Coll::barrier || part == Coll::reduce_scatter_block) part = Coll::reduce;
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

/// The first size that may go by single copy; SIZE_MAX: none.
std::size_t single_from(const sumac::shm::Tuning& tuning, Coll coll) {
  std::size_t from = 0;
  for (const auto& row : tuning.rows[static_cast<std::size_t>(coll)]) {
    if (row.algorithm->name == kSingle || row.algorithm->name == kTimed) return from;
    if (row.bytes_max == SIZE_MAX) break;
    from = row.bytes_max + 1;
  }
  return SIZE_MAX;
}

/// Why the built-in choice takes single copy for large messages, or does not.
std::string about_copy(const sumac_team_t& team) {
  if (!team.options->options.single_copy) return "SUMAC_SHM_SINGLE_COPY=0";
  if (!team.no_copy.empty()) return team.no_copy;
  return about_single_copy(team.island_input);
}

bool is_measured(const sumac_team_t& team, const Inside& inside) {
  if (!team.uses_tuning_file) return false;
  bool is_its = false;  // of the last row that begins at or before
  for (const auto& choice : choices_for(team.options->tuning, to_string(inside.coll),
                                        static_cast<std::uint32_t>(team.island_input.size), team.island_input.crowded))
    if (choice.from_bytes <= inside.bytes) is_its = choice.algorithm == inside.algorithm->name;
  return is_its;
}

/// Why this algorithm, and not by single copy.
std::string why_inside(const sumac_team_t& team, const Inside& inside) {
  const auto coll = static_cast<std::size_t>(inside.coll);
  const auto& options = team.options->options;
  const std::string_view name = inside.algorithm->name;
  if (!inside.times.empty()) return ": " + inside.times;
  if (options.forced()[coll] == name)
    return fmt::format(", as {} says", sumac::team::kOptions[sumac::team::kForcedFirst + coll].name);
  if (is_measured(team, inside)) return ", as measured on this machine";
  if (name == kSingle || name == kTimed) return ": " + about_copy(team);
  // What the built-in choice would be, were single copy allowed.
  sumac::shm::TuningInput allowed = team.island_input;
  allowed.single_copy = true;
  const std::size_t from = single_from(default_tuning(allowed), inside.coll);
  if (from == SIZE_MAX) return "";
  if (inside.bytes >= from) return fmt::format("; not by \"{}\": {}", kSingle, about_copy(team));
  if (single_from(team.island_group->tuning(), inside.coll) != from) return "";
  return fmt::format("; perhaps by \"{}\" from {} B on", kSingle, from);
}

/// One question: `bytes` as in sumac_team_choice().
struct Ask {
  int coll;
  std::size_t bytes;
  const sumac_fold_t* fold;
};

/// What goes between hosts.
std::size_t across_bytes(const sumac_team_t& team, const Ask& ask) {
  const bool of_all = ask.coll == SUMAC_COLL_ALLGATHER || ask.coll == SUMAC_COLL_ALLGATHERV ||
                      ask.coll == SUMAC_COLL_REDUCE_SCATTER_BLOCK;
  return of_all ? ask.bytes * static_cast<std::size_t>(team.layout.size) : ask.bytes;
}

Choice choice_of(const sumac_team_t& team, const Ask& ask) {
  return team.choose(ask.coll, ask.bytes, across_bytes(team, ask), ask.fold);
}

/// Is there one at all?
bool has_tree(const sumac_team_t& team) {
  return team.has_across && team.across.way != nullptr &&
         team.across.way(team.across.context, SUMAC_COLL_BARRIER, 0, nullptr) == SUMAC_ACROSS_TREE;
}

/// Why it does not go by the tree, or that its pieces do.
std::string about_tree(const sumac_team_t& team, const Ask& ask, const Choice& choice) {
  const auto& across = team.across;
  if (!has_tree(team) || across.why == nullptr || choice.way == Way::tree || choice.why == sumac::team::Why::disabled)
    return "";
  const int started = ask.coll == SUMAC_COLL_ALLGATHER ? SUMAC_COLL_ALLGATHERV : ask.coll;
  std::string text =
      fmt::format("; not by the tree: {}", across.why(across.context, started, across_bytes(team, ask), ask.fold));
  const std::size_t chunk = team.options->options.chunk.count;
  if (ask.coll == SUMAC_COLL_ALLREDUCE && choice.way == Way::leaders && ask.bytes > chunk &&
      across.way(across.context, started, chunk, ask.fold) == SUMAC_ACROSS_TREE)
    text += fmt::format(", but its pieces of {} B go by it", chunk);
  return text;
}

std::string sentence(const sumac_team_t& team, const Ask& ask, const Choice& choice, const Inside& inside) {
  std::string text(sumac::team::words_for(choice.why));
  if (choice.by_steps && choice.why != sumac::team::Why::by_socket) text += ", socket by socket";
  text += about_tree(team, ask, choice);
  if (inside.algorithm == nullptr) return text;
  text += fmt::format("; \"{}\" ({}", inside.algorithm->name, inside.algorithm->doc);
  if (!inside.algorithm->in_place.empty()) text += fmt::format("; in place \"{}\"", inside.algorithm->in_place);
  return text + ")" + why_inside(team, inside);
}

/// One line per range of sizes with the same answer; powers of two are asked.
std::string lines_of(const sumac_team_t& team, int coll, std::string_view name, const sumac_fold_t* fold) {
  std::string text, last;
  std::size_t first = 0;
  const auto close = [&](std::size_t end) {
    if (last.empty()) return;
    const std::string range = !has_size(coll)                 ? "any size"
                              : end == SIZE_MAX && first == 1 ? "any size"
                              : end == SIZE_MAX               ? fmt::format("from {} B", first)
                                                              : fmt::format("{} to {} B", first, end - 1);
    text += fmt::format("  {:<22}{:<24}{}\n", name, range, last);
  };
  const auto ask = [&](std::size_t bytes) {
    const Ask one{coll, bytes, fold};
    const Choice choice = choice_of(team, one);
    return fmt::format("{}: {}", to_string(choice.way),
                       sentence(team, one, choice, inside_of(team, coll, bytes, choice)));
  };
  first = 1;
  last = ask(has_size(coll) ? 1 : 0);
  for (std::size_t bytes = 2; has_size(coll) && bytes <= (std::size_t{1} << 30); bytes *= 2) {
    std::string now = ask(bytes);
    if (now == last) continue;
    // The threshold lies between two powers of two: find it exactly.
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

std::string whole_text(const sumac_team_t& team) {
  const auto& layout = team.layout;
  const std::size_t hosts =
      static_cast<std::size_t>(*std::max_element(layout.host_of.begin(), layout.host_of.end())) + 1;
  std::string text = fmt::format(
      "sumac: communicator {}: {} ranks on {} host{}: {}; {} ranks here for {:.3g} processors{}\n",
      team.name.empty() ? "without a name" : team.name, layout.size, hosts, hosts == 1 ? "" : "s", layout.words,
      team.waiting.ranks_on_host, team.waiting.cpus, team.shape.crowded ? ": ranks yield instead of spinning" : "");
  if (team.segment)
    text += fmt::format("  shared memory: {}, {} KiB of addresses\n",
                        team.segment->handle().backing == sumac::shm::Backing::memfd ? "memfd" : "a file in /dev/shm",
                        team.segment->handle().bytes / 1024);
  if (team.island_group != nullptr && team.island_input.size > 1)
    text += fmt::format("  single copy of large messages, by default: {}: {}\n",
                        team.island_input.single_copy && may_copy_once(team.island_input) ? "perhaps" : "no",
                        about_copy(team));
  if (team.has_across && !has_tree(team) && team.across.why != nullptr)
    text += fmt::format("  no tree between hosts: {}\n",
                        team.across.why(team.across.context, SUMAC_COLL_BARRIER, 0, nullptr));
  if (team.uses_tuning_file) text += fmt::format("  choices measured on this machine: {}\n", team.options->tuning_path);
  for (const auto& remark : team.remarks) text += fmt::format("  {}\n", remark);
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) text += lines_of(team, coll, sumac_coll_name(coll), fold_for(coll));
  // What a tree has no form of, where it does the rest.
  if (choice_of(team, {SUMAC_COLL_ALLREDUCE, 8, usual_fold()}).way == Way::tree)
    text += lines_of(team, SUMAC_COLL_ALLREDUCE, "allreduce, others", other_fold());
  text += "  all others              any size                pass: the next module's\n";
  return text;
}

}  // namespace

void sumac_team_choice(const sumac_team_t* team, int coll, size_t bytes, const sumac_fold_t* fold,
                       sumac_choice_t* choice) {
  const Ask ask{coll, bytes, fold == nullptr ? fold_for(coll) : fold};
  const Choice chosen = choice_of(*team, ask);
  const Inside inside = inside_of(*team, coll, bytes, chosen);
  choice->way = static_cast<int>(chosen.way);
  choice->how = inside.algorithm != nullptr ? inside.algorithm->name.data() : "";
  const std::string text = sentence(*team, ask, chosen, inside);
  const std::size_t length = std::min(text.size(), sizeof choice->reason - 1);
  std::memcpy(choice->reason, text.data(), length);
  choice->reason[length] = '\0';
}

size_t sumac_team_explain(const sumac_team_t* team, char* text, size_t text_bytes) {
  const std::string whole = whole_text(*team);
  if (text_bytes > 0) {
    const std::size_t length = std::min(whole.size(), text_bytes - 1);
    std::memcpy(text, whole.data(), length);
    text[length] = '\0';
  }
  return whole.size() + 1;
}
