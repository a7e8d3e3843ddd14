#include "requests.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void construct(hcoll_request_t* request) {
  request->lane = NULL;
  request->op = NULL;
  request->types[0] = request->types[1] = request->types[2] = NULL;
  request->user_op = NULL;
  request->memory = NULL;
  request->numbers = NULL;
  request->next_unused = NULL;
}

OBJ_CLASS_INSTANCE(hcoll_request_t, ompi_coll_base_nbc_request_t, construct, NULL);

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

static void hold(hcoll_request_t* request, int at, uintptr_t handle) {
  ompi_datatype_t* type = (ompi_datatype_t*)handle;
  OMPI_DATATYPE_RETAIN(type);
  request->types[at] = type;
}

void hcoll_request_drop(hcoll_request_t* request) {
  ompi_communicator_t* comm = request->super.super.req_mpi_object.comm;
  if (NULL != request->op) {
    sumac_op_free(request->op);
    request->op = NULL;
  }
  for (int i = 0; i < 3; ++i) {
    if (NULL != request->types[i]) {
      OMPI_DATATYPE_RELEASE_NO_NULLIFY(request->types[i]);
      request->types[i] = NULL;
    }
  }
  if (NULL != request->user_op) {
    OBJ_RELEASE(request->user_op);
    request->user_op = NULL;
  }
  free(request->memory);
  request->memory = NULL;
  free(request->numbers);
  request->numbers = NULL;
  if (request->super.super.req_persistent) {
    sumac_lane_give(request->lane);
  }
  OMPI_REQUEST_FINI(&request->super.super);
  give(request);
  if (!OMPI_COMM_IS_INTRINSIC(comm)) {
    OBJ_RELEASE(comm); /* the last reference frees the module and its team */
  }
}

static int request_free(ompi_request_t** request_p) {
  hcoll_request_t* request = (hcoll_request_t*)*request_p;
  if (!REQUEST_COMPLETE(*request_p)) {
    return OMPI_ERR_REQUEST; /* MPI forbids it for collectives */
  }
  hcoll_request_drop(request);
  *request_p = MPI_REQUEST_NULL;
  return OMPI_SUCCESS;
}

/* Implements MPI_Start for requests that forms.c has made. */
static int request_start(size_t count, ompi_request_t** requests) {
  for (size_t i = 0; i < count; ++i) {
    hcoll_request_t* request = (hcoll_request_t*)requests[i];
    ompi_request_t* mpi = requests[i];
    int rc = sumac_plan_pack(&request->plan, &hcoll_runtime.packing);
    if (MPI_SUCCESS != rc) {
      return rc;
    }
    mpi->req_state = OMPI_REQUEST_ACTIVE;
    mpi->req_status = ompi_status_empty;
    mpi->req_complete = REQUEST_PENDING;
    sumac_progress_enter(request->lane);
    int status = sumac_op_start(request->op);
    if (SUMAC_TEAM_OK != status) {
      hcoll_request_on_done(request, status);
    }
    sumac_progress_kick();
  }
  return OMPI_SUCCESS;
}

static bool keep_numbers(hcoll_request_t* request, int blocks) {
  if (!sumac_plan_has_numbers(&request->plan)) {
    return true;
  }
  request->numbers = malloc(sizeof(int64_t) * SUMAC_PLAN_NUMBERS(blocks));
  if (NULL == request->numbers) {
    return false;
  }
  sumac_plan_keep_numbers(&request->plan, blocks, request->numbers);
  return true;
}

hcoll_request_t* hcoll_request_make(sumac_lane_t* lane, const struct sumac_plan* plan, bool persistent) {
  const hcoll_module_t* module = hcoll_module_of(lane->record);
  hcoll_request_t* request = take();
  if (NULL == request) {
    return NULL;
  }
  ompi_request_t* mpi = &request->super.super;
  OMPI_REQUEST_INIT(mpi, persistent);
  mpi->req_type = OMPI_REQUEST_COLL;
  mpi->req_status = ompi_status_empty;
  mpi->req_free = request_free;
  mpi->req_cancel = NULL;
  mpi->req_start = persistent ? request_start : NULL;
  mpi->req_mpi_object.comm = module->comm;
  if (!OMPI_COMM_IS_INTRINSIC(module->comm)) {
    OBJ_RETAIN(module->comm);
  }
  request->lane = lane;
  hcoll_plan_copy(&request->plan, plan);
  request->status = SUMAC_TEAM_OK;
  if (plan->send.is_packed) {
    hold(request, 0, plan->send.layout.type);
  }
  if (plan->receive.is_packed) {
    hold(request, 1, plan->receive.layout.type);
  }
  if (sumac_plan_is_own(plan)) {
    hold(request, 2, plan->own.type);
    request->user_op = (ompi_op_t*)plan->own.op;
    OBJ_RETAIN(request->user_op);
  }
  if (!keep_numbers(request, module->record.size)) {
    hcoll_request_drop(request);
    return NULL;
  }
  if (0 != plan->memory_bytes) {
    request->memory = aligned_alloc(64, plan->memory_bytes);
    if (NULL == request->memory) {
      hcoll_request_drop(request);
      return NULL;
    }
    sumac_plan_use(&request->plan, request->memory);
  }
  return request;
}

void hcoll_request_on_done(void* user, int status) {
  hcoll_request_t* request = user;
  request->status = status;
  sumac_progress_done(&request->done);
}

void hcoll_request_finish(hcoll_request_t* request) {
  ompi_request_t* mpi = &request->super.super;
  sumac_lane_t* lane = request->lane;
  mpi->req_status.MPI_ERROR = SUMAC_TEAM_OK == request->status
                                  ? sumac_plan_unpack(&request->plan, &hcoll_runtime.packing)
                                  : sumac_lane_failed(lane, request->plan.call.coll, request->status);
  sumac_progress_leave_once(lane); /* before MPI knows, because a waiting program may free the communicator next */
  ompi_request_complete(mpi, true);
}
