/* The line at MPI_Finalize: how many calls went which way, summed over all communicators of the job. Each way has one
 * part, with all its collectives. Two examples, with a tree and without:
 *
 *   sumac: job 123: tree 104 (barrier 52, allreduce 52); shared memory 40 (bcast 30, reduce 10); shared memory and
 *   leaders 2 (bcast 2); next module 15 (barrier 2, allreduce 4, bcast 9: 13 that its team left to it, 2 with a user's
 *   operation or type); nonblocking before the first blocking call 3; persistent ones made by the next module 2;
 *   communicators without a group of the tree 1 (SHARP_COLL_JOB_QUOTA_MAX_GROUPS asks for more); memory closed to
 *   single copy 5
 *
 *   sumac: collectives: shared memory 146 (barrier 54, bcast 30, allreduce 62); next module 6 (reduce 6: 6 that its
 *   team left to it)
 *
 * A job whose tree did nothing says "tree 0". A program that asked for a tree in vain begins with "without a tree", and
 * one that did not ask hears nothing of trees. A call is counted once, by rank 0 of its communicator. Not counted are
 * calls without data (count 0) and nonblocking ones like those that MPI itself makes to agree on context ids.
 * Nonblocking calls before a communicator's first blocking one are listed apart. So are persistent collectives without
 * a lane: they are counted when they are made, because the next module starts them. */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hcoll.h"

struct tally {
  sumac_counts_t teams;
  uint64_t passed[SUMAC_COLLS][HCOLL_WHYS];
  uint64_t no_group; /* communicators for which the tree had no group */
};

/* The modules of living communicators, and below the sum of those that are gone. */
static struct enlisted {
  hcoll_module_t* module;
  struct enlisted* next;
} * living;
static struct tally total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add(uint64_t* sum, const uint64_t* one, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    sum[i] += one[i];
  }
}

static void add_lane(struct tally* sum, const hcoll_lane_t* lane) {
  if (NULL == lane->team) {
    return;
  }
  sumac_counts_t counts;
  sumac_team_counts(lane->team, &counts);
  sum->teams.closed += counts.closed; /* each host's number, at one of its ranks */
  if (0 == lane->module->rank) {
    add(&sum->teams.calls[0][0], &counts.calls[0][0], sizeof(counts.calls) / sizeof(uint64_t));
  }
}

static void add_module(struct tally* sum, const hcoll_module_t* module) {
  if (module->internal) {
    return;
  }
  add_lane(sum, &module->ordinary);
  for (int at = 0; at < HCOLL_LANES_MAX; ++at) {
    if (NULL != module->lanes[at]) {
      add_lane(sum, module->lanes[at]);
    }
  }
  if (0 != module->rank) {
    return;
  }
  sum->no_group += module->no_group;
  for (int way = 0; way < SUMAC_WAYS; ++way) {
    sum->teams.calls[SUMAC_COLL_ALLREDUCE][way] -= module->agreements[way];
  }
  add(&sum->passed[0][0], &module->passed[0][0], sizeof(module->passed) / sizeof(uint64_t));
}

void hcoll_tally_enlist(hcoll_module_t* module) {
  struct enlisted* entry = malloc(sizeof(*entry));
  if (NULL == entry) {
    return; /* its calls are counted when it is destroyed, unless MPI_Finalize comes first */
  }
  entry->module = module;
  pthread_mutex_lock(&lock);
  entry->next = living;
  living = entry;
  pthread_mutex_unlock(&lock);
}

