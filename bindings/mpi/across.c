/* Operations between hosts: the aggregation tree (src/client) for operations that it can and may do, MPI's own
 * nonblocking collectives among the leaders for the rest. All ranks agreed on the limits when this was opened, so
 * each collective takes the same path at every rank. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/tree/tree.h"
#include "job.h"
#include "ompi/mca/coll/base/coll_tags.h"
#include "ompi/mca/pml/pml.h"
#include "sharp/api/sumac_ext.h"

struct across {
  hcoll_module_t* module;
  ompi_communicator_t* leaders_comm; /* at leaders; NULL if every rank is one */
  struct sharp_coll_comm* group;     /* at leaders, if there is a group */
  sumac_tree_t* tree;                /* NULL unless every leader is in the group */
  const char* no_tree;               /* the reason if there is no tree */
  bool all_lead;                     /* then MPI's own collectives are better than ours around them */
  char error[512];
};

struct across_request {
  ompi_request_t* next;
  ompi_datatype_t* units[2]; /* made for this request, or NULL */
  int count;                 /* the number of messages from rank to rank; if not 0 they are used instead of `next` */
  ompi_request_t* messages[];
};

/* Blocks that go from rank to rank use the program's communicator. Open MPI reserves this range of tags for
 * components of our name. */
#define TAG_DIRECT MCA_COLL_BASE_TAG_HCOLL_BASE

/* Only sizes that an int can count, because MPI's counts are ints. */
static int takes(void* context, int coll, size_t bytes, const sumac_fold_t* fold) {
  const struct across* across = context;
  (void)coll, (void)fold;
  return !across->all_lead && bytes <= INT_MAX;
}

/* Returns the type of one unit of the v-forms. */
static ompi_datatype_t* unit_type(struct across_request* request, int which, size_t unit) {
  switch (unit) {
    case 1: return &ompi_mpi_byte.dt;
    case 2: return &ompi_mpi_int16_t.dt;
    case 4: return &ompi_mpi_int32_t.dt;
    case 8: return &ompi_mpi_int64_t.dt;
    default: break;
  }
  ompi_datatype_t* made = NULL;
  if (OMPI_SUCCESS != ompi_datatype_create_contiguous((int)unit, &ompi_mpi_byte.dt, &made) ||
      OMPI_SUCCESS != ompi_datatype_commit(&made)) {
    return NULL;
  }
  request->units[which] = made;
  return made;
}

/* Every leader must pass the same arguments to Open MPI, even where only one of them knows a fact. MPI takes
 * MPI_IN_PLACE from all ranks of an allreduce or from none, and Open MPI's choice of an algorithm depends on it. A
 * leader with other ranks on its island has the island's sum in the result already, so a leader that is alone on its
 * host first copies its own vector there. In a reduce only the root may pass MPI_IN_PLACE. Blocks are counted in
 * bytes, because ranks may use different types for the same data. */
static int start_next(struct across* across, const sumac_call_t* call, struct across_request* request) {
  ompi_communicator_t* comm = across->leaders_comm;
  mca_coll_base_comm_coll_t* coll = comm->c_coll;
  const struct hcoll_fold* pair = (const struct hcoll_fold*)call->fold; /* `fold` is its first member */
  const bool in_place = NULL == call->in || call->in == call->out;
  ompi_datatype_t* byte = &ompi_mpi_byte.dt;
  int count = NULL == call->fold ? 0 : (int)(call->bytes / call->fold->element_bytes);
  ompi_request_t** out = &request->next;
  switch (call->coll) {
    case SUMAC_COLL_BARRIER: return coll->coll_ibarrier(comm, out, coll->coll_ibarrier_module);
    case SUMAC_COLL_ALLREDUCE:
      if (!in_place) {
        memcpy(call->out, call->in, call->bytes);
      }
      return coll->coll_iallreduce(MPI_IN_PLACE, call->out, count, pair->type, pair->op, comm, out,
                                   coll->coll_iallreduce_module);
    case SUMAC_COLL_REDUCE:
      return coll->coll_ireduce(in_place ? MPI_IN_PLACE : call->in, call->out, count, pair->type, pair->op, call->root,
                                comm, out, coll->coll_ireduce_module);
    case SUMAC_COLL_BCAST:
      return coll->coll_ibcast(call->out, (int)call->bytes, byte, call->root, comm, out, coll->coll_ibcast_module);
    case SUMAC_COLL_ALLGATHERV:
      return coll->coll_iallgatherv(MPI_IN_PLACE, 0, byte, call->out, call->out_blocks.counts,
                                    call->out_blocks.displacements, byte, comm, out, coll->coll_iallgatherv_module);
    case SUMAC_COLL_ALLTOALLV: {
      const sumac_blocks_t *from = &call->in_blocks, *to = &call->out_blocks;
      return coll->coll_ialltoallv(call->in, from->counts, from->displacements, byte, call->out, to->counts,
                                   to->displacements, byte, comm, out, coll->coll_ialltoallv_module);
    }
    default: return OMPI_ERR_NOT_SUPPORTED;
  }
}

