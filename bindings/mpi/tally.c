/* The line at MPI_Finalize: how many calls went which way, summed over all communicators of the job.
 * A call is counted once, by rank 0 of its communicator; calls without data (count 0) are not counted. */
#include "hcoll.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Modules of living communicators, and what those that are gone have left. */
static struct enlisted {
  hcoll_module_t* module;
  struct enlisted* next;
} * living;
static struct hcoll_tally total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add(struct hcoll_tally* sum, const struct hcoll_tally* one) {
  for (int kind = 0; kind < HCOLL_KINDS; ++kind) {
    sum->tree[kind] += one->tree[kind];
    for (int why = 0; why < HCOLL_WHYS; ++why) {
      sum->next[kind][why] += one->next[kind][why];
    }
  }
}

static void add_module(struct hcoll_tally* sum, const hcoll_module_t* module) {
  if (!module->internal && 0 == ompi_comm_rank(module->comm)) {
    add(sum, &module->tally);
  }
}

void hcoll_tally_enlist(hcoll_module_t* module) {
  struct enlisted* entry = malloc(sizeof(*entry));
  if (NULL == entry) {
    return; /* its calls are counted when it goes, unless MPI_Finalize comes first */
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

static void append(char* text, size_t size, const char* separator, uint64_t count, const char* what) {
  size_t used = strlen(text);
  if (count > 0) {
    snprintf(text + used, size - used, "%s%" PRIu64 " %s", used > 0 ? separator : "", count, what);
  }
}

static void print(const struct hcoll_tally* sum, uint64_t job_id) {
  uint64_t tree = 0, next = 0, of[HCOLL_KINDS], whys[HCOLL_WHYS] = {0};
  for (int kind = 0; kind < HCOLL_KINDS; ++kind) {
    of[kind] = sum->tree[kind];
    tree += sum->tree[kind];
    for (int why = 0; why < HCOLL_WHYS; ++why) {
      of[kind] += sum->next[kind][why];
      whys[why] += sum->next[kind][why];
      next += sum->next[kind][why];
    }
  }
  char reasons[256] = "";
  append(reasons, sizeof(reasons), ", ", whys[HCOLL_WHY_TYPE], "of a type or operation not for the tree");
  append(reasons, sizeof(reasons), ", ", whys[HCOLL_WHY_SIZE], "too large");
  append(reasons, sizeof(reasons), ", ", whys[HCOLL_WHY_NO_GROUP], "without a group");
  fprintf(stderr,
          "sumac: job %" PRIu64 ": tree %" PRIu64 " of %" PRIu64 " calls (barrier %" PRIu64 "/%" PRIu64
          ", allreduce %" PRIu64 "/%" PRIu64 "), next module %" PRIu64 "%s%s%s\n",
          job_id, tree, tree + next, sum->tree[HCOLL_BARRIER], of[HCOLL_BARRIER], sum->tree[HCOLL_ALLREDUCE],
          of[HCOLL_ALLREDUCE], next, next > 0 ? " (" : "", reasons, next > 0 ? ")" : "");
}

void hcoll_tally_print(hcoll_module_t* world, uint64_t job_id) {
  pthread_mutex_lock(&lock);
  struct hcoll_tally mine = total, sum;
  for (const struct enlisted* entry = living; NULL != entry; entry = entry->next) {
    add_module(&mine, entry->module);
  }
  pthread_mutex_unlock(&lock);
  memset(&sum, 0, sizeof(sum));
  _Static_assert(0 == sizeof(struct hcoll_tally) % sizeof(uint64_t), "summed as an array of uint64_t");
  int rc = world->next.allreduce(&mine, &sum, sizeof(sum) / sizeof(uint64_t), &ompi_mpi_uint64_t.dt,
                                 &ompi_mpi_op_sum.op, world->comm, world->next.allreduce_module);
  if (OMPI_SUCCESS == rc && 0 == ompi_comm_rank(world->comm)) {
    print(&sum, job_id);
  }
}
