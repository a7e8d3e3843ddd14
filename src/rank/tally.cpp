// The line at MPI_Finalize: how many calls went which way, summed over all communicators of the job. Each way has one
// part, with all its collectives. Two examples, with a tree and without:
//
//   sumac: job 123: tree 104 (barrier 52, allreduce 52); shared memory 40 (bcast 30, reduce 10); shared memory and
//   leaders 2 (bcast 2); next module 15 (barrier 2, allreduce 4, bcast 9: 13 too large, 2 with a user's operation or type);
//   nonblocking before the first blocking call 3; persistent ones made by the next module 2; communicators without a
//   group of the tree 1 (SHARP_COLL_JOB_QUOTA_MAX_GROUPS asks for more); memory closed to single copy 5
//
//   sumac: collectives: shared memory 146 (barrier 54, bcast 30, allreduce 62); next module 6 (reduce 6: 6 that would
//   gain nothing)
//
// A job whose tree did nothing says "tree 0". A program that asked for a tree in vain begins with "without a tree", and
// one that did not ask hears nothing of trees. A call is counted once, by rank 0 of its communicator. Only
// the program's calls are counted, not those that an MPI makes itself, as Open MPI's MPI_Comm_split does. Not counted
// either are calls without data (count 0) and, under the component, calls on inter-communicators and nonblocking
// allreduces of one int with MPI_MAX or MPI_MIN, like those by which Open MPI agrees on context ids.
// Nonblocking calls before a blocking one could make the team are listed apart. So are persistent collectives without
// a team of their own: they are counted when they are made, because the next module starts them.
#include "rank/tally.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <string>

#include "rank/left.h"

static_assert(sizeof(sumac_tally) % sizeof(std::uint64_t) == 0, "summed as an array of uint64_t");

namespace {

void add(std::uint64_t* sum, const std::uint64_t* one, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += one[i];
}

/// A head, and parts separated by semicolons.
class Line {
 public:
  __attribute__((format(printf, 2, 3))) void put(const char* format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text_ += text;
  }
  void end_head() { head_ = text_.size(); }
  bool has_parts() const { return text_.size() > head_; }
  void begin_part() { text_ += has_parts() ? "; " : ""; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::size_t head_ = 0;
};

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

/// Prints "shared memory 40 (bcast 30, reduce 10" without the bracket's end. `calls_of` is a function of a collective. Returns
/// false if there are no calls: then nothing is printed.
template <class CallsOf>
bool put_calls(Line& line, const char* name, const CallsOf& calls_of) {
  std::uint64_t all = 0;
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) all += calls_of(coll);
  if (all == 0) return false;
  line.begin_part();
  line.put("%s %" PRIu64, name, all);
  const char* separator = " (";
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) {
    if (calls_of(coll) == 0) continue;
    line.put("%s%s %" PRIu64, separator, sumac_coll_name(coll), calls_of(coll));
    separator = ", ";
  }
  return true;
}

bool put_way(Line& line, const sumac_tally& sum, sumac_way way, const char* name) {
  const bool any = put_calls(line, name, [&](int coll) { return sum.teams.calls[coll][way]; });
  line.put("%s", any ? ")" : "");
  return any;
}

/// Prints "next module 6 (bcast 6: 5 too large, 1 with a user's operation or type)".
void put_next(Line& line, const sumac_tally& sum, const char* next) {
  const bool any = put_calls(line, next, [&](int coll) {
    std::uint64_t calls = sum.teams.calls[coll][SUMAC_WAY_PASS];
    for (const auto& each : kWhys) calls += sum.passed[coll][each.why];
    return calls;
  });
  if (!any) return;
  const char* separator = ": ";
  const auto put_reason = [&](std::uint64_t calls, const char* words) {
    if (calls == 0) return;
    line.put("%s%" PRIu64 " %s", separator, calls, words);
    separator = ", ";
  };
  for (int why = 0; why < SUMAC_LEFTS; ++why)
    put_reason(sum.teams.left[why], sumac_left_words(static_cast<sumac_left>(why)));
  for (const auto& each : kWhys) put_reason(passed(sum, each.why), each.words);
  line.put(")");
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
  sumac_left_add(team);
}

void sumac_tally_add_passed(sumac_tally* sum, const std::uint64_t passed_on[SUMAC_COLLS][SUMAC_WHYS]) {
  add(&sum->passed[0][0], &passed_on[0][0], sizeof sum->passed / sizeof(std::uint64_t));
}

void sumac_tally_print(const sumac_tally* sum, std::uint64_t job_id, bool tree_wanted, const char* next) {
  Line line;
  if (job_id > 0)
    line.put("sumac: job %" PRIu64 ": ", job_id);
  else
    line.put("%s", tree_wanted ? "sumac: without a tree: " : "sumac: collectives: ");
  line.end_head();
  if (!put_way(line, *sum, SUMAC_WAY_TREE, "tree") && job_id > 0) line.put("tree 0");
  put_way(line, *sum, SUMAC_WAY_HOST, "shared memory");
  put_way(line, *sum, SUMAC_WAY_LEADERS, "shared memory and leaders");
  put_next(line, *sum, next);
  if (const auto early = passed(*sum, SUMAC_WHY_EARLY); early > 0) {
    line.begin_part();
    line.put("nonblocking before the first blocking call %" PRIu64, early);
  }
  if (const auto hosts = passed(*sum, SUMAC_WHY_HOSTS); hosts > 0) {
    line.begin_part();
    line.put("nonblocking over several hosts by the %s %" PRIu64, next, hosts);
  }
  if (const auto order = passed(*sum, SUMAC_WHY_ORDER); order > 0) {
    line.begin_part();
    line.put("persistent ones made by the %s %" PRIu64, next, order);
  }
  if (sum->no_group > 0) {
    line.begin_part();
    line.put("communicators without a group of the tree %" PRIu64 " (SHARP_COLL_JOB_QUOTA_MAX_GROUPS asks for more)",
             sum->no_group);
  }
  if (sum->teams.closed > 0) {
    line.begin_part();
    line.put("memory closed to single copy %" PRIu64, sum->teams.closed);
  }
  if (!line.has_parts()) line.put("no collective was called");
  std::fprintf(stderr, "%s\n", line.text().c_str());
}