static void drop(struct across_request* request) {
  for (int i = 0; i < 2; ++i) {
    if (NULL != request->units[i]) {
      OMPI_DATATYPE_RELEASE(request->units[i]);
    }
  }
  free(request);
}

static int start(void* context, const sumac_call_t* call, void** request_p) {
  struct across* across = context;
  struct across_request* request = calloc(1, sizeof(*request));
  if (NULL == request) {
    snprintf(across->error, sizeof(across->error), "out of memory");
    return SUMAC_TEAM_NO_MEMORY;
  }
  int rc = start_next(across, call, request);
  if (OMPI_SUCCESS != rc) {
    snprintf(across->error, sizeof(across->error), "Open MPI's %s among the leaders refused: error %d",
             sumac_coll_name(call->coll), rc);
    drop(request);
    return SUMAC_TEAM_BROKEN;
  }
  *request_p = request;
  return 0;
}

/* Starts all messages at once; each rank begins with another peer. */
static int start_messages(struct across* across, const sumac_call_t* call, struct across_request* request) {
  hcoll_module_t* module = across->module;
  const sumac_blocks_t *from = &call->in_blocks, *to = &call->out_blocks;
  ompi_datatype_t* in_unit = unit_type(request, 0, from->unit);
  ompi_datatype_t* out_unit = unit_type(request, 1, to->unit);
  if (NULL == in_unit || NULL == out_unit) {
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  for (int i = 1; i < module->size; ++i) {
    int peer = (module->rank - i + module->size) % module->size;
    if (0 == to->counts[peer]) {
      continue;
    }
    char* at = (char*)call->out + (ptrdiff_t)to->displacements[peer] * (ptrdiff_t)to->unit;
    int rc = MCA_PML_CALL(
        irecv(at, to->counts[peer], out_unit, peer, TAG_DIRECT, module->comm, &request->messages[request->count]));
    if (OMPI_SUCCESS != rc) {
      return rc;
    }
    ++request->count;
  }
  for (int i = 1; i < module->size; ++i) {
    int peer = (module->rank + i) % module->size;
    if (0 == from->counts[peer]) {
      continue;
    }
    const char* at = (const char*)call->in + (ptrdiff_t)from->displacements[peer] * (ptrdiff_t)from->unit;
    int rc = MCA_PML_CALL(isend(at, from->counts[peer], in_unit, peer, TAG_DIRECT, MCA_PML_BASE_SEND_STANDARD,
                                module->comm, &request->messages[request->count]));
    if (OMPI_SUCCESS != rc) {
      return rc;
    }
    ++request->count;
  }
  return OMPI_SUCCESS;
}

static int start_direct(void* context, const sumac_call_t* call, void** request_p) {
  struct across* across = context;
  size_t most = 2 * (size_t)across->module->size;
  struct across_request* request = calloc(1, sizeof(*request) + most * sizeof(request->messages[0]));
  if (NULL == request) {
    snprintf(across->error, sizeof(across->error), "out of memory");
    return SUMAC_TEAM_NO_MEMORY;
  }
  int rc = start_messages(across, call, request);
  if (OMPI_SUCCESS != rc) {
    snprintf(across->error, sizeof(across->error), "Open MPI's messages from rank to rank refused: error %d", rc);
    /* The messages already started still use the request, so it is never freed; the team has ended. */
    return SUMAC_TEAM_BROKEN;
  }
  *request_p = request;
  return 0;
}

static int test_messages(struct across* across, struct across_request* request) {
  int complete = 0;
  int rc = ompi_request_test_all((size_t)request->count, request->messages, &complete, MPI_STATUSES_IGNORE);
  if (OMPI_SUCCESS != rc) {
    snprintf(across->error, sizeof(across->error), "Open MPI's messages from rank to rank failed: error %d", rc);
    return SUMAC_TEAM_BROKEN;
  }
  return complete ? SUMAC_TEAM_OK : SUMAC_TEAM_PENDING;
}

static int test_next(struct across* across, struct across_request* request) {
  int complete = 0;
  int rc = ompi_request_test(&request->next, &complete, MPI_STATUS_IGNORE);
  if (OMPI_SUCCESS != rc) {
    snprintf(across->error, sizeof(across->error), "Open MPI's collective among the leaders failed: error %d", rc);
    return SUMAC_TEAM_BROKEN;
  }
  return complete ? SUMAC_TEAM_OK : SUMAC_TEAM_PENDING;
}

static int test(void* context, void* handle) {
  struct across_request* request = handle;
  int status = request->count > 0 ? test_messages(context, request) : test_next(context, request);
  if (SUMAC_TEAM_PENDING != status) {
    drop(request);
  }
  return status;
}

static const char* error(void* context) { return ((struct across*)context)->error; }

static void close_across(void* context) {
  struct across* across = context;
  sumac_tree_close(across->tree);
  if (NULL != across->group) {
    hcoll_group_leave(across->group);
  }
  if (NULL != across->leaders_comm) {
    ompi_comm_free(&across->leaders_comm);
  }
  free(across);
}

/* Our own communicator lives until its owner's team goes. MPI_Finalize frees the remaining communicators in the
 * order of context ids, and this one may come first: it was made later, but takes any free lower id. So we hold a
 * reference ourselves, marked as Open MPI marks the communicators that others of its own depend on; ompi_comm_free()
 * releases both references. */
static void keep_for_us(ompi_communicator_t* comm) {
  OMPI_COMM_SET_EXTRA_RETAIN(comm);
  OBJ_RETAIN(comm);
  hcoll_leave_alone(comm);
}

/* A program may have thousands of communicators, and the tree only has groups for the first ones. So this is printed
 * for the first one without a group, and the last line of the job has their number. */
static void say_no_group(hcoll_module_t* module, int status) {
  char line[160];
  snprintf(line, sizeof(line), "SHArP: sharp group create failed:%s(%d)", sharp_coll_strerror(status), status);
  module->no_group = true;
  hcoll_say_once(line, 0 == module->rank);
  if (mca_coll_hcoll_component.settings.level >= HCOLL_FORCE_COMM) {
    hcoll_abort(module->comm);
  }
  hcoll_say_once("SHArP: continuing without sharp on this communicator..", 0 == module->rank);
}

static int group_of_leaders(struct across* across) {
  const struct hcoll_next* next = &across->module->next;
  struct hcoll_group_oob oob = {across->module->comm, next->bcast_module, next->barrier_module, next->gather_module,
                                next->bcast,          next->barrier,      next->gather};
  if (NULL != across->leaders_comm) {
    const mca_coll_base_comm_coll_t* coll = across->leaders_comm->c_coll;
    oob = (struct hcoll_group_oob){across->leaders_comm,     coll->coll_bcast_module, coll->coll_barrier_module,
                                   coll->coll_gather_module, coll->coll_bcast,        coll->coll_barrier,
                                   coll->coll_gather};
  }
  int status = hcoll_group_make(&oob, &across->group);
  if (status < 0) {
    across->group = NULL;
  }
  return status < 0 ? status : 0;
}

/* With SUMAC_EXPLAIN=1: prints the numbers that limit the size of an operation on the tree. */
static void say_what_pays(const struct across* across, const int64_t* limits) {
  const hcoll_module_t* module = across->module;
  if (0 != module->rank || NULL == across->group || !sumac_team_options_explain(mca_coll_hcoll_component.options)) {
    return;
  }
  char text[256] = "", kinds[512] = "";
  size_t used = 0;
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) {
    if (SUMAC_COLL_BARRIER == coll || SUMAC_COLL_ALLGATHERV == coll || limits[coll] < 0 || used >= sizeof(kinds)) {
      continue;
    }
    const char* separator = 0 == used ? "" : ", ";
    int wanted = INT64_MAX == limits[coll] ? snprintf(kinds + used, sizeof(kinds) - used, "%s%s of any size", separator,
                                                      sumac_coll_name(coll))
                                           : snprintf(kinds + used, sizeof(kinds) - used, "%s%s up to %lld bytes",
                                                      separator, sumac_coll_name(coll), (long long)limits[coll]);
    used += wanted > 0 ? (size_t)wanted : 0;
  }
  (void)sumac_comm_explain(across->group, text, sizeof(text));
  HCOLL_SAY("SHArP: communicator %s: for the tree: %s (allreduce: %s)", module->comm->c_name, kinds, text);
}

