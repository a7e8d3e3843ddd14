#include "bench/field/kinds.h"

#include <string.h>
#include <strings.h>

/* OSU's v-forms and Intel's have the same counts at every rank, as the forms without v have; so do these. */

static int call_barrier(const field_call* a) { return MPI_Barrier(a->comm); }
static int call_allreduce(const field_call* a) {
  return MPI_Allreduce(a->send, a->receive, a->count, a->type, MPI_SUM, a->comm);
}
static int call_reduce(const field_call* a) {
  return MPI_Reduce(a->send, a->receive, a->count, a->type, MPI_SUM, a->root, a->comm);
}
static int call_bcast(const field_call* a) { return MPI_Bcast(a->receive, a->count, a->type, a->root, a->comm); }
static int call_allgather(const field_call* a) {
  return MPI_Allgather(a->send, a->count, a->type, a->receive, a->count, a->type, a->comm);
}
static int call_allgatherv(const field_call* a) {
  return MPI_Allgatherv(a->send, a->count, a->type, a->receive, a->counts, a->starts, a->type, a->comm);
}
static int call_alltoall(const field_call* a) {
  return MPI_Alltoall(a->send, a->count, a->type, a->receive, a->count, a->type, a->comm);
}
static int call_alltoallv(const field_call* a) {
  return MPI_Alltoallv(a->send, a->counts, a->starts, a->type, a->receive, a->counts, a->starts, a->type, a->comm);
}
static int call_reduce_scatter(const field_call* a) {
  return MPI_Reduce_scatter(a->send, a->receive, a->counts, a->type, MPI_SUM, a->comm);
}
static int call_reduce_scatter_block(const field_call* a) {
  return MPI_Reduce_scatter_block(a->send, a->receive, a->count, a->type, MPI_SUM, a->comm);
}
static int call_gather(const field_call* a) {
  return MPI_Gather(a->send, a->count, a->type, a->receive, a->count, a->type, a->root, a->comm);
}
static int call_gatherv(const field_call* a) {
  return MPI_Gatherv(a->send, a->count, a->type, a->receive, a->counts, a->starts, a->type, a->root, a->comm);
}
static int call_scatter(const field_call* a) {
  return MPI_Scatter(a->send, a->count, a->type, a->receive, a->count, a->type, a->root, a->comm);
}
static int call_scatterv(const field_call* a) {
  return MPI_Scatterv(a->send, a->counts, a->starts, a->type, a->receive, a->count, a->type, a->root, a->comm);
}

static int post_barrier(const field_call* a, MPI_Request* r) { return MPI_Ibarrier(a->comm, r); }
static int post_allreduce(const field_call* a, MPI_Request* r) {
  return MPI_Iallreduce(a->send, a->receive, a->count, a->type, MPI_SUM, a->comm, r);
}
static int post_reduce(const field_call* a, MPI_Request* r) {
  return MPI_Ireduce(a->send, a->receive, a->count, a->type, MPI_SUM, a->root, a->comm, r);
}
static int post_bcast(const field_call* a, MPI_Request* r) {
  return MPI_Ibcast(a->receive, a->count, a->type, a->root, a->comm, r);
}
static int post_allgather(const field_call* a, MPI_Request* r) {
  return MPI_Iallgather(a->send, a->count, a->type, a->receive, a->count, a->type, a->comm, r);
}
static int post_allgatherv(const field_call* a, MPI_Request* r) {
  return MPI_Iallgatherv(a->send, a->count, a->type, a->receive, a->counts, a->starts, a->type, a->comm, r);
}
static int post_alltoall(const field_call* a, MPI_Request* r) {
  return MPI_Ialltoall(a->send, a->count, a->type, a->receive, a->count, a->type, a->comm, r);
}
static int post_alltoallv(const field_call* a, MPI_Request* r) {
  return MPI_Ialltoallv(a->send, a->counts, a->starts, a->type, a->receive, a->counts, a->starts, a->type, a->comm, r);
}
static int post_reduce_scatter(const field_call* a, MPI_Request* r) {
  return MPI_Ireduce_scatter(a->send, a->receive, a->counts, a->type, MPI_SUM, a->comm, r);
}
static int post_reduce_scatter_block(const field_call* a, MPI_Request* r) {
  return MPI_Ireduce_scatter_block(a->send, a->receive, a->count, a->type, MPI_SUM, a->comm, r);
}
static int post_gather(const field_call* a, MPI_Request* r) {
  return MPI_Igather(a->send, a->count, a->type, a->receive, a->count, a->type, a->root, a->comm, r);
}
static int post_gatherv(const field_call* a, MPI_Request* r) {
  return MPI_Igatherv(a->send, a->count, a->type, a->receive, a->counts, a->starts, a->type, a->root, a->comm, r);
}
static int post_scatter(const field_call* a, MPI_Request* r) {
  return MPI_Iscatter(a->send, a->count, a->type, a->receive, a->count, a->type, a->root, a->comm, r);
}
static int post_scatterv(const field_call* a, MPI_Request* r) {
  return MPI_Iscatterv(a->send, a->counts, a->starts, a->type, a->receive, a->count, a->type, a->root, a->comm, r);
}

