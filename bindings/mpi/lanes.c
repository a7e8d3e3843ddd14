/* Persistent collectives are matched by the order in which they were made, and each rank starts them in its own
 * order; between start and end a rank may run ordinary collectives that another rank runs before its start. A team
 * has only one order, so each persistent collective of a communicator has a team of its own as long as it lives: a
 * lane.
 *
 * A lane is only a segment of shared memory. Over several hosts it would also need a communicator of leaders or a
 * group of the tree of its own, and there are few of those: so there the next module does the persistent
 * collectives, and matches them correctly too.
 *
 * Making a persistent collective may wait for the other ranks. So they agree on a lane that no rank uses any more,
 * whose teams have all done the same number of operations. */
#include <stdatomic.h>
#include <stdlib.h>

#include "hcoll.h"

/* Returns the lowest lane that no rank uses, or -1. */
static int agree(hcoll_module_t* module, int* rc_p) {
  uint32_t mine = ~atomic_load(&module->lanes_taken) & ((UINT32_C(1) << HCOLL_LANES_MAX) - 1), all = 0;
  const struct hcoll_fold* fold = hcoll_fold_of(&ompi_mpi_uint32_t.dt, &ompi_mpi_op_band.op);
  const sumac_call_t call = {
      .coll = SUMAC_COLL_ALLREDUCE, .in = &mine, .out = &all, .bytes = sizeof(mine), .fold = &fold->fold};
  sumac_team_notes_left(module->ordinary.team, false);
  int status = sumac_team_run(module->ordinary.team, &call); /* a team notices that a rank has died */
  sumac_team_notes_left(module->ordinary.team, true);
  if (SUMAC_TEAM_PASS == status) {
    *rc_p = module->next.allreduce(&mine, &all, 1, &ompi_mpi_uint32_t.dt, &ompi_mpi_op_band.op, module->comm,
                                   module->next.allreduce_module);
  } else if (SUMAC_TEAM_OK != status) {
    *rc_p = hcoll_failed(&module->ordinary, SUMAC_COLL_ALLREDUCE, status);
  }
  module->uncounted[SUMAC_COLL_ALLREDUCE][SUMAC_TEAM_PASS == status ? SUMAC_WAY_PASS : SUMAC_WAY_HOST] += 1;
  return OMPI_SUCCESS == *rc_p && 0 != all ? __builtin_ctz(all) : -1;
}

/* Succeeds at all ranks or fails at all. */
static hcoll_lane_t* make(hcoll_module_t* module, int* rc_p) {
  hcoll_lane_t* lane = calloc(1, sizeof(*lane));
  if (NULL == lane) {
    *rc_p = OMPI_ERR_OUT_OF_RESOURCE;
    return NULL;
  }
  lane->module = module;
  char why[1024] = "";
  module->state = HCOLL_STARTING; /* the collectives that it calls pass through */
  int status = hcoll_team_make(lane, why, sizeof(why));
  module->state = HCOLL_TEAM;
  if (SUMAC_TEAM_OK == status) {
    return lane;
  }
  free(lane);
  module->lanes_end = true;
  if (SUMAC_TEAM_PASS != status) {
    SUMAC_SAY("no team for a persistent collective of communicator %s: %s", module->comm->c_name, why);
    *rc_p = hcoll_error_code(why);
  }
  return NULL;
}

hcoll_lane_t* hcoll_lane_take(hcoll_module_t* module, int* rc_p) {
  *rc_p = OMPI_SUCCESS;
  if (module->ordinary.is_wide || module->lanes_end) {
    return NULL;
  }
  int at = agree(module, rc_p);
  if (at < 0) {
    return NULL;
  }
  if (NULL == module->lanes[at]) {
    module->lanes[at] = make(module, rc_p);
  }
  if (NULL != module->lanes[at]) {
    atomic_fetch_or(&module->lanes_taken, UINT32_C(1) << at);
  }
  return module->lanes[at];
}

void hcoll_lane_give(hcoll_lane_t* lane) {
  hcoll_module_t* module = lane->module;
  for (int at = 0; at < HCOLL_LANES_MAX; ++at) {
    if (module->lanes[at] == lane) {
      atomic_fetch_and(&module->lanes_taken, ~(UINT32_C(1) << at));
    }
  }
}

void hcoll_lanes_end(hcoll_module_t* module) {
  for (int at = 0; at < HCOLL_LANES_MAX; ++at) {
    hcoll_lane_t* lane = module->lanes[at];
    if (NULL != lane) {
      hcoll_progress_forget(lane);
      sumac_team_destroy(lane->team);
      free(lane);
      module->lanes[at] = NULL;
    }
  }
}
