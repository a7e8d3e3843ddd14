/* hop-mixed: small collectives of all kinds in turn, by libsharp_coll; every result is checked. MPI starts the ranks, which
 * must share one clock.
 *
 *   mpirun -n 16 hop-mixed --calls 100000     their durations at all ranks
 *   mpirun -n 8 hop-mixed --silences 20       the first allreduce behind a silent second, beside those 5 ms later */
#include <inttypes.h>
#include <mpi.h>
#include <sharp/api/sharp_coll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"
#include "bench/sharp_start.h"

enum { kElementsMax = 16, kBucketNs = 20000, kBuckets = 25000, kKinds = 4 };
static const char* const kNames[kKinds] = {"allreduce", "reduce", "bcast", "barrier"};  // call number modulo kKinds
enum { kWarm = 20 };
static const int64_t kSilenceNs = 1000000000, kPauseNs = 5000000;

static struct sharp_coll_context* context;
static struct sharp_coll_comm* comm;
static int my_rank, rank_count;
static long errors;

__attribute__((noreturn)) static void die(const char* what, int code) {
  fprintf(stderr, "hop-mixed: rank %d: %s: %s\n", my_rank, what, sharp_coll_strerror(code));
  MPI_Abort(MPI_COMM_WORLD, 3);
  exit(3);
}

static void must(int code, const char* what) {
  if (code != SHARP_COLL_SUCCESS) die(what, code);
}

static void expect(long call, size_t element, double got, double wanted) {
  if (got == wanted) return;
  if (errors++ == 0)
    fprintf(stderr, "hop-mixed: rank %d, call %ld, element %zu: got %.17g, not %.17g\n", my_rank, call, element, got,
            wanted);
}

/* Element k of a rank is (rank + 1) x (call + k): exact in doubles, and another one in each call. */
static double element_of(int rank, long call, size_t k) { return (rank + 1) * (double)(call + (long)k); }

static double result_of(enum sharp_reduce_op op, long call, size_t k) {
  if (op == SHARP_OP_MIN) return element_of(0, call, k);
  if (op == SHARP_OP_MAX) return element_of(rank_count - 1, call, k);
  return element_of(0, call, k) * rank_count * (rank_count + 1) / 2;
}

static int64_t timed(int (*call)(struct sharp_coll_comm*, struct sharp_coll_reduce_spec*),
                     struct sharp_coll_reduce_spec* spec) {
  const int64_t begun_ns = bench_now_ns();
  must(call(comm, spec), "a sum failed");
  return bench_now_ns() - begun_ns;
}

/* Returns the nanoseconds of call number `call`, whose kind, size and root its number gives. */
static int64_t operate(long call) {
  static const enum sharp_reduce_op kOps[] = {SHARP_OP_SUM, SHARP_OP_MIN, SHARP_OP_MAX};
  double mine[kElementsMax], all[kElementsMax];
  const size_t count = call % 3 == 0 ? kElementsMax : 1;
  const enum sharp_reduce_op op = kOps[call / 4 % 3];
  const int root = (int)(call % rank_count);
  for (size_t k = 0; k < count; ++k) mine[k] = element_of(my_rank, call, k), all[k] = -1;
  struct sharp_coll_reduce_spec spec;
  memset(&spec, 0, sizeof spec);
  spec.root = root;
  spec.sbuf_desc = sharp_describe(mine, count * sizeof *mine);
  spec.rbuf_desc = sharp_describe(all, count * sizeof *all);
  spec.dtype = SHARP_DTYPE_DOUBLE;
  spec.length = count;
  spec.op = op;
  spec.tag_dtype = SHARP_DTYPE_NULL;
  spec.aggr_mode = SHARP_AGGREGATION_NONE;
  int64_t took_ns = 0;
  switch (call % 4) {
    case 0: took_ns = timed(sharp_coll_do_allreduce, &spec); break;
    case 1:
      took_ns = timed(sharp_coll_do_reduce, &spec);
      if (my_rank != root) return took_ns;
      break;
    case 2: {
      struct sharp_coll_bcast_spec bcast;
      memset(&bcast, 0, sizeof bcast);
      bcast.root = root;
      for (size_t k = 0; k < count; ++k) all[k] = my_rank == root ? element_of(root, call, k) : -1;
      bcast.buf_desc = sharp_describe(all, count * sizeof *all);
      bcast.size = count * sizeof *all;
      const int64_t begun_ns = bench_now_ns();
      must(sharp_coll_do_bcast(comm, &bcast), "a bcast failed");
      took_ns = bench_now_ns() - begun_ns;
      for (size_t k = 0; k < count; ++k) expect(call, k, all[k], element_of(root, call, k));
      return took_ns;
    }
    default: {
      const int64_t begun_ns = bench_now_ns();
      must(sharp_coll_do_barrier(comm), "a barrier failed");
      return bench_now_ns() - begun_ns;
    }
  }
  for (size_t k = 0; k < count; ++k) expect(call, k, all[k], result_of(op, call, k));
  return took_ns;
}