/* The leaders join the tree's group; every rank must know whether they could, and the limits. */
static int open_tree(struct across* across, bool leads) {
  hcoll_module_t* module = across->module;
  /* Status and limits travel together; the minimum of each holds for all ranks. */
  enum { AGREED = 1 + SUMAC_COLLS };
  int64_t mine[AGREED] = {0}, agreed[AGREED];
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) {
    mine[1 + coll] = INT64_MAX;
  }
  if (leads) {
    mine[0] = group_of_leaders(across);
    if (0 == mine[0]) {
      hcoll_group_limits(across->group, mine + 1);
    }
  }
  int rc = module->next.allreduce(mine, agreed, AGREED, &ompi_mpi_int64_t.dt, &ompi_mpi_op_min.op, module->comm,
                                  module->next.allreduce_module);
  if (OMPI_SUCCESS != rc) {
    return rc;
  }
  if (agreed[0] >= 0) {
    across->tree = sumac_tree_open(across->group, agreed + 1, SUMAC_COLLS);
    if (NULL == across->tree) {
      return OMPI_ERR_OUT_OF_RESOURCE;
    }
    say_what_pays(across, agreed + 1);
    return OMPI_SUCCESS;
  }
  if (NULL != across->group) {
    hcoll_group_leave(across->group);
    across->group = NULL;
  }
  across->no_tree = "it has no group for this communicator";
  say_no_group(module, (int)agreed[0]);
  return OMPI_SUCCESS;
}

