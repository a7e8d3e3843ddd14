#include "ucc_rank.h"

#include <sched.h>
#include <ucc/api/ucc.h>

static int (*gather)(const void* in, void* out, size_t bytes);
static ucc_lib_h library;
static ucc_context_h context;
static ucc_team_h team;
static ucc_coll_req_h request;

static ucc_status_t gather_begin(void* in, void* out, size_t bytes, void* unused, void** done) {
  *done = unused;
  return gather(in, out, bytes) == 0 ? UCC_OK : UCC_ERR_NO_MESSAGE;
}
static ucc_status_t gather_ok(void* unused) {
  (void)unused;
  return UCC_OK;
}

static ucc_status_t make_team(void) {
  ucc_team_params_t params = {.mask = 0};
  ucc_status_t status = ucc_team_create_post(&context, 1, &params, &team);
  if (status != UCC_OK) return status;
  while ((status = ucc_team_create_test(team)) == UCC_INPROGRESS) ucc_context_progress(context);
  return status;
}

int ucc_rank_open(const char* prefix, int rank, int size, int (*allgather)(const void* in, void* out, size_t bytes)) {
  gather = allgather;
  ucc_lib_params_t lib_params = {.mask = UCC_LIB_PARAM_FIELD_THREAD_MODE, .thread_mode = UCC_THREAD_SINGLE};
  ucc_lib_config_h config = NULL;
  ucc_status_t status = ucc_lib_config_read(prefix, NULL, &config);
  if (status != UCC_OK) return status;
  status = ucc_init(&lib_params, config, &library);
  ucc_lib_config_release(config);
  if (status != UCC_OK) return status;
  ucc_context_params_t params = {.mask = UCC_CONTEXT_PARAM_FIELD_OOB,
                                 .oob = {gather_begin, gather_ok, gather_ok, NULL, (uint32_t)size, (uint32_t)rank}};
  status = ucc_context_create(library, &params, NULL, &context);
  if (status != UCC_OK) {
    ucc_finalize(library);
    return status;
  }
  return make_team();
}

int ucc_rank_post(const int64_t* in, int64_t* out, size_t count) {
  ucc_coll_args_t sum = {.mask = 0, .coll_type = UCC_COLL_TYPE_ALLREDUCE, .op = UCC_OP_SUM};
  sum.src.info = (ucc_coll_buffer_info_t){(void*)(uintptr_t)in, count, UCC_DT_INT64, UCC_MEMORY_TYPE_HOST};
  sum.dst.info = (ucc_coll_buffer_info_t){out, count, UCC_DT_INT64, UCC_MEMORY_TYPE_HOST};
  const ucc_status_t status = ucc_collective_init(&sum, &request, team);
  return status != UCC_OK ? status : ucc_collective_post(request);
}

int ucc_rank_wait(void) {
  ucc_status_t status = UCC_INPROGRESS;
  while ((status = ucc_collective_test(request)) == UCC_INPROGRESS) {
    ucc_context_progress(context);
    sched_yield();
  }
  const ucc_status_t ended = ucc_collective_finalize(request);
  return status != UCC_OK ? status : ended;
}

int ucc_rank_close(void) {
  ucc_status_t status = UCC_INPROGRESS;
  while ((status = ucc_team_destroy(team)) == UCC_INPROGRESS) ucc_context_progress(context);
  if (status == UCC_OK) status = ucc_context_destroy(context);
  return status != UCC_OK ? status : ucc_finalize(library);
}
