/* A blocking or persistent collective makes a communicator's team, once the communicator is worth one
 * (src/rank/worth.h). comm_query cannot, because MPI_Comm_idup asks for modules from inside progress, where nothing
 * may block. A nonblocking collective must not wait for other ranks: those of hosts make the team in steps (rank/making.h), and
 * the next module does all that come before, at every rank, since all ranks call the same collectives in the same order. Only
 * MPI_COMM_WORLD of a single host has its team from MPI_Init on. */
#include "hcoll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datatypes.h"
#include "job.h"
#include "ompi/errhandler/errcode.h"
#include "ompi/mca/coll/base/coll_tags.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/runtime/mpiruntime.h"
#include "rank/explain.h"
#include "requests.h"

/* Calls the module that was selected before us. The context is a record. */
static int oob_allgather(void* context, const void* in, void* out, size_t bytes) {
  hcoll_module_t* module = hcoll_module_of(context);
  int rc = module->next.allgather(in, (int)bytes, &ompi_mpi_byte.dt, out, (int)bytes, &ompi_mpi_byte.dt, module->comm,
                                  module->next.allgather_module);
  return OMPI_SUCCESS == rc ? 0 : -1;
}

void hcoll_explain_none(ompi_communicator_t* comm, const char* why) {
  sumac_explain_none(hcoll.process.options, comm->c_name, ompi_comm_size(comm), why);
}

/* A team notices that a rank has died, Open MPI does not. */
static int common_bits(struct sumac_record* record, uint32_t mine, uint32_t* all) {
  hcoll_module_t* module = hcoll_module_of(record);
  const struct sumac_pair* pair = hcoll_pair_of(&ompi_mpi_uint32_t.dt, &ompi_mpi_op_band.op);
  const sumac_call_t call = {
      .coll = SUMAC_COLL_ALLREDUCE, .in = &mine, .out = all, .bytes = sizeof(mine), .fold = &pair->fold};
  sumac_team_notes_left(record->ordinary.team, false);
  int status = sumac_team_run(record->ordinary.team, &call), rc = OMPI_SUCCESS;
  sumac_team_notes_left(record->ordinary.team, true);
  if (SUMAC_TEAM_PASS == status) {
    rc = module->next.allreduce(&mine, all, 1, &ompi_mpi_uint32_t.dt, &ompi_mpi_op_band.op, module->comm,
                                module->next.allreduce_module);
  } else if (SUMAC_TEAM_OK != status) {
    rc = sumac_lane_failed(&record->ordinary, SUMAC_COLL_ALLREDUCE, status);
  }
  record->uncounted[SUMAC_COLL_ALLREDUCE][SUMAC_TEAM_PASS == status ? SUMAC_WAY_PASS : SUMAC_WAY_HOST] += 1;
  return rc;
}

static bool add_error(const char* words, int* code) {
  *code = ompi_mpi_errcode_add(MPI_ERR_OTHER);
  (void)ompi_mpi_errnum_add_string(*code, words, MPI_MAX_ERROR_STRING);
  return true;
}

static void name_of(const struct sumac_record* record, char name[SUMAC_NAME_BYTES]) {
  snprintf(name, SUMAC_NAME_BYTES, "%s", hcoll_module_of(record)->comm->c_name);
}

/* The communicator may be freed meanwhile. */
static int iallgather(struct sumac_record* record, const void* in, void* out, size_t bytes, void* request) {
  hcoll_module_t* module = hcoll_module_of(record);
  if (NULL == module->next.iallgather) {
    return MPI_ERR_OTHER;
  }
  const int rc = module->next.iallgather(in, (int)bytes, &ompi_mpi_byte.dt, out, (int)bytes, &ompi_mpi_byte.dt,
                                         module->comm, request, module->next.iallgather_module);
  if (OMPI_SUCCESS == rc && !OMPI_COMM_IS_INTRINSIC(module->comm)) {
    OBJ_RETAIN(module->comm);
  }
  return rc;
}

static int gathered(void* of, bool drives, bool* done) {
  ompi_request_t** request = of;
  (void)drives;
  *done = REQUEST_COMPLETE(*request);
  return *done ? ompi_request_wait(request, MPI_STATUS_IGNORE) : OMPI_SUCCESS;
}

