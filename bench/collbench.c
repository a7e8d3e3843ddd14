/* collbench: how long MPI collectives take, verified, for any MPI. One start serves many cases, because starting 16 ranks
 * over a slow fabric takes longer than most cells.
 *
 *   mpirun -n 16 collbench --case barrier --case allreduce:8,1K:200 --case allreduce:16M:3:1
 *
 * Method: measure.h. Data and what counts as right: pattern.h. The loop: driver.c. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "bench/driver.h"
#include "bench/measure.h"

static MPI_Datatype mpi_type(bench_type type) {
  switch (type) {
    case kBenchInt32: return MPI_INT32_T;
    case kBenchInt64: return MPI_INT64_T;
    case kBenchFloat: return MPI_FLOAT;
    case kBenchDouble: return MPI_DOUBLE;
    case kBenchTypes: break;
  }
  return MPI_DATATYPE_NULL;
}

static int call_barrier(const bench_call* a) {
  (void)a;
  return MPI_Barrier(MPI_COMM_WORLD);
}

static int call_allreduce(const bench_call* a) {
  return MPI_Allreduce(a->send, a->receive, (int)a->count, mpi_type(a->type), MPI_SUM, MPI_COMM_WORLD);
}

/* Not the form with equal blocks: Open MPI has its ring algorithm for this one alone. */
static int call_reduce_scatter(const bench_call* a) {
  static int counts[kBenchRanksMax];
  for (int rank = 0; rank < a->ranks; ++rank) counts[rank] = (int)a->block;
  return MPI_Reduce_scatter(a->send, a->receive, counts, mpi_type(a->type), MPI_SUM, MPI_COMM_WORLD);
}

static int call_allgather(const bench_call* a) {
  const MPI_Datatype type = mpi_type(a->type);
  return MPI_Allgather(a->send, (int)a->block, type, a->receive, (int)a->block, type, MPI_COMM_WORLD);
}

/* MPI_Bcast has one buffer argument: at the root it is the send buffer, at all other ranks the receive buffer. */
static int call_bcast(const bench_call* a) {
  void* buffer = a->rank == a->root ? (void*)a->send : a->receive;
  return MPI_Bcast(buffer, (int)a->count, mpi_type(a->type), a->root, MPI_COMM_WORLD);
}

static int call_reduce(const bench_call* a) {
  return MPI_Reduce(a->send, a->receive, (int)a->count, mpi_type(a->type), MPI_SUM, a->root, MPI_COMM_WORLD);
}

/* Calls in a row, as programs make them: no rank waits for another between two of them. */
enum { kStreamCalls = 200, kLateCalls = 20 };
static const int64_t kLateNs = 20 * 1000 * 1000;

