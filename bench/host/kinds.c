#include "bench/host/kinds.h"

#include <string.h>

const kind_row kKinds[] = {
    {"barrier", kBarrier, kBackToBack},
    {"allreduce", kAllreduce, kBackToBack},
    {"allgather", kAllgather, kBackToBack},
    {"alltoall", kAlltoall, kBackToBack},
    {"bcast", kBcast, kAligned},
    {"reduce", kReduce, kAligned},
    {"gather", kGather, kAligned},
    {"scatter", kScatter, kAligned},
    {"iallreduce", kAllreduce, kPost},
    {"iallreduce-busy", kAllreduce, kPostBusy},
    {"ialltoall", kAlltoall, kPost},
    {"iscatterv", kScatterv, kPost},
    {"dup", kBarrier, kDup},
    {"first-barrier", kBarrier, kFirst},
    {"first-allreduce", kAllreduce, kFirst},
    {"churn", kBarrier, kChurn},
    {"new-allreduce", kAllreduce, kNew},
    {"osu-allreduce", kAllreduce, kOsu},
    {"osu-bcast", kBcast, kOsu},
    {"osu-reduce", kReduce, kOsu},
    {"osu-allgather", kAllgather, kOsu},
    {"osu-alltoall", kAlltoall, kOsu},
    {"osu-gather", kGather, kOsu},
    {"osu-scatter", kScatter, kOsu},
    {"copies", kAlltoall, kCopies},
    {"bcast-stream", kBcast, kStream},
    {"reduce-stream", kReduce, kStream},
    {"scatter-stream", kScatter, kStream},
    {"gather-stream", kGather, kStream},
    {"bcast-late", kBcast, kLate},
    {"reduce-late", kReduce, kLate},
    {"scatter-late", kScatter, kLate},
    {"gather-late", kGather, kLate},
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
  return kinds_is_char(kind) ? 1 : bench_type_bytes(kinds_type(kind, bytes));
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
  if (kinds_has_data(kind) && command->bytes % kinds_width(kind, command->bytes) != 0)
    return "not a multiple of the type";
  return NULL;
}
