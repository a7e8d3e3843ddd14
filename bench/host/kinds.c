#include "bench/host/kinds.h"

#include <string.h>

const kind_row kKinds[] = {
    {"barrier", kBarrier, kBackToBack, kPlain},
    {"allreduce", kAllreduce, kBackToBack, kPlain},
    {"allgather", kAllgather, kBackToBack, kPlain},
    {"alltoall", kAlltoall, kBackToBack, kPlain},
    {"bcast", kBcast, kAligned, kPlain},
    {"reduce", kReduce, kAligned, kPlain},
    {"gather", kGather, kAligned, kPlain},
    {"scatter", kScatter, kAligned, kPlain},
    {"iallreduce", kAllreduce, kPost, kPlain},
    {"iallreduce-busy", kAllreduce, kPostBusy, kPlain},
    {"ialltoall", kAlltoall, kPost, kPlain},
    {"iscatterv", kScatterv, kPost, kPlain},
    {"dup", kBarrier, kDup, kPlain},
    {"first-barrier", kBarrier, kFirst, kPlain},
    {"first-allreduce", kAllreduce, kFirst, kPlain},
    {"churn", kBarrier, kChurn, kPlain},
    {"new-allreduce", kAllreduce, kNew, kPlain},
    {"osu-allreduce", kAllreduce, kOsu, kPlain},
    {"osu-bcast", kBcast, kOsu, kPlain},
    {"osu-reduce", kReduce, kOsu, kPlain},
    {"osu-allgather", kAllgather, kOsu, kPlain},
    {"osu-alltoall", kAlltoall, kOsu, kPlain},
    {"osu-allgatherv", kAllgatherv, kOsu, kPlain},
    {"osu-alltoallv", kAlltoallv, kOsu, kPlain},
    {"osu-gather", kGather, kOsu, kPlain},
    {"osu-scatter", kScatter, kOsu, kPlain},
    {"copies", kAlltoall, kCopies, kPlain},
    {"bcast-stream", kBcast, kStream, kPlain},
    {"reduce-stream", kReduce, kStream, kPlain},
    {"scatter-stream", kScatter, kStream, kPlain},
    {"gather-stream", kGather, kStream, kPlain},
    {"bcast-late", kBcast, kLate, kPlain},
    {"reduce-late", kReduce, kLate, kPlain},
    {"scatter-late", kScatter, kLate, kPlain},
    {"gather-late", kGather, kLate, kPlain},
    {"allgatherv", kAllgatherv, kAligned, kPlain},
    {"alltoallv", kAlltoallv, kAligned, kPlain},
    {"scan", kScan, kAligned, kPlain},
    {"exscan", kExscan, kAligned, kPlain},
    {"reduce_scatter", kReduceScatter, kAligned, kPlain},
    {"cold-allreduce", kAllreduce, kCold, kPlain},
    {"cold-bcast", kBcast, kCold, kPlain},
    {"fresh-allreduce", kAllreduce, kFresh, kPlain},
    {"vector-bcast", kBcast, kAligned, kVector},
    {"vector-allgather", kAllgather, kAligned, kVector},
    {"vector-alltoall", kAlltoall, kAligned, kVector},
    {"maxloc-allreduce", kAllreduce, kAligned, kPairs},
    {"own-allreduce", kAllreduce, kAligned, kOwnSum},
};

int kinds_find(const char* name) {
  for (int i = 0; i < (int)(sizeof kKinds / sizeof kKinds[0]); ++i)
    if (strcmp(kKinds[i].name, name) == 0) return i;
  return -1;
}

int kinds_has_data(int kind) { return kKinds[kind].kind != kBarrier; }

/* A single number is a double, as of a scalar product; a vector is float, as gradients and fields are. OSU's programs
 * sum floats and move characters. */
bench_type kinds_type(int kind, size_t bytes) {
  return kKinds[kind].how != kOsu && bytes <= 64 ? kBenchDouble : kBenchFloat;
}
int kinds_is_char(int kind) {
  return kKinds[kind].how == kOsu && kKinds[kind].kind != kAllreduce && kKinds[kind].kind != kReduce;
}
size_t kinds_width(int kind, size_t bytes) {
  if (kKinds[kind].form == kPairs) return sizeof(world_pair);
  return kinds_is_char(kind) ? 1 : bench_type_bytes(kinds_type(kind, bytes));
}

/* A size must be a multiple of this. */
static size_t unit_of(int kind, size_t bytes) {
  if (kKinds[kind].form == kVector) return kVectorRun;
  const int is_uneven = kKinds[kind].kind == kAllgatherv || kKinds[kind].kind == kAlltoallv;
  return kinds_width(kind, bytes) * (is_uneven ? kSmallPart : 1);
}

const char* kinds_refuse(const area_command* command) {
  const int kind = kinds_find(command->kind);
  if (kind < 0) return "no such collective";
  const int total = command->iterations + command->warmup;
  if (command->iterations < 1 || command->warmup < 0 || total > kAreaIterationsMax)
    return "too many or too few iterations";
  if (kinds_has_data(kind) == (command->bytes == 0)) return "a size where none belongs, or none where one does";
  if (kKinds[kind].how == kCopies && (world_size() != 2 || command->bytes > kAreaCopyBytes))
    return "copies are between two ranks, of at most 4 MiB";
  if (kinds_has_data(kind) && command->bytes % unit_of(kind, command->bytes) != 0) return "not a multiple of the type";
  return NULL;
}
