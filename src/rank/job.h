#pragma once
/* The aggregation tree from a binding's side: one job per process, and a group for each communicator that uses it. */

#include <stdbool.h>
#include <stdint.h>

#include "rank/communicator.h"
#include "rank/settings.h"
#include "sharp/api/sharp_coll.h"
#include "team/team.h"

SUMAC_C_BEGIN

struct sumac_job_spec {
  /** MPI_COMM_WORLD: `rank`, `size`, `bcast`, `gather`, `abort`, which may be NULL. It is copied; its context
   *  must live until sumac_job_end(), but no function is called once sumac_job_end() has begun. */
  struct sumac_communicator world;
  uint64_t id;                 /* rank 0's sumac_job_draw_id(), at all ranks; 0: the job can't begin */
  int local_rank;              /* rank among the job's processes on this host */
  bool threads;                /* several threads may call at the same time */
  const sumac_place_t* places; /* [world.size], of all ranks; not needed afterwards */
  const struct hcoll_settings* settings;
  const sumac_team_options_t* options;
  /** Drives the MPI while libsharp_coll waits, as `progress` of sumac_team_spec_t does while a team waits. */
  void (*progress)(void* context);
  void* progress_context;
  /** Called with true when a group begins to leave, and with false when none is leaving any more: in between the
   *  binding lets its MPI's progress call sumac_job_reap(). Calls never overlap, and one value may come several times.
   *  NULL: the binding needs no such notice. */
  void (*watch_leaves)(bool any);
  /** The other members can do without this process once it has left its groups: sumac_job_end() does not wait for theirs.
   *  False where the job or daemons end with it. */
  bool can_go;
  /** Called once if that wait takes seconds, to say for whom. NULL: nobody says it. */
  void (*waits_long)(void* context);
  /** Asked now and then during that wait; true ends it. NULL: nobody is asked. */
  bool (*gives_up)(void* context);
  void* waits_context;
};

/** Draws the number of a job at random, because MPI's own job numbers repeat from one launcher to the next. Returns 0 if the
 *  system has no random number. */
uint64_t sumac_job_draw_id(void);

/** Begins the job; collective over the world. The caller asks only if sumac_job_refusal() returns NULL. If the job is
 *  refused, this prints it, or ends the program as HCOLL_ENABLE_SHARP demands; all ranks decide alike.
 *  @return 0, also for a refused job; -1 without an id. */
int sumac_job_begin(const struct sumac_job_spec* spec);

/** Returns the reason why a communicator of so many hosts asks for no tree, whatever the job; NULL if it asks. The
 *  answer is the same at all ranks. */
const char* sumac_job_refusal(const struct hcoll_settings* settings, int hosts);

/** True once the job exists, at all ranks or at none. */
bool sumac_job_stands(void);

/** True if the job exists and a communicator of so many hosts asks for its tree. With HCOLL_SHARP_NP=1 one of a single
 *  host does too: its team then keeps its ranks apart, as `ranks_apart` of sumac_team_spec_t says. */
bool sumac_job_serves(const struct hcoll_settings* settings, int hosts);

/** Returns why sumac_job_begin() found the job refused, in the words of sharp_coll_strerror(). */
const char* sumac_job_why_refused(void);

/** Returns the job's context; NULL: there is no job. */
struct sharp_coll_context* sumac_job_context(void);

/** The job's number; 0: it was never begun. */
uint64_t sumac_job_id(void);

/** Whether this thread drives the MPI while it waits for the tree: true at first. */
void sumac_job_drives(bool drives);

/** Waits for all Leaves, but not for ever, and ends the job, if there is one. It calls no MPI function. Another one may
 *  begin afterwards. */
void sumac_job_end(void);

/** Makes a group; collective over `leaders`: `rank`, `size`, `bcast`, `gather`, which are not used
 *  afterwards. Returns libsharp_coll's status, negative: `*group_p` is NULL. */
int sumac_group_make(const struct sumac_communicator* leaders, struct sharp_coll_comm** group_p);

/** Computes for each kind the largest operation that may use the tree, from sumac_tree_limits() and the settings.
 *  [SUMAC_COLLS] */
void sumac_group_limits(const struct hcoll_settings* settings, struct sharp_coll_comm* group, int64_t* limits);

/** Takes over a group whose communicator is being freed: its Leave is posted now and waited for at the end of the
 *  job. Any thread may call it. */
void sumac_group_leave(struct sharp_coll_comm* group);

/** Frees the groups that have left and returns their number. Any thread may call it; it never waits. */
int sumac_job_reap(void);

SUMAC_C_END
