/* Operations between hosts: the aggregation tree (src/client) for operations that it can and may do, MPI's own
 * nonblocking collectives among the leaders for the rest. All ranks agreed on the limits when this was opened, so
 * each collective takes the same path at every rank. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "ompi/mca/coll/base/coll_tags.h"
#include "ompi/mca/pml/pml.h"
#include "rank/join.h"

struct across {
  hcoll_module_t* module;
  ompi_communicator_t* leaders_comm; /* at leaders; NULL if every rank is one and nothing goes this way */
  struct sumac_joined joined;        /* the tree's part */
  bool all_lead;                     /* then MPI's own collectives are better than ours around them, */
  bool carries_values;               /* but for those by which values travel that ranks add in one order */
  bool leads;
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
  (void)fold;
  const bool moves_values = SUMAC_COLL_ALLGATHERV == coll || SUMAC_COLL_ALLTOALLV == coll;
  return (!across->all_lead || (across->carries_values && moves_values)) && bytes <= INT_MAX;
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

/* Returns the address that Open MPI's functions are given for elements of a user's type. */
static char* elements_at(const void* data, const struct sumac_pair* pair) { return (char*)data - pair->true_lb; }

/* Every leader must pass the same arguments to Open MPI, even where only one of them knows a fact. MPI takes
 * MPI_IN_PLACE from all ranks of an allreduce or from none, and Open MPI's choice of an algorithm depends on it. A
 * leader with other ranks on its island has the island's sum in the result already, so a leader that is alone on its
 * host first copies its own vector there. In a reduce only the root may pass MPI_IN_PLACE. Blocks are counted in
 * bytes, because ranks may use different types for the same data. */
static int start_next(struct across* across, const sumac_call_t* call, struct across_request* request) {
  ompi_communicator_t* comm = across->leaders_comm;
  mca_coll_base_comm_coll_t* coll = comm->c_coll;
  const struct sumac_pair* pair = (const struct sumac_pair*)call->fold; /* `fold` is its first member */
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
      return coll->coll_iallreduce(MPI_IN_PLACE, elements_at(call->out, pair), count, (ompi_datatype_t*)pair->type,
                                   (ompi_op_t*)pair->op, comm, out, coll->coll_iallreduce_module);
    case SUMAC_COLL_REDUCE:
      return coll->coll_ireduce(in_place ? MPI_IN_PLACE : elements_at(call->in, pair),
                                NULL == call->out ? NULL : elements_at(call->out, pair), count,
                                (ompi_datatype_t*)pair->type, (ompi_op_t*)pair->op, call->root, comm, out,
                                coll->coll_ireduce_module);
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
  for (int i = 1; i < module->record.size; ++i) {
    int peer = (module->record.rank - i + module->record.size) % module->record.size;
    size_t count = (size_t)sumac_block_count(to, peer);
    if (0 == count) {
      continue;
    }
    char* at = (char*)call->out + sumac_block_displacement(to, peer) * (ptrdiff_t)to->unit;
    int rc =
        MCA_PML_CALL(irecv(at, count, out_unit, peer, TAG_DIRECT, module->comm, &request->messages[request->count]));
    if (OMPI_SUCCESS != rc) {
      return rc;
    }
    ++request->count;
  }
  for (int i = 1; i < module->record.size; ++i) {
    int peer = (module->record.rank + i) % module->record.size;
    size_t count = (size_t)sumac_block_count(from, peer);
    if (0 == count) {
      continue;
    }
    const char* at = (const char*)call->in + sumac_block_displacement(from, peer) * (ptrdiff_t)from->unit;
    int rc = MCA_PML_CALL(isend(at, count, in_unit, peer, TAG_DIRECT, MCA_PML_BASE_SEND_STANDARD, module->comm,
                                &request->messages[request->count]));
    if (OMPI_SUCCESS != rc) {
      return rc;
    }
    ++request->count;
  }
  return OMPI_SUCCESS;
}

static int start_direct(void* context, const sumac_call_t* call, void** request_p) {
  struct across* across = context;
  size_t most = 2 * (size_t)across->module->record.size;
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
  sumac_tree_leave(&across->joined);
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

/* The common part gets this. `spec` refers to the two communicators. */
struct join {
  struct sumac_communicator team, leaders;
  struct sumac_join_spec spec;
};

static void fill_join(const struct across* across, struct join* join) {
  hcoll_module_t* module = across->module;
  join->team = hcoll_communicator(module);
  join->leaders =
      across->leads && NULL != across->leaders_comm ? hcoll_communicator_of_ours(across->leaders_comm) : join->team;
  join->spec = (struct sumac_join_spec){.hosts = module->record.hosts,
                                        .team = &join->team,
                                        .leaders = across->leads ? &join->leaders : NULL,
                                        .settings = &mca_coll_hcoll_component.settings,
                                        .options = mca_coll_hcoll_component.options};
}

static int join_tree(struct across* across, const int* leaders, const void* offers, int64_t* agreed) {
  struct join join;
  fill_join(across, &join);
  join.spec.offers = offers;
  join.spec.leader_ranks = leaders;
  return sumac_tree_join(&join.spec, &across->joined, agreed);
}

void hcoll_across_offer(void* context, const int* leaders, int leader_count, int my_index, void* offer) {
  (void)leaders;
  const sumac_lane_t* lane = context;
  sumac_join_offer(&mca_coll_hcoll_component.settings, lane->record->hosts, leader_count, my_index, offer);
}

int hcoll_across_agree(void* context, const int64_t* agreed, sumac_across_t* out) {
  (void)context;
  struct across* across = out->context;
  struct join join;
  fill_join(across, &join);
  sumac_tree_agreed(&join.spec, agreed, &across->joined);
  across->module->record.no_group |= across->joined.no_group;
  out->tree = across->joined.tree;
  out->no_tree = across->joined.no_tree;
  return 0;
}

int hcoll_across_open(void* context, const int* leaders, int leader_count, int my_index, const void* offers,
                      int64_t* agreed, sumac_across_t* out) {
  sumac_lane_t* lane = context;
  hcoll_module_t* module = hcoll_module_of(lane->record);
  module->record.is_wide = true;
  module->record.lanes_end = true; /* a lane would need leaders of its own */
  struct across* across = calloc(1, sizeof(*across));
  if (NULL == across) {
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  across->module = module;
  across->all_lead = leader_count == module->record.size;
  across->leads = my_index >= 0;
  int rc = OMPI_SUCCESS;
  across->carries_values = sumac_team_options_reproducible(mca_coll_hcoll_component.options);
  if (!across->all_lead || across->carries_values) {
    rc = hcoll_leaders_make(module, leaders, leader_count, across->leads, &across->leaders_comm);
    if (NULL != across->leaders_comm) {
      keep_for_us(across->leaders_comm);
    }
  }
  if (OMPI_SUCCESS == rc) {
    rc = join_tree(across, leaders, offers, agreed);
  }
  if (OMPI_SUCCESS == rc && NULL != across->joined.group) {
    sumac_tree_ranks(across->joined.group, leaders, (size_t)leader_count);
  }
  if (OMPI_SUCCESS != rc) {
    close_across(across);
    return rc;
  }
  *out = (sumac_across_t){.context = across,
                          .takes = takes,
                          .start = start,
                          .start_direct = start_direct,
                          .test = test,
                          .error = error,
                          .close = close_across};
  return 0;
}
