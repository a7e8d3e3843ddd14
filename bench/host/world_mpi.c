/* Plain MPI, nothing of any implementation: compiled once for each MPI that is compared. */
#include <mpi.h>
#include <stdlib.h>

#include "bench/host/area.h"
#include "bench/host/world.h"

static MPI_Comm current = MPI_COMM_NULL;
static MPI_Request pending = MPI_REQUEST_NULL;
static int counts[kAreaRanksMax], displacements[kAreaRanksMax];

int world_early_rank(void) {
  static const char* const kNames[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_RANK"};
  for (unsigned i = 0; i < sizeof kNames / sizeof kNames[0]; ++i) {
    const char* text = getenv(kNames[i]);
    if (text != NULL) return atoi(text);
  }
  return -1;
}

int world_start(int* argc, char*** argv, int ranks) {
  int code = MPI_Init(argc, argv);
  if (code != MPI_SUCCESS) return code;
  current = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(current, MPI_ERRORS_RETURN);
  return world_size() == ranks ? 0 : MPI_ERR_ARG;
}

int world_stop(void) { return MPI_Finalize(); }

int world_rank(void) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size(void) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

const char* world_explain(int code) {
  static char words[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, words, &length) != MPI_SUCCESS) return "unknown MPI error";
  return words;
}

void world_abort(void) {
  MPI_Abort(MPI_COMM_WORLD, 3);
  exit(3);
}

static MPI_Datatype plain_type(const world_arguments* a) {
  switch (a->type) {
    case kBenchInt32: return MPI_INT32_T;
    case kBenchInt64: return MPI_INT64_T;
    case kBenchFloat: return MPI_FLOAT;
    case kBenchDouble: return MPI_DOUBLE;
    case kBenchTypes: break;
  }
  return MPI_DATATYPE_NULL;
}

/* A block, and as much room behind its last run as behind the others. The one that was used last is kept. */
static MPI_Datatype vector_of(const world_arguments* a) {
  static MPI_Datatype kept = MPI_DATATYPE_NULL;
  static size_t kept_count;
  static bench_type kept_type;
  if (kept != MPI_DATATYPE_NULL && kept_count == a->count && kept_type == a->type) return kept;
  if (kept != MPI_DATATYPE_NULL) MPI_Type_free(&kept);
  const size_t width = bench_type_bytes(a->type), run = kVectorRun / width;
  MPI_Datatype runs = MPI_DATATYPE_NULL;
  if (MPI_Type_vector((int)(a->count / run), (int)run, (int)(2 * run), plain_type(a), &runs) != MPI_SUCCESS ||
      MPI_Type_create_resized(runs, 0, (MPI_Aint)(2 * a->count * width), &kept) != MPI_SUCCESS ||
      MPI_Type_commit(&kept) != MPI_SUCCESS || MPI_Type_free(&runs) != MPI_SUCCESS)
    world_abort();
  kept_count = a->count, kept_type = a->type;
  return kept;
}

static MPI_Datatype mpi_type(const world_arguments* a) {
  if (a->is_char) return MPI_CHAR;
  if (a->form == kVector) return vector_of(a);
  return a->form == kPairs ? MPI_DOUBLE_INT : plain_type(a);
}

static void add(void* in, void* sum, int* count, MPI_Datatype* type) {
  if (*type == MPI_DOUBLE) {
    for (int i = 0; i < *count; ++i) ((double*)sum)[i] += ((const double*)in)[i];
  } else {
    for (int i = 0; i < *count; ++i) ((float*)sum)[i] += ((const float*)in)[i];
  }
}

static MPI_Op mpi_op(const world_arguments* a) {
  static MPI_Op own = MPI_OP_NULL;
  if (a->form == kPairs) return MPI_MAXLOC;
  if (a->form != kOwnSum) return MPI_SUM;
  if (own == MPI_OP_NULL && MPI_Op_create(add, 1, &own) != MPI_SUCCESS) world_abort();
  return own;
}

/* Those of this rank's blocks; in an alltoallv what it has for another is as large as what it gets from there. */
static void set_counts(world_kind kind, const world_arguments* a) {
  const int rank = world_rank();
  for (int i = 0, size = world_size(); i < size; ++i) {
    counts[i] = (int)world_block_count(kind, a, i, rank);
    displacements[i] = i * (int)a->count;
  }
}

int world_call(world_kind kind, const world_arguments* a) {
  const int count = a->form == kVector ? 1 : (int)a->count;
  const MPI_Datatype type = mpi_type(a);
  switch (kind) {
    case kBarrier: return MPI_Barrier(current);
    case kAllreduce: return MPI_Allreduce(a->send, a->receive, count, type, mpi_op(a), current);
    case kBcast: return MPI_Bcast(a->receive, count, type, 0, current);
    case kReduce: return MPI_Reduce(a->send, a->receive, count, type, mpi_op(a), 0, current);
    case kAllgather: return MPI_Allgather(a->send, count, type, a->receive, count, type, current);
    case kAlltoall: return MPI_Alltoall(a->send, count, type, a->receive, count, type, current);
    case kGather: return MPI_Gather(a->send, count, type, a->receive, count, type, 0, current);
    case kScatter: return MPI_Scatter(a->send, count, type, a->receive, count, type, 0, current);
    case kAllgatherv:
      set_counts(kind, a);
      return MPI_Allgatherv(a->send, counts[world_rank()], type, a->receive, counts, displacements, type, current);
    case kAlltoallv:
      set_counts(kind, a);
      return MPI_Alltoallv(a->send, counts, displacements, type, a->receive, counts, displacements, type, current);
    case kScan: return MPI_Scan(a->send, a->receive, count, type, mpi_op(a), current);
    case kExscan: return MPI_Exscan(a->send, a->receive, count, type, mpi_op(a), current);
    case kReduceScatter:
      set_counts(kind, a);
      return MPI_Reduce_scatter(a->send, a->receive, counts, type, mpi_op(a), current);
    case kScatterv:
    case kWorldKinds: break;
  }
  return MPI_ERR_ARG;
}

int world_post(world_kind kind, const world_arguments* a) {
  const int count = (int)a->count;
  const MPI_Datatype type = mpi_type(a);
  switch (kind) {
    case kAllreduce: return MPI_Iallreduce(a->send, a->receive, count, type, MPI_SUM, current, &pending);
    case kAlltoall: return MPI_Ialltoall(a->send, count, type, a->receive, count, type, current, &pending);
    case kScatterv:
      for (int i = 0, size = world_size(); i < size; ++i) counts[i] = count, displacements[i] = i * count;
      return MPI_Iscatterv(a->send, counts, displacements, type, a->receive, count, type, 0, current, &pending);
    default: break;
  }
  return MPI_ERR_ARG;
}

int world_wait(void) { return MPI_Wait(&pending, MPI_STATUS_IGNORE); }

int world_dup(void) {
  MPI_Comm made = MPI_COMM_NULL;
  const int code = MPI_Comm_dup(MPI_COMM_WORLD, &made);
  if (code == MPI_SUCCESS) current = made;
  return code;
}

int world_split(void) {
  MPI_Comm made = MPI_COMM_NULL;
  const int pairs = world_size() / 2;
  const int code = MPI_Comm_split(MPI_COMM_WORLD, world_rank() % (pairs > 0 ? pairs : 1), world_rank(), &made);
  if (code == MPI_SUCCESS) current = made;
  return code;
}

int world_current_size(void) {
  int size = 0;
  MPI_Comm_size(current, &size);
  return size;
}

int world_free_dup(void) {
  const int code = MPI_Comm_free(&current);
  current = MPI_COMM_WORLD;
  return code;
}