/* Returns the reason why a communicator asks for no tree; NULL if it asks. */
static const char* why_no_tree(const hcoll_module_t* module) {
  if (!hcoll_tree_wanted()) {
    return "HCOLL_ENABLE_SHARP=0";
  }
  if (module->hosts < mca_coll_hcoll_component.settings.hosts_min) {
    return "fewer hosts than HCOLL_SHARP_NP asks for";
  }
  return hcoll_job_stands() ? NULL : "the job has none";
}

int hcoll_across_open(void* context, const int* leaders, int leader_count, int my_index, sumac_across_t* out) {
  hcoll_lane_t* lane = context;
  hcoll_module_t* module = lane->module;
  lane->is_wide = true;
  struct across* across = calloc(1, sizeof(*across));
  if (NULL == across) {
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  across->module = module;
  across->all_lead = leader_count == module->size;
  across->no_tree = why_no_tree(module);
  bool leads = my_index >= 0;
  int rc = OMPI_SUCCESS;
  if (!across->all_lead) {
    rc = hcoll_leaders_make(module, leaders, leader_count, leads, &across->leaders_comm);
    if (NULL != across->leaders_comm) {
      keep_for_us(across->leaders_comm);
    }
  }
  if (OMPI_SUCCESS == rc && NULL == across->no_tree) {
    rc = open_tree(across, leads);
  }
  if (OMPI_SUCCESS != rc) {
    close_across(across);
    return rc;
  }
  *out = (sumac_across_t){.context = across,
                          .tree = across->tree,
                          .no_tree = across->no_tree,
                          .takes = takes,
                          .start = start,
                          .start_direct = start_direct,
                          .test = test,
                          .error = error,
                          .close = close_across};
  return 0;
}
