// The line at MPI_Finalize: how many calls went which way, summed over all communicators of the job. Each way has one
// part, with all its collectives. Two examples, with a tree and without:
//
//   sumac: job 123: tree 104 (barrier 52, allreduce 52); shared memory 40 (bcast 30, reduce 10); shared memory and
//   leaders 2 (bcast 2); next module 15 (barrier 2, allreduce 4, bcast 9: 13 too large, 2 with a user's operation or type);
//   nonblocking before there was a team 3; persistent ones made by the next module 2; communicators without a
//   group of the tree 1 (SHARP_COLL_JOB_QUOTA_MAX_GROUPS asks for more); memory closed to single copy 5
//
//   sumac: collectives: shared memory 146 (barrier 54, bcast 30, allreduce 62); next module 6 (reduce 6: 6 that would
//   gain nothing)
//
// Behind the tree's calls come those that the kernels of nodes answered: "tree 104 (barrier 52, allreduce 52: hop 98, barrier 49,
// allreduce 49)". A job whose tree did nothing says "tree 0". A program that asked for a tree in vain begins with "without a tree", and
// one that did not ask hears nothing of trees. A call is counted once, by rank 0 of its communicator. Only
// the program's calls are counted, not those that an MPI makes itself, as Open MPI's MPI_Comm_split does. Not counted
// either are calls without data (count 0) and, under the component, calls on inter-communicators and nonblocking
// allreduces of one int with MPI_MAX or MPI_MIN, like those by which Open MPI agrees on context ids.
// Nonblocking calls before there was a team are listed apart. So are persistent collectives without
// a team of their own: they are counted when they are made, because the next module starts them.
#include "rank/tally.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "rank/explain.h"

static_assert(sizeof(sumac_tally) % sizeof(std::uint64_t) == 0, "summed as an array of uint64_t");

namespace {

void add(std::uint64_t* sum, const std::uint64_t* one, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += one[i];
}

/// Calls that were passed on, except early and persistent ones, and those over several hosts.
struct Why {
  sumac_why why;
  const char* words;
};
constexpr Why kWhys[] = {
    {SUMAC_WHY_FUNCTION, "with a user's operation or type"},
    {SUMAC_WHY_NO_TEAM, "without a team"},
    {SUMAC_WHY_SPARED, "before their communicator was worth a team"},
};

std::uint64_t passed(const sumac_tally& sum, sumac_why why) {
  std::uint64_t all = 0;
  for (const auto& of_coll : sum.passed) all += of_coll[why];
  return all;
}

/// Returns "shared memory 40 (bcast 30, reduce 10" without the bracket's end; "" if there are no calls. `calls_of` is a
/// function of a collective; `opens` stands before the first one.
template <class CallsOf>
std::string calls_text(const char* name, const CallsOf& calls_of, const char* opens = " (") {
  std::uint64_t all = 0;
  std::string each;
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) {
    const std::uint64_t calls = calls_of(coll);
    all += calls;
    if (calls > 0) each += fmt::format("{}{} {}", each.empty() ? "" : ", ", sumac_coll_name(coll), calls);
  }
  return all == 0 ? "" : fmt::format("{} {}{}{}", name, all, opens, each);
}

std::string way_text(const sumac_tally& sum, sumac_way way, const char* name) {
  const auto text = calls_text(name, [&](int coll) { return sum.teams.calls[coll][way]; });
  return text.empty() ? text : text + ")";
}

/// The calls through the tree, and those of them that the kernels of its nodes answered.
std::string tree_text(const sumac_tally& sum) {
  const auto all = calls_text("tree", [&](int coll) { return sum.teams.calls[coll][SUMAC_WAY_TREE]; });
  const auto hop = calls_text(
      "hop", [&](int coll) { return sum.teams.hop[coll]; }, ", ");
  return all.empty() ? all : all + (hop.empty() ? "" : ": " + hop) + ")";
}

/// Returns "next module 6 (bcast 6: 5 too large, 1 with a user's operation or type)".
std::string next_text(const sumac_tally& sum, const char* next) {
  const auto text = calls_text(next, [&](int coll) {
    std::uint64_t calls = sum.teams.calls[coll][SUMAC_WAY_PASS];
    for (const auto& each : kWhys) calls += sum.passed[coll][each.why];
    return calls;
  });
  std::string reasons;
  const auto add_reason = [&](std::uint64_t calls, const char* words) {
    if (calls > 0) reasons += fmt::format("{}{} {}", reasons.empty() ? ": " : ", ", calls, words);
  };
  for (int why = 0; why < SUMAC_LEFTS; ++why)
    add_reason(sum.teams.left[why], sumac_left_words(static_cast<sumac_left>(why)));
  for (const auto& each : kWhys) add_reason(passed(sum, each.why), each.words);
  return text.empty() ? text : text + reasons + ")";
}

}  // namespace

void sumac_tally_add_team(sumac_tally* sum, const sumac_team_t* team, int rank) {
  if (team == nullptr) return;
  sumac_counts_t counts;
  sumac_team_counts(team, &counts);
  sum->teams.closed += counts.closed;  // Each host's number, at one of its ranks.
  if (rank != 0) return;
  add(&sum->teams.calls[0][0], &counts.calls[0][0], sizeof counts.calls / sizeof(std::uint64_t));
  add(sum->teams.left, counts.left, SUMAC_LEFTS);
  add(sum->teams.hop, counts.hop, SUMAC_COLLS);
  sumac_left_add(team);
}

void sumac_tally_add_passed(sumac_tally* sum, const std::uint64_t passed_on[SUMAC_COLLS][SUMAC_WHYS]) {
  add(&sum->passed[0][0], &passed_on[0][0], sizeof sum->passed / sizeof(std::uint64_t));
}

void sumac_tally_print(const sumac_tally* sum, std::uint64_t job_id, bool tree_wanted, const char* next) {
  std::string line = job_id > 0    ? fmt::format("sumac: job {}: ", job_id)
                     : tree_wanted ? "sumac: without a tree: "
                                   : "sumac: collectives: ";
  bool has_parts = false;
  const auto put = [&](const std::string& part) {
    if (part.empty()) return;
    line += (has_parts ? "; " : "") + part;
    has_parts = true;
  };
  const auto put_count = [&](std::uint64_t count, const std::string& words, const char* advice = "") {
    if (count > 0) put(fmt::format("{} {}{}", words, count, advice));
  };
  const auto tree = tree_text(*sum);
  put(tree.empty() && job_id > 0 ? "tree 0" : tree);
  put(way_text(*sum, SUMAC_WAY_HOST, "shared memory"));
  put(way_text(*sum, SUMAC_WAY_LEADERS, "shared memory and leaders"));
  put(next_text(*sum, next));
  put_count(passed(*sum, SUMAC_WHY_EARLY), "nonblocking before there was a team");
  put_count(passed(*sum, SUMAC_WHY_HOSTS), fmt::format("nonblocking over several hosts by the {}", next));
  put_count(passed(*sum, SUMAC_WHY_ORDER), fmt::format("persistent ones made by the {}", next));
  put_count(sum->no_group, "communicators without a group of the tree",
            " (SHARP_COLL_JOB_QUOTA_MAX_GROUPS asks for more)");
  put_count(sum->teams.closed, "memory closed to single copy");
  if (!has_parts) line += "no collective was called";
  std::fprintf(stderr, "%s\n", line.c_str());
}
