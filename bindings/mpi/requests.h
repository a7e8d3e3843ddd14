#pragma once
/* The request that MPI_Iallreduce and its like return: a request of Open MPI's around a team's operation. Only MPI's
 * progress informs MPI of the end (progress.c), whichever thread moved the operation. */

#include "hcoll.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "rank/requests.h"

typedef struct hcoll_request {
  ompi_coll_base_nbc_request_t super; /* MPI's upper layer keeps operations and types in it */
  struct sumac_request ours;
  struct hcoll_request* next_unused;
} hcoll_request_t;
OBJ_CLASS_DECLARATION(hcoll_request_t);

static inline ompi_request_t* hcoll_request_of(struct sumac_request* ours) {
  return &((hcoll_request_t*)((char*)ours - offsetof(hcoll_request_t, ours)))->super.super;
}

/** These serve as the functions of hcoll_runtime. A request holds a reference to the communicator. */
struct sumac_request* hcoll_request_new(struct sumac_record* record, bool is_persistent);
int hcoll_request_begin(struct sumac_request* ours);
void hcoll_request_drop(struct sumac_request* ours);
/** MPI's progress calls it when the operation has ended. */
void hcoll_request_finish(struct sumac_request* ours);
/** Frees the list of unused requests. */
void hcoll_requests_end(void);
