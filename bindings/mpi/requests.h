/* The request that MPI_Iallreduce and its like return: a request of Open MPI's around a team's operation. Only MPI's
 * progress informs MPI of the end (progress.c), whichever thread moved the operation. */
#ifndef SUMAC_MPI_REQUESTS_H
#define SUMAC_MPI_REQUESTS_H

#include "ompi/mca/coll/base/coll_base_util.h"
#include "plan.h"

typedef struct hcoll_request {
  ompi_coll_base_nbc_request_t super; /* MPI's upper layer keeps operations and types in it */
  sumac_lane_t* lane;
  sumac_op_t* op;
  struct sumac_plan plan;
  ompi_datatype_t* types[3]; /* the types of packed sides and of a user's operation, held until the request ends */
  ompi_op_t* user_op;        /* held as long */
  void* memory;              /* plan.memory, which we free */
  int64_t* numbers;          /* our copy of the v-forms' counts and displacements */
  int status;                /* the team's status, once done */
  struct sumac_done done;
  struct hcoll_request* next_unused;
} hcoll_request_t;
OBJ_CLASS_DECLARATION(hcoll_request_t);

/** Makes a request for `plan`, not posted yet. It holds a reference to the communicator. */
hcoll_request_t* hcoll_request_make(sumac_lane_t* lane, const struct sumac_plan* plan, bool persistent);
/** Returns it to the list; it must not be posted. */
void hcoll_request_drop(hcoll_request_t* request);
/** MPI's progress calls it when the operation has ended. */
void hcoll_request_finish(hcoll_request_t* request);
/** Serves as the team's sumac_op_done_t. */
void hcoll_request_on_done(void* request, int status);
/** Frees the list of unused requests. */
void hcoll_requests_end(void);

#endif