void hcoll_tally_delist(hcoll_module_t* module) {
  pthread_mutex_lock(&lock);
  add_module(&total, module);
  for (struct enlisted** at = &living; NULL != *at; at = &(*at)->next) {
    if ((*at)->module == module) {
      struct enlisted* entry = *at;
      *at = entry->next;
      free(entry);
      break;
    }
  }
  pthread_mutex_unlock(&lock);
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

static const char* const whys[HCOLL_WHYS] = {
    [HCOLL_WHY_FUNCTION] = "with a user's operation or type",
    [HCOLL_WHY_NO_TEAM] = "without a team",
};

/* Calls of a collective that the next module did, except early and persistent ones. */
static uint64_t next_of(const struct tally* sum, int coll) {
  return sum->teams.calls[coll][SUMAC_WAY_PASS] + sum->passed[coll][HCOLL_WHY_FUNCTION] +
         sum->passed[coll][HCOLL_WHY_NO_TEAM];
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

static uint64_t put_way(struct text* text, const struct tally* sum, enum sumac_way way, const char* name) {
  uint64_t calls[SUMAC_COLLS];
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) {
    calls[coll] = sum->teams.calls[coll][way];
  }
  uint64_t all = put_calls(text, name, calls);
  put(text, all > 0 ? ")" : "");
  return all;
}

/* Prints "next module 6 (bcast 6: 5 that its team left to it, 1 with a user's operation or type)". */
static void put_next(struct text* text, const struct tally* sum) {
  uint64_t calls[SUMAC_COLLS], by_team = 0, by_why[HCOLL_WHYS] = {0};
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) {
    calls[coll] = next_of(sum, coll);
    by_team += sum->teams.calls[coll][SUMAC_WAY_PASS];
    add(by_why, sum->passed[coll], HCOLL_WHYS);
  }
  if (0 == put_calls(text, "next module", calls)) {
    return;
  }
  const char* separator = ": ";
  if (by_team > 0) {
    put(text, "%s%" PRIu64 " that its team left to it", separator, by_team);
    separator = ", ";
  }
  for (int why = 0; why < HCOLL_WHYS; ++why) {
    if (by_why[why] > 0 && NULL != whys[why]) {
      put(text, "%s%" PRIu64 " %s", separator, by_why[why], whys[why]);
      separator = ", ";
    }
  }
  put(text, ")");
}

static void print(const struct tally* sum, uint64_t job_id) {
  struct text text = {.used = 0, .head = 0};
  if (job_id > 0) {
    put(&text, "sumac: job %" PRIu64 ": ", job_id);
  } else {
    put(&text, mca_coll_hcoll_component.settings.level > 0 ? "sumac: without a tree: " : "sumac: collectives: ");
  }
  text.head = text.used;
  if (0 == put_way(&text, sum, SUMAC_WAY_TREE, "tree") && job_id > 0) {
    put(&text, "tree 0");
  }
  put_way(&text, sum, SUMAC_WAY_HOST, "shared memory");
  put_way(&text, sum, SUMAC_WAY_LEADERS, "shared memory and leaders");
  put_next(&text, sum);
  uint64_t early = 0, order = 0;
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) {
    early += sum->passed[coll][HCOLL_WHY_EARLY];
    order += sum->passed[coll][HCOLL_WHY_ORDER];
  }
  if (early > 0) {
    begin_part(&text);
    put(&text, "nonblocking before the first blocking call %" PRIu64, early);
  }
  if (order > 0) {
    begin_part(&text);
    put(&text, "persistent ones made by the next module %" PRIu64, order);
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

void hcoll_tally_print(hcoll_module_t* world, uint64_t job_id) {
  pthread_mutex_lock(&lock);
  struct tally mine = total, sum;
  for (const struct enlisted* entry = living; NULL != entry; entry = entry->next) {
    add_module(&mine, entry->module);
  }
  pthread_mutex_unlock(&lock);
  memset(&sum, 0, sizeof(sum));
  _Static_assert(0 == sizeof(struct tally) % sizeof(uint64_t), "summed as an array of uint64_t");
  int rc = world->next.allreduce(&mine, &sum, sizeof(sum) / sizeof(uint64_t), &ompi_mpi_uint64_t.dt,
                                 &ompi_mpi_op_sum.op, world->comm, world->next.allreduce_module);
  if (OMPI_SUCCESS == rc && 0 == ompi_comm_rank(world->comm)) {
    print(&sum, job_id);
  }
}