static void release_comm(struct sumac_record* record) {
  ompi_communicator_t* comm = hcoll_module_of(record)->comm;
  if (!OMPI_COMM_IS_INTRINSIC(comm)) {
    OBJ_RELEASE(comm); /* the last reference frees the module and the record */
  }
}

static int attach(struct sumac_record* record) { return hcoll_attach_first(hcoll_module_of(record)); }

/* between.c and job.c have the first two of the tags that Open MPI reserves for components of our name. */
#define TAG_NOTE (MCA_COLL_BASE_TAG_HCOLL_BASE - 2)

static bool send_note(struct sumac_record* record, int rank, const struct sumac_note* note) {
  ompi_request_t* request = NULL;
  return OMPI_SUCCESS == MCA_PML_CALL(isend(note, sizeof(*note), &ompi_mpi_byte.dt, rank, TAG_NOTE,
                                            MCA_PML_BASE_SEND_STANDARD, hcoll_module_of(record)->comm, &request)) &&
         OMPI_SUCCESS == ompi_request_free(&request);
}

static int receive_note(struct sumac_record* record, struct sumac_note* note) {
  ompi_communicator_t* comm = hcoll_module_of(record)->comm;
  ompi_status_public_t status;
  int is_there = 0;
  if (OMPI_SUCCESS != MCA_PML_CALL(iprobe(MPI_ANY_SOURCE, TAG_NOTE, comm, &is_there, &status)) || !is_there ||
      OMPI_SUCCESS != MCA_PML_CALL(recv(note, sizeof(*note), &ompi_mpi_byte.dt, status.MPI_SOURCE, TAG_NOTE, comm,
                                        MPI_STATUS_IGNORE))) {
    return -1;
  }
  return status.MPI_SOURCE;
}

void hcoll_attach_prepare(void) {
  hcoll_runtime = (struct sumac_runtime){.next = "next module",
                                         .settings = &hcoll.process.settings,
                                         .options = &hcoll.process.options,
                                         .add_error = add_error,
                                         .error_bytes_max = MPI_MAX_ERROR_STRING,
                                         .error_other = MPI_ERR_OTHER,
                                         .error_no_memory = OMPI_ERR_OUT_OF_RESOURCE,
                                         .name = name_of,
                                         .places = hcoll_presence_places,
                                         .oob = {NULL, oob_allgather},
                                         .common_bits = common_bits,
                                         .attach = attach,
                                         .iallgather = iallgather,
                                         .gathered = gathered,
                                         .release = release_comm,
                                         .in_place = MPI_IN_PLACE,
                                         .root = MPI_ROOT,
                                         .proc_null = MPI_PROC_NULL,
                                         .handle_bytes = sizeof(MPI_Datatype),
                                         .layout = hcoll_layout,
                                         .packing = {hcoll_pack, hcoll_unpack},
                                         .op_kind = hcoll_op_kind,
                                         .own_in_mpi = true,
                                         .reduce_local = hcoll_reduce_local,
                                         .moves_in_mpi = true,
                                         .request_new = hcoll_request_new,
                                         .request_begin = hcoll_request_begin,
                                         .request_drop = hcoll_request_drop,
                                         .hold_type = hcoll_hold_type,
                                         .release_type = hcoll_release_type,
                                         .hold_op = hcoll_hold_op,
                                         .release_op = hcoll_release_op,
                                         .between = &hcoll_between,
                                         .entered = hcoll_progress_entered,
                                         .moved = hcoll_progress_moved,
                                         .no_thread = hcoll_progress_no_thread,
                                         .drive = hcoll_drive_mpi,
                                         .watch_leaves = hcoll_watch_leaves,
                                         .send_note = send_note,
                                         .receive_note = receive_note};
}

int hcoll_attach_first(hcoll_module_t* module) {
  hcoll_runtime.threads = ompi_mpi_thread_multiple || hcoll.process.settings.progress_thread;
  hcoll_runtime.host_ranks = (int)ompi_process_info.num_local_peers + 1;
  hcoll_runtime.yields = hcoll_mpi_yields();
  hcoll_pairs_fill();
  return sumac_record_attach(&module->record);
}