/* Returns the milliseconds that this share of the calls did not exceed. */
static double within_ms(const unsigned* buckets, double share) {
  double calls = 0, seen = 0;
  for (int i = 0; i < kBuckets; ++i) calls += buckets[i];
  int at = 0;
  while (at < kBuckets - 1 && (seen += buckets[at]) < share * calls) ++at;
  return (at + 1) * (double)kBucketNs / 1e6;
}

static void run_calls(long calls) {
  static unsigned mine[kKinds][kBuckets], all[kKinds][kBuckets], together[kBuckets];
  int64_t longest_ns = 0, longest_of_all_ns = 0;
  for (long call = 0; call < calls; ++call) {
    const int64_t took_ns = operate(call), bucket = took_ns / kBucketNs;
    ++mine[call % kKinds][bucket < kBuckets ? bucket : kBuckets - 1];
    if (took_ns > longest_ns) longest_ns = took_ns;
  }
  long all_errors = 0;
  MPI_Reduce(mine, all, kKinds * kBuckets, MPI_UNSIGNED, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&longest_ns, &longest_of_all_ns, 1, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&errors, &all_errors, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (my_rank != 0) return;
  for (int kind = 0; kind < kKinds; ++kind)
    for (int i = 0; i < kBuckets; ++i) together[i] += all[kind][i];
  printf(
      "{\"program\":\"hop-mixed\",\"calls\":%ld,\"ranks\":%d,\"errors\":%ld,\"p50\":%.3f,\"p99\":%.3f,\"max\":%.3f,"
      "\"p99_of\":{",
      calls, rank_count, all_errors, within_ms(together, 0.5), within_ms(together, 0.99),
      (double)longest_of_all_ns / 1e6);
  for (int kind = 0; kind < kKinds; ++kind)
    printf("%s\"%s\":%.3f", kind == 0 ? "" : ",", kNames[kind], within_ms(all[kind], 0.99));
  printf("}}\n");
}

static void run_silences(int silences) {
  const int events = silences * (1 + kWarm);
  int64_t* mine = calloc(2 * (size_t)events, sizeof *mine);  // entered, left
  int64_t* all = calloc(2 * (size_t)events * (size_t)rank_count, sizeof *all);
  if (mine == NULL || all == NULL) die("out of memory", SHARP_COLL_ENOMEM);
  for (int i = 0; i < 4 * kWarm; ++i) operate(4L * i);
  for (int event = 0; event < events; ++event) {
    int64_t at_ns = bench_now_ns() + (event % (1 + kWarm) == 0 ? kSilenceNs : kPauseNs);
    MPI_Bcast(&at_ns, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    bench_sleep_until_ns(at_ns);
    mine[2 * event] = bench_now_ns();
    operate(12L * event + 4);  // an allreduce of 8 B
    mine[2 * event + 1] = bench_now_ns();
  }
  MPI_Gather(mine, 2 * events, MPI_INT64_T, all, 2 * events, MPI_INT64_T, 0, MPI_COMM_WORLD);
  if (my_rank == 0) {
    double *first = calloc((size_t)events, sizeof *first), *warm = calloc((size_t)events, sizeof *warm);
    if (first == NULL || warm == NULL) die("out of memory", SHARP_COLL_ENOMEM);
    size_t firsts = 0, warms = 0;
    for (int event = 0; event < events; ++event) {
      // From the last rank's call on: who wakes up late from its own sleep does not count.
      int64_t last_ns = 0;
      double left_ns = 0;
      for (int rank = 0; rank < rank_count; ++rank) {
        const int64_t* of_rank = &all[2 * ((size_t)rank * (size_t)events + (size_t)event)];
        if (of_rank[0] > last_ns) last_ns = of_rank[0];
        left_ns += (double)of_rank[1] / rank_count;
      }
      const double ms = (left_ns - (double)last_ns) / 1e6;
      if (event % (1 + kWarm) == 0)
        first[firsts++] = ms;
      else
        warm[warms++] = ms;
    }
    printf("{\"program\":\"hop-mixed\",\"silences\":%d,\"ranks\":%d,\"errors\":%ld,\"first\":%.4f,\"warm\":%.4f}\n",
           silences, rank_count, errors, bench_summarise(first, firsts).median, bench_summarise(warm, warms).median);
    free(first), free(warm);
  }
  free(mine), free(all);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  const long count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
  const int silent = argc == 3 && strcmp(argv[1], "--silences") == 0;
  if (count < 1 || (!silent && strcmp(argv[1], "--calls") != 0)) {
    if (my_rank == 0) fprintf(stderr, "usage: hop-mixed --calls N | --silences N\n");
    MPI_Finalize();
    return 2;
  }
  must(sharp_start(&context), "sharp_coll_init");
  must(sharp_group(context, &comm), "sharp_coll_comm_init");
  if (silent)
    run_silences((int)count);
  else
    run_calls(count);
  must(sharp_coll_comm_destroy(comm), "sharp_coll_comm_destroy");
  must(sharp_coll_finalize(context), "sharp_coll_finalize");
  MPI_Bcast(&errors, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return errors != 0;
}
