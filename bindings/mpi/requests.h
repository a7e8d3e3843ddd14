/* What MPI_Iallreduce and its like hand out: a request of Open MPI's around a team's operation. MPI itself is told of the end by MPI's
 * progress alone (progress.c), whoever moved the operation. */
#ifndef SUMAC_MPI_REQUESTS_H
#define SUMAC_MPI_REQUESTS_H

#include "ompi/mca/coll/base/coll_base_util.h"
#include "plan.h"

typedef struct hcoll_request {
  ompi_coll_base_nbc_request_t super; /* MPI's layer above keeps operations and types in it */
  hcoll_lane_t* lane;
  sumac_op_t* op;
  struct hcoll_plan plan;
  ompi_datatype_t* types[2]; /* of the sides that are packed, held until nobody packs any more */
  void* memory;              /* plan.memory, ours to free */
  int* arrays;               /* our copy of the v-forms' counts and displacements */
  int status;                /* the team's, once done */
  struct hcoll_request* next_done;
} hcoll_request_t;
OBJ_CLASS_DECLARATION(hcoll_request_t);

/** A request for what `plan` says, not posted yet. It holds the communicator. */
hcoll_request_t* hcoll_request_make(hcoll_lane_t* lane, const struct hcoll_plan* plan, bool persistent);
/** Gives it back; never one that is posted. */
void hcoll_request_drop(hcoll_request_t* request);
/** Called by MPI's progress when the operation is over. */
void hcoll_request_finish(hcoll_request_t* request);
/** The team's sumac_op_done_t. */
void hcoll_request_on_done(void* request, int status);
/** Frees the list of unused ones. */
void hcoll_requests_end(void);

#endif
