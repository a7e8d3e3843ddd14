/* The line at MPI_Finalize: how many calls went which way, summed over all communicators of the job. Each way has one
 * part, with all its collectives. Two examples, with a tree and without:
 *
 *   sumac: job 123: tree 104 (barrier 52, allreduce 52); shared memory 40 (bcast 30, reduce 10); shared memory and
 *   leaders 2 (bcast 2); next module 15 (barrier 2, allreduce 4, bcast 9: 13 too large, 2 with a user's operation or type);
 *   nonblocking before the first blocking call 3; persistent ones made by the next module 2; communicators without a
 *   group of the tree 1 (SHARP_COLL_JOB_QUOTA_MAX_GROUPS asks for more); memory closed to single copy 5
 *
 *   sumac: collectives: shared memory 146 (barrier 54, bcast 30, allreduce 62); next module 6 (reduce 6: 6 that would
 *   gain nothing)
 *
 * A job whose tree did nothing says "tree 0". A program that asked for a tree in vain begins with "without a tree", and
 * one that did not ask hears nothing of trees. A call is counted once, by rank 0 of its communicator. Only
 * the program's calls are counted, not those that an MPI makes itself, as Open MPI's MPI_Comm_split does. Not counted
 * either are calls without data (count 0) and, under the component, calls on inter-communicators and nonblocking
 * allreduces of one int with MPI_MAX or MPI_MIN, like those by which Open MPI agrees on context ids.
 * Nonblocking calls before a blocking one could make the team are listed apart. So are persistent collectives without
 * a team of their own: they are counted when they are made, because the next module starts them. */
#include "rank/tally.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "rank/left.h"

_Static_assert(0 == sizeof(struct sumac_tally) % sizeof(uint64_t), "summed as an array of uint64_t");

static void add(uint64_t* sum, const uint64_t* one, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    sum[i] += one[i];
  }
}

void sumac_tally_add_team(struct sumac_tally* sum, const sumac_team_t* team, int rank) {
  if (NULL == team) {
    return;
  }
  sumac_counts_t counts;
  sumac_team_counts(team, &counts);
  sum->teams.closed += counts.closed; /* each host's number, at one of its ranks */
  if (0 == rank) {
    add(&sum->teams.calls[0][0], &counts.calls[0][0], sizeof(counts.calls) / sizeof(uint64_t));
    add(sum->teams.left, counts.left, SUMAC_LEFTS);
    sumac_left_add(team);
  }
}

void sumac_tally_add_passed(struct sumac_tally* sum, const uint64_t passed[SUMAC_COLLS][SUMAC_WHYS]) {
  add(&sum->passed[0][0], &passed[0][0], sizeof(sum->passed) / sizeof(uint64_t));
}

/* Text that grows within its bounds: a head, and parts separated by semicolons. */
struct text {
  char bytes[2048];
  size_t used, head;
};
static void put(struct text* text, const char* format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text* text, const char* format, ...) {
  va_list args;
  va_start(args, format);
  int wanted = vsnprintf(text->bytes + text->used, sizeof(text->bytes) - text->used, format, args);
  va_end(args);
  size_t room = sizeof(text->bytes) - 1 - text->used;
  text->used += wanted < 0 ? 0 : (size_t)wanted < room ? (size_t)wanted : room;
}

static void begin_part(struct text* text) { put(text, "%s", text->used > text->head ? "; " : ""); }

static const char* const whys[SUMAC_WHYS] = {
    [SUMAC_WHY_FUNCTION] = "with a user's operation or type",
    [SUMAC_WHY_NO_TEAM] = "without a team",
    [SUMAC_WHY_SPARED] = "before their communicator was worth a team",
};

/* Calls of a collective that were passed on, except early and persistent ones. */
static uint64_t next_of(const struct sumac_tally* sum, int coll) {
  return sum->teams.calls[coll][SUMAC_WAY_PASS] + sum->passed[coll][SUMAC_WHY_FUNCTION] +
         sum->passed[coll][SUMAC_WHY_NO_TEAM] + sum->passed[coll][SUMAC_WHY_SPARED];
}