static int repeat(int (*call)(const bench_call*), const bench_call* a, int rotates) {
  bench_call one = *a;
  for (int i = 0; i < kStreamCalls; ++i) {
    one.root = rotates ? (a->root + i) % a->ranks : a->root;
    const int code = call(&one);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

/* The first root has the data, and after its call every other rank has them in its receive buffer. */
static int call_bcast_on(const bench_call* a, int root, int first_root) {
  void* buffer = a->rank == first_root ? (void*)a->send : a->receive;
  return MPI_Bcast(buffer, (int)a->count, mpi_type(a->type), root, MPI_COMM_WORLD);
}

static int call_bcast_stream(const bench_call* a) { return repeat(call_bcast, a, 0); }
static int call_reduce_stream(const bench_call* a) { return repeat(call_reduce, a, 0); }
static int call_reduce_rotating(const bench_call* a) { return repeat(call_reduce, a, 1); }

static int call_bcast_rotating(const bench_call* a) {
  for (int i = 0; i < kStreamCalls; ++i) {
    const int code = call_bcast_on(a, (a->root + i) % a->ranks, a->root);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

/* One rank comes late to each call: to a bcast the rank behind its root, to a reduce the root. */
static int repeat_late(int (*call)(const bench_call*), const bench_call* a, int late) {
  for (int i = 0; i < kLateCalls; ++i) {
    if (a->rank == late) bench_sleep_until_ns(bench_now_ns() + kLateNs);
    const int code = call(a);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

static int call_bcast_late(const bench_call* a) { return repeat_late(call_bcast, a, (a->root + 1) % a->ranks); }
static int call_reduce_late(const bench_call* a) { return repeat_late(call_reduce, a, a->root); }

/* Nonblocking calls that are posted one behind the other and waited for together, on one communicator or each on its own. Nothing
 * blocking was ever called on those. */
enum { kTogetherMax = 16 };
typedef int (*post_call)(const bench_call* a, void* receive, MPI_Comm comm, MPI_Request* request);

static int post_iallreduce(const bench_call* a, void* receive, MPI_Comm comm, MPI_Request* request) {
  return MPI_Iallreduce(a->send, receive, (int)a->count, mpi_type(a->type), MPI_SUM, comm, request);
}

static int post_ibarrier(const bench_call* a, void* receive, MPI_Comm comm, MPI_Request* request) {
  (void)a, (void)receive;
  return MPI_Ibarrier(comm, request);
}

static int post_ibcast(const bench_call* a, void* receive, MPI_Comm comm, MPI_Request* request) {
  void* buffer = a->rank == a->root ? (void*)a->send : receive;
  return MPI_Ibcast(buffer, (int)a->count, mpi_type(a->type), a->root, comm, request);
}

static MPI_Comm own_communicator(int index) {
  static MPI_Comm made[kTogetherMax];
  static int count;
  while (count <= index)
    if (MPI_Comm_dup(MPI_COMM_WORLD, &made[count++]) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 3);
  return made[index];
}

/* A result of its own for each call but the first, which has the driver's; all must be equal. */
static int together(post_call post, const bench_call* a, int calls, int apart) {
  static char* results;
  static size_t room;
  int bytes = 0, code = MPI_SUCCESS;
  if (a->count > 0) MPI_Type_size(mpi_type(a->type), &bytes);
  const size_t each = a->count * (size_t)bytes;
  if (room < each) {
    free(results);
    results = malloc(kTogetherMax * (room = each));
    if (results == NULL) return MPI_ERR_NO_MEM;
  }
  MPI_Request requests[kTogetherMax];
  for (int i = 0; i < calls && code == MPI_SUCCESS; ++i) {
    void* const receive = i == 0 || each == 0 ? a->receive : results + (size_t)i * each;
    code = post(a, receive, apart ? own_communicator(i) : MPI_COMM_WORLD, &requests[i]);
  }
  if (code == MPI_SUCCESS) code = MPI_Waitall(calls, requests, MPI_STATUSES_IGNORE);
  const int has_result = post != post_ibcast || a->rank != a->root;
  for (int i = 1; i < calls && code == MPI_SUCCESS && has_result && each > 0; ++i)
    if (memcmp(a->receive, results + (size_t)i * each, each) != 0) code = MPI_ERR_OTHER;
  return code;
}

#define TOGETHER(post, calls, apart, name) \
  static int name(const bench_call* a) { return together(post, a, calls, apart); }
TOGETHER(post_iallreduce, 1, 0, call_iallreduce)
TOGETHER(post_iallreduce, 8, 0, call_iallreduce_8)
TOGETHER(post_iallreduce, 16, 0, call_iallreduce_16)
TOGETHER(post_iallreduce, 8, 1, call_iallreduce_8_apart)
TOGETHER(post_iallreduce, 16, 1, call_iallreduce_16_apart)
TOGETHER(post_ibarrier, 1, 0, call_ibarrier)
TOGETHER(post_ibarrier, 8, 0, call_ibarrier_8)
TOGETHER(post_ibarrier, 8, 1, call_ibarrier_8_apart)
TOGETHER(post_ibcast, 1, 0, call_ibcast)
TOGETHER(post_ibcast, 8, 0, call_ibcast_8)
TOGETHER(post_ibcast, 8, 1, call_ibcast_8_apart)

/* The life of a communicator: made, used for some calls, and freed. */
static int live(const bench_call* a, int calls) {
  MPI_Comm comm = MPI_COMM_NULL;
  int code = MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < calls && code == MPI_SUCCESS; ++i)
    code = MPI_Allreduce(a->send, a->receive, (int)a->count, mpi_type(a->type), MPI_SUM, comm);
  if (comm == MPI_COMM_NULL) return code;
  const int freed = MPI_Comm_free(&comm);
  return code != MPI_SUCCESS ? code : freed;
}
static int call_newcomm(const bench_call* a) { return live(a, 1); }
static int call_newcomm_40(const bench_call* a) { return live(a, 40); }

static int call_reduce_scatter_block(const bench_call* a) {
  return MPI_Reduce_scatter_block(a->send, a->receive, (int)a->block, mpi_type(a->type), MPI_SUM, MPI_COMM_WORLD);
}

static int call_alltoall(const bench_call* a) {
  const MPI_Datatype type = mpi_type(a->type);
  return MPI_Alltoall(a->send, (int)a->block, type, a->receive, (int)a->block, type, MPI_COMM_WORLD);
}

/* Equal blocks, so that its cells stand beside those of alltoall. */
static int call_alltoallv(const bench_call* a) {
  static int counts[kBenchRanksMax], displacements[kBenchRanksMax];
  const MPI_Datatype type = mpi_type(a->type);
  for (int rank = 0; rank < a->ranks; ++rank) {
    counts[rank] = (int)a->block;
    displacements[rank] = rank * (int)a->block;
  }
  return MPI_Alltoallv(a->send, counts, displacements, type, a->receive, counts, displacements, type, MPI_COMM_WORLD);
}

/* The next collective is one more row and its call. */
static const bench_collective kCollectives[] = {
    {"barrier", kBenchNothing, call_barrier, 0},
    {"allreduce", kBenchAllSum, call_allreduce, 0},
    {"bcast", kBenchFromRoot, call_bcast, 0},
    {"bcast-stream", kBenchFromRoot, call_bcast_stream, 0},
    {"bcast-rotating", kBenchFromRoot, call_bcast_rotating, 0},
    {"bcast-late", kBenchFromRoot, call_bcast_late, 1},
    {"reduce", kBenchToRoot, call_reduce, 0},
    {"reduce-stream", kBenchToRoot, call_reduce_stream, 0},
    {"reduce-rotating", kBenchToRoot, call_reduce_rotating, 0},
    {"reduce-late", kBenchToRoot, call_reduce_late, 1},
    {"iallreduce", kBenchAllSum, call_iallreduce, 0},
    {"iallreduce-8", kBenchAllSum, call_iallreduce_8, 0},
    {"iallreduce-16", kBenchAllSum, call_iallreduce_16, 0},
    {"iallreduce-8-apart", kBenchAllSum, call_iallreduce_8_apart, 0},
    {"iallreduce-16-apart", kBenchAllSum, call_iallreduce_16_apart, 0},
    {"ibarrier", kBenchNothing, call_ibarrier, 0},
    {"ibarrier-8", kBenchNothing, call_ibarrier_8, 0},
    {"ibarrier-8-apart", kBenchNothing, call_ibarrier_8_apart, 0},
    {"ibcast", kBenchFromRoot, call_ibcast, 0},
    {"ibcast-8", kBenchFromRoot, call_ibcast_8, 0},
    {"ibcast-8-apart", kBenchFromRoot, call_ibcast_8_apart, 0},
    {"newcomm", kBenchAllSum, call_newcomm, 0},
    {"newcomm-40", kBenchAllSum, call_newcomm_40, 0},
    {"reduce_scatter", kBenchSumPart, call_reduce_scatter, 0},
    {"allgather", kBenchGather, call_allgather, 0},
    {"reduce_scatter_block", kBenchSumPart, call_reduce_scatter_block, 0},
    {"alltoall", kBenchExchange, call_alltoall, 0},
    {"alltoallv", kBenchExchange, call_alltoallv, 0},
};

static const char* explain(int code) {
  static char words[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, words, &length) != MPI_SUCCESS) return "unknown MPI error";
  return words;
}

int main(int argc, char** argv) {
  const bench_program program = {.name = "collbench",
                                 .purpose = "Measures MPI collectives on MPI_COMM_WORLD.",
                                 .collectives = kCollectives,
                                 .collective_count = sizeof kCollectives / sizeof kCollectives[0],
                                 .explain = explain};
  return bench_main(argc, argv, &program);
}