#define CALLS(name) .call = call_##name, .post = post_##name

// clang-format off
const field_kind kFieldTable[kFieldKinds] = {
    {"allgather", "Allgather", "Allgather", "Allgather", kFieldBlock, kFieldBlocks, CALLS(allgather)},
    {"allgatherv", "Allgatherv", "Allgatherv", "Allgatherv", kFieldBlock, kFieldBlocks, .has_starts = 1, CALLS(allgatherv)},
    {"allreduce", "Allreduce", "Allreduce", "Allreduce", kFieldVector, kFieldVector, .reduces = 1, CALLS(allreduce)},
    {"alltoall", "All-to-All Personalized Exchange", "All-to-All", "Alltoall", kFieldBlocks, kFieldBlocks, .has_own_blocks = 1, CALLS(alltoall)},
    {"alltoallv", "All-to-Allv Personalized Exchange", "All-to-Allv Personalized Exchange", "Alltoallv", kFieldBlocks, kFieldBlocks, .has_own_blocks = 1, .has_starts = 1, CALLS(alltoallv)},
    {"barrier", "Barrier", "Barrier", "Barrier", kFieldNothing, kFieldNothing, CALLS(barrier)},
    {"bcast", "Broadcast", "Broadcast", "Bcast", kFieldVector, kFieldVector, .from_root = 1, .has_one_buffer = 1, CALLS(bcast)},
    {"gather", "Gather", "Gather", "Gather", kFieldBlock, kFieldBlocks, .to_root = 1, CALLS(gather)},
    {"gatherv", "Gatherv", "Gatherv", "Gatherv", kFieldBlock, kFieldBlocks, .to_root = 1, .has_starts = 1, CALLS(gatherv)},
    {"reduce", "Reduce", "Reduce", "Reduce", kFieldVector, kFieldVector, .reduces = 1, .to_root = 1, CALLS(reduce)},
    {"reduce_scatter", "Reduce_scatter", "Reduce_scatter", "Reduce_scatter", kFieldVector, kFieldPart, .reduces = 1, CALLS(reduce_scatter)},
    {"reduce_scatter_block", "Reduce_scatter_block", "Reduce_scatter_block", "Reduce_scatter_block", kFieldBlocks, kFieldBlock, .reduces = 1, CALLS(reduce_scatter_block)},
    {"scatter", "Scatter", "Scatter", "Scatter", kFieldBlocks, kFieldBlock, .from_root = 1, .has_own_blocks = 1, CALLS(scatter)},
    {"scatterv", "Scatterv", "Scatterv", "Scatterv", kFieldBlocks, kFieldBlock, .from_root = 1, .has_own_blocks = 1, .has_starts = 1, CALLS(scatterv)},
};
// clang-format on

const field_kind* field_find_osu(const char* name, int* is_nonblocking) {
  if (strncmp(name, "osu_", 4) != 0) return NULL;
  name += 4;
  for (int i = 0; i < kFieldKinds; ++i) {
    *is_nonblocking = name[0] == 'i' && strcmp(name + 1, kFieldTable[i].name) == 0;
    if (*is_nonblocking || strcmp(name, kFieldTable[i].name) == 0) return &kFieldTable[i];
  }
  return NULL;
}

const field_kind* field_find_imb(const char* name, int is_nonblocking, int* is_pure) {
  *is_pure = 0;
  if (is_nonblocking && (name[0] | 0x20) != 'i') return NULL;
  name += is_nonblocking;
  for (int i = 0; i < kFieldKinds; ++i) {
    const size_t length = strlen(kFieldTable[i].imb);
    if (strncasecmp(name, kFieldTable[i].imb, length) != 0) continue;
    *is_pure = is_nonblocking && strcasecmp(name + length, "_pure") == 0;
    if (*is_pure || name[length] == '\0') return &kFieldTable[i];
  }
  return NULL;
}

size_t field_share_bytes(field_share share, size_t bytes, int ranks) {
  switch (share) {
    case kFieldNothing: return 0;
    case kFieldVector:
    case kFieldPart:
    case kFieldBlock: return bytes;
    case kFieldBlocks: return bytes * (size_t)ranks;
  }
  return 0;
}