/* Prints "shared memory 40 (bcast 30, reduce 10" without the bracket's end, and returns the number of calls. */
static uint64_t put_calls(struct text* text, const char* name, const uint64_t calls[SUMAC_COLLS]) {
  uint64_t all = 0;
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) {
    all += calls[coll];
  }
  if (0 == all) {
    return 0;
  }
  begin_part(text);
  put(text, "%s %" PRIu64, name, all);
  const char* separator = " (";
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) {
    if (calls[coll] > 0) {
      put(text, "%s%s %" PRIu64, separator, sumac_coll_name(coll), calls[coll]);
      separator = ", ";
    }
  }
  return all;
}

static uint64_t put_way(struct text* text, const struct sumac_tally* sum, enum sumac_way way, const char* name) {
  uint64_t calls[SUMAC_COLLS];
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) {
    calls[coll] = sum->teams.calls[coll][way];
  }
  uint64_t all = put_calls(text, name, calls);
  put(text, all > 0 ? ")" : "");
  return all;
}

static void put_reason(struct text* text, const char** separator, uint64_t calls, const char* words) {
  if (calls > 0) {
    put(text, "%s%" PRIu64 " %s", *separator, calls, words);
    *separator = ", ";
  }
}

/* Prints "next module 6 (bcast 6: 5 too large, 1 with a user's operation or type)". */
static void put_next(struct text* text, const struct sumac_tally* sum, const char* next) {
  uint64_t calls[SUMAC_COLLS], by_why[SUMAC_WHYS] = {0};
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) {
    calls[coll] = next_of(sum, coll);
    add(by_why, sum->passed[coll], SUMAC_WHYS);
  }
  if (0 == put_calls(text, next, calls)) {
    return;
  }
  const char* separator = ": ";
  for (int why = 0; why < SUMAC_LEFTS; ++why) {
    put_reason(text, &separator, sum->teams.left[why], sumac_left_words((enum sumac_left)why));
  }
  for (int why = 0; why < SUMAC_WHYS; ++why) {
    if (NULL != whys[why]) {
      put_reason(text, &separator, by_why[why], whys[why]);
    }
  }
  put(text, ")");
}

void sumac_tally_print(const struct sumac_tally* sum, uint64_t job_id, bool tree_wanted, const char* next) {
  struct text text = {.used = 0, .head = 0};
  if (job_id > 0) {
    put(&text, "sumac: job %" PRIu64 ": ", job_id);
  } else {
    put(&text, tree_wanted ? "sumac: without a tree: " : "sumac: collectives: ");
  }
  text.head = text.used;
  if (0 == put_way(&text, sum, SUMAC_WAY_TREE, "tree") && job_id > 0) {
    put(&text, "tree 0");
  }
  put_way(&text, sum, SUMAC_WAY_HOST, "shared memory");
  put_way(&text, sum, SUMAC_WAY_LEADERS, "shared memory and leaders");
  put_next(&text, sum, next);
  uint64_t early = 0, order = 0, hosts = 0;
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) {
    early += sum->passed[coll][SUMAC_WHY_EARLY];
    order += sum->passed[coll][SUMAC_WHY_ORDER];
    hosts += sum->passed[coll][SUMAC_WHY_HOSTS];
  }
  if (early > 0) {
    begin_part(&text);
    put(&text, "nonblocking before the first blocking call %" PRIu64, early);
  }
  if (hosts > 0) {
    begin_part(&text);
    put(&text, "nonblocking over several hosts by the %s %" PRIu64, next, hosts);
  }
  if (order > 0) {
    begin_part(&text);
    put(&text, "persistent ones made by the %s %" PRIu64, next, order);
  }
  if (sum->no_group > 0) {
    begin_part(&text);
    put(&text, "communicators without a group of the tree %" PRIu64 " (SHARP_COLL_JOB_QUOTA_MAX_GROUPS asks for more)",
        sum->no_group);
  }
  if (sum->teams.closed > 0) {
    begin_part(&text);
    put(&text, "memory closed to single copy %" PRIu64, sum->teams.closed);
  }
  if (text.used == text.head) {
    put(&text, "no collective was called");
  }
  fprintf(stderr, "%s\n", text.bytes);
}
