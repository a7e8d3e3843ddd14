/* The component's part of the line at MPI_Finalize: the modules whose calls are counted, and the sum over all ranks. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hcoll.h"
#include "rank/explain.h"

/* The modules of living communicators, and below the sum of those that are gone. */
static struct enlisted {
  hcoll_module_t* module;
  struct enlisted* next;
} * living;
static struct sumac_tally total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add_module(struct sumac_tally* sum, const hcoll_module_t* module) {
  if (module->internal || module->watches_only) {
    return;
  }
  sumac_tally_add_team(sum, module->ordinary.team, module->rank);
  for (int at = 0; at < HCOLL_LANES_MAX; ++at) {
    if (NULL != module->lanes[at]) {
      sumac_tally_add_team(sum, module->lanes[at]->team, module->rank);
    }
  }
  if (0 != module->rank) {
    return;
  }
  sum->no_group += module->no_group;
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) {
    for (int way = 0; way < SUMAC_WAYS; ++way) {
      sum->teams.calls[coll][way] -= module->uncounted[coll][way];
    }
  }
  sumac_tally_add_passed(sum, module->passed);
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

void hcoll_tally_print(hcoll_module_t* world, uint64_t job_id) {
  pthread_mutex_lock(&lock);
  struct sumac_tally mine = total, sum;
  for (const struct enlisted* entry = living; NULL != entry; entry = entry->next) {
    add_module(&mine, entry->module);
  }
  pthread_mutex_unlock(&lock);
  sumac_explain_end(mca_coll_hcoll_component.options, "next module");
  memset(&sum, 0, sizeof(sum));
  int rc = world->next.allreduce(&mine, &sum, SUMAC_TALLY_NUMBERS, &ompi_mpi_uint64_t.dt, &ompi_mpi_op_sum.op,
                                 world->comm, world->next.allreduce_module);
  if (OMPI_SUCCESS == rc && 0 == ompi_comm_rank(world->comm)) {
    sumac_tally_print(&sum, job_id, hcoll_tree_wanted(), "next module");
  }
}
