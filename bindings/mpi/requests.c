#include "requests.h"

#include <pthread.h>

OBJ_CLASS_INSTANCE(hcoll_request_t, ompi_coll_base_nbc_request_t, NULL, NULL);

/* Requests are reused: a program that posts has no allocation once it has as many requests as it needs at a time. */
static hcoll_request_t* unused;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static hcoll_request_t* take(void) {
  hcoll_lock(&lock);
  hcoll_request_t* request = unused;
  if (NULL != request) {
    unused = request->next_unused;
  }
  hcoll_unlock(&lock);
  return NULL != request ? request : OBJ_NEW(hcoll_request_t);
}

static void give(hcoll_request_t* request) {
  hcoll_lock(&lock);
  request->next_unused = unused;
  unused = request;
  hcoll_unlock(&lock);
}

void hcoll_requests_end(void) {
  while (NULL != unused) {
    hcoll_request_t* next = unused->next_unused;
    OBJ_RELEASE(unused);
    unused = next;
  }
}

void hcoll_request_drop(struct sumac_request* ours) {
  ompi_request_t* mpi = hcoll_request_of(ours);
  ompi_communicator_t* comm = mpi->req_mpi_object.comm;
  sumac_request_end(ours);
  OMPI_REQUEST_FINI(mpi);
  give((hcoll_request_t*)mpi);
  if (!OMPI_COMM_IS_INTRINSIC(comm)) {
    OBJ_RELEASE(comm); /* the last reference frees the module and its team */
  }
}

static int request_free(ompi_request_t** request_p) {
  if (!REQUEST_COMPLETE(*request_p)) {
    return OMPI_ERR_REQUEST; /* MPI forbids it for collectives */
  }
  hcoll_request_drop(&((hcoll_request_t*)*request_p)->ours);
  *request_p = MPI_REQUEST_NULL;
  return OMPI_SUCCESS;
}

static void set_active(ompi_request_t* mpi) {
  mpi->req_state = OMPI_REQUEST_ACTIVE;
  mpi->req_status = ompi_status_empty;
  mpi->req_complete = REQUEST_PENDING;
}

/* Implements MPI_Start. */
static int request_start(size_t count, ompi_request_t** requests) {
  for (size_t i = 0; i < count; ++i) {
    set_active(requests[i]);
    int rc = sumac_request_start(&((hcoll_request_t*)requests[i])->ours);
    if (MPI_SUCCESS != rc) {
      requests[i]->req_complete = REQUEST_COMPLETED;
      requests[i]->req_state = OMPI_REQUEST_INACTIVE;
      return rc;
    }
  }
  return OMPI_SUCCESS;
}

struct sumac_request* hcoll_request_new(struct sumac_record* record, bool is_persistent) {
  const hcoll_module_t* module = hcoll_module_of(record);
  hcoll_request_t* request = take();
  if (NULL == request) {
    return NULL;
  }
  ompi_request_t* mpi = &request->super.super;
  OMPI_REQUEST_INIT(mpi, is_persistent);
  mpi->req_type = OMPI_REQUEST_COLL;
  mpi->req_status = ompi_status_empty;
  mpi->req_free = request_free;
  mpi->req_cancel = NULL;
  mpi->req_start = is_persistent ? request_start : NULL;
  mpi->req_mpi_object.comm = module->comm;
  if (!OMPI_COMM_IS_INTRINSIC(module->comm)) {
    OBJ_RETAIN(module->comm);
  }
  sumac_request_begin(&request->ours, record, is_persistent);
  return &request->ours;
}

int hcoll_request_begin(struct sumac_request* ours) {
  hcoll_request_of(ours)->req_state = OMPI_REQUEST_ACTIVE;
  return MPI_SUCCESS;
}

void hcoll_request_finish(struct sumac_request* ours) {
  ompi_request_t* mpi = hcoll_request_of(ours);
  sumac_lane_t* lane = ours->lane;
  mpi->req_status.MPI_ERROR = sumac_request_result(ours);
  sumac_progress_leave_once(lane); /* before MPI knows, because a waiting program may free the communicator next */
  ompi_request_complete(mpi, true);
}
