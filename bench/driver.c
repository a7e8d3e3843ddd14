#include "bench/driver.h"

#include <getopt.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"

static const bench_program* program;
static int my_rank, rank_count, clock_shared;

/* Complains once, from rank 0 where all ranks see the same mistake. */
__attribute__((noreturn, format(printf, 1, 2))) static void die_together(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (my_rank == 0) {
    fprintf(stderr, "%s: ", program->name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
  }
  va_end(arguments);
  MPI_Finalize();
  exit(2);
}

__attribute__((noreturn, format(printf, 1, 2))) static void die_alone(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s: rank %d: ", program->name, my_rank);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  MPI_Abort(MPI_COMM_WORLD, 3);
  exit(3);
}

/* One element keeps its integer type, whose check is equality; a large vector is float, as gradients and fields are:
 * there additions cost something and rounding shows. */
static bench_type automatic_type(size_t bytes) {
  if (bytes > (size_t)64 << 10) return kBenchFloat;
  return bytes % 8 == 0 ? kBenchInt64 : kBenchInt32;
}

static int all_read_one_clock(void) {
  char mine[64] = "", first[64];
  FILE* file = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (file != NULL) {
    if (fgets(mine, sizeof mine, file) == NULL) mine[0] = '\0';
    fclose(file);
  }
  memcpy(first, mine, sizeof first);
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
  int same = mine[0] != '\0' && memcmp(mine, first, sizeof first) == 0, all_same = 0;
  MPI_Allreduce(&same, &all_same, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return all_same;
}

static void call_once(const bench_collective* collective, const bench_call* arguments, int iteration, size_t bytes) {
  const int code = collective->call(arguments);
  if (code != 0)
    die_alone("%s of %zu bytes failed in iteration %d: %s", collective->name, bytes, iteration, program->explain(code));
}

/* Agrees with all ranks on a moment in the near future and sleeps until then. Without it a late rank would add its delay to
 * the time of a collective in which not every rank waits for every other. */
static void start_together(void) {
  static int64_t agreeing_ns = 100 * 1000 * 1000;  // This is a guess for the first call.
  const int64_t mine[2] = {bench_now_ns(), agreeing_ns};
  int64_t latest[2];
  MPI_Allreduce(mine, latest, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  agreeing_ns = bench_now_ns() - latest[0];
  bench_sleep_until_ns(latest[0] + 2 * latest[1]);
}

/* [rank][iteration] of every rank, at rank 0. */
static void gather_times(const int64_t* mine, int iterations, int64_t* all) {
  MPI_Gather(mine, iterations, MPI_INT64_T, all, iterations, MPI_INT64_T, 0, MPI_COMM_WORLD);
}

/* Returns how many iterations let somebody out before the last one was in. */
static long early_exits(const int64_t* entered, const int64_t* left, int iterations) {
  long early = 0;
  for (int i = 0; i < iterations; ++i) {
    int64_t last_in = entered[i], first_out = left[i];
    for (int rank = 1; rank < rank_count; ++rank) {
      const size_t at = (size_t)rank * (size_t)iterations + (size_t)i;
      if (entered[at] > last_in) last_in = entered[at];
      if (left[at] < first_out) first_out = left[at];
    }
    if (first_out >= last_in) continue;
    if (early++ == 0)
      fprintf(stderr, "%s: barrier, iteration %d: a rank left %.3f us before another had entered\n", program->name, i,
              (double)(last_in - first_out) / 1e3);
  }
  return early;
}

typedef struct {
  const bench_collective* collective;
  size_t bytes;
  bench_type type;
  int iterations, warmup;
} cell;

/* An untimed barrier precedes each call of these shapes, because their ranks would otherwise start at different times. Calls
 * of barrier and allreduce follow each other without one. */
static int wants_barrier(bench_shape shape) { return shape == kBenchSumPart; }

/* These shapes have one duration for all ranks: from the common start until the last rank, or the root, has its result. */
static int is_one_span(bench_shape shape) {
  return shape == kBenchGather || shape == kBenchFromRoot || shape == kBenchToRoot;
}

static void fill(const cell* c, const bench_pattern* pattern, const bench_call* a, int iteration, void* send) {
  if (c->collective->shape == kBenchGather)
    bench_pattern_fill_part(pattern, my_rank, iteration, (size_t)my_rank * a->block, a->block, send);
  else if (c->collective->shape == kBenchFromRoot ? my_rank == a->root : c->collective->shape != kBenchNothing)
    bench_pattern_fill(pattern, my_rank, iteration, send);
}

/* Elements that are wrong; the first one in `wrong`. `scratch` holds one block. */
static size_t check(const cell* c, const bench_pattern* pattern, const bench_call* a, int iteration, void* scratch,
                    bench_mismatch* wrong) {
  const size_t width = bench_type_bytes(c->type);
  switch (c->collective->shape) {
    case kBenchNothing: return 0;
    case kBenchAllSum: return bench_pattern_check(pattern, iteration, a->receive, wrong);
    case kBenchSumPart:
      return bench_pattern_check_part(pattern, iteration, (size_t)my_rank * a->block, a->block, a->receive, wrong);
    case kBenchGather:
      for (int rank = 0; rank < a->ranks; ++rank) {
        const size_t at = (size_t)rank * a->block;
        bench_pattern_fill_part(pattern, rank, iteration, at, a->block, scratch);
        if (memcmp((const char*)a->receive + at * width, scratch, a->block * width) == 0) continue;
        *wrong = (bench_mismatch){.element = at};  // the block that holds it
        return a->block;
      }
      return 0;
    case kBenchFromRoot:
      bench_pattern_fill(pattern, a->root, iteration, scratch);
      if (memcmp(my_rank == a->root ? a->send : a->receive, scratch, c->bytes) == 0) return 0;
      *wrong = (bench_mismatch){.element = 0};  // The whole vector is compared, not its elements.
      return a->count;
    case kBenchToRoot: return my_rank == a->root ? bench_pattern_check(pattern, iteration, a->receive, wrong) : 0;
    case kBenchExchange:
      for (int rank = 0; rank < a->ranks; ++rank) {
        bench_pattern_fill_part(pattern, rank, iteration, (size_t)my_rank * a->block, a->block, scratch);
        if (memcmp((const char*)a->receive + (size_t)rank * a->block * width, scratch, a->block * width) == 0) continue;
        *wrong = (bench_mismatch){.element = (size_t)rank * a->block};  // the block that holds it
        return a->block;
      }
      return 0;
  }
  return 0;
}

/* Runs one cell on every rank. @return failed checks, at every rank. */
static long run_cell(const cell* c) {
  const bench_shape shape = c->collective->shape;
  const int total = c->warmup + c->iterations;
  const int has_data = shape != kBenchNothing;
  const size_t elements = has_data ? c->bytes / bench_type_bytes(c->type) : 0;
  const size_t slots = (size_t)total * (my_rank == 0 ? (size_t)rank_count : 1);
  int64_t *entered = calloc((size_t)total, sizeof *entered), *left = calloc((size_t)total, sizeof *left);
  int64_t *all_entered = calloc(slots, sizeof *all_entered), *all_left = calloc(slots, sizeof *all_left);
  double* means = calloc((size_t)c->iterations, sizeof *means);
  bench_pattern* pattern = has_data ? bench_pattern_new(c->type, rank_count, elements) : NULL;
  void *send = has_data ? malloc(c->bytes) : NULL, *receive = has_data ? calloc(1, c->bytes) : NULL;
  void* scratch = has_data ? malloc(c->bytes) : NULL;
  if (!entered || !left || !all_entered || !all_left || !means ||
      (has_data && (!pattern || !send || !receive || !scratch)))
    die_alone("out of memory: use smaller sizes or fewer iterations");
  bench_call arguments = {.send = send,
                          .receive = receive,
                          .count = elements,
                          .block = elements / (size_t)rank_count,
                          .ranks = rank_count,
                          .rank = my_rank,
                          .type = c->type};

  long errors = 0;
  int64_t cpu_ns = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < total; ++i) {
    arguments.root = i % rank_count;
    fill(c, pattern, &arguments, i, send);
    if (wants_barrier(shape)) MPI_Barrier(MPI_COMM_WORLD);
    if (is_one_span(shape)) start_together();
    const int64_t cpu_before = bench_cpu_ns();
    const int64_t entered_ns = entered[i] = bench_now_ns();
    call_once(c->collective, &arguments, i, c->bytes);
    const int64_t left_ns = left[i] = bench_now_ns();
    if (i >= c->warmup) cpu_ns += bench_cpu_ns() - cpu_before;
    // A bcast begins when the root enters it, and a reduce ends when the root leaves it; the other ranks' times do not count.
    if (shape == kBenchFromRoot && my_rank != arguments.root) entered[i] = 0;
    if (shape == kBenchToRoot && my_rank != arguments.root) left[i] = 0;
    if (c->collective->waits) {
      const int needs_nobody = (shape == kBenchFromRoot) == (my_rank == arguments.root);
      entered[i] = needs_nobody ? entered_ns : 0;
      left[i] = needs_nobody ? left_ns : 0;
    }
    bench_mismatch wrong;
    if (check(c, pattern, &arguments, i, scratch, &wrong) == 0) continue;
    if (errors++ == 0)
      fprintf(stderr,
              "%s: rank %d, %s of %zu bytes (%s), iteration %d, element %zu: got %.17g, expected %.17g within %.3g\n",
              program->name, my_rank, c->collective->name, c->bytes, bench_type_name(c->type), i, wrong.element,
              wrong.got, wrong.expected, wrong.allowed);
  }

  gather_times(entered, total, all_entered);
  gather_times(left, total, all_left);
  long all_errors = 0;
  MPI_Reduce(&errors, &all_errors, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  int64_t all_cpu_ns = 0;
  MPI_Reduce(&cpu_ns, &all_cpu_ns, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (my_rank == 0) {
    long verified = (long)total * rank_count;
    if (!has_data && !clock_shared)
      verified = -1;
    else if (!has_data)
      all_errors = early_exits(all_entered, all_left, total), verified = total;
    if (shape == kBenchToRoot) verified = total;
    if (is_one_span(shape)) {
      bench_span_over_ranks_ms(all_entered, all_left, rank_count, total, c->warmup, c->iterations, means);
    } else {
      for (size_t at = 0; at < slots; ++at) all_left[at] -= all_entered[at];
      bench_mean_over_ranks_ms(all_left, rank_count, total, c->warmup, c->iterations, means);
    }
    const bench_result result = {.program = program->name,
                                 .collective = c->collective->name,
                                 .type = has_data ? bench_type_name(c->type) : NULL,
                                 .bytes = c->bytes,
                                 .ranks = rank_count,
                                 .iterations = c->iterations,
                                 .warmup = c->warmup,
                                 .verified = verified,
                                 .errors = all_errors,
                                 .ms = bench_summarise(means, (size_t)c->iterations),
                                 .cpu_ms = (double)all_cpu_ns / rank_count / c->iterations / 1e6};
    bench_print_json(stdout, &result);
  }
  MPI_Bcast(&all_errors, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  free(entered), free(left), free(all_entered), free(all_left), free(means), free(send), free(receive), free(scratch);
  bench_pattern_free(pattern);
  return all_errors;
}

static void print_help(void) {
  printf("usage: mpirun -n RANKS %s [--type TYPE] --case CASE [--case CASE ...]\n\n%s\n", program->name,
         program->purpose);
  printf(
      "Verifies every iteration outside of the timed part. Prints one JSON line per cell (ms) on rank 0; exit status 1 "
      "if\n"
      "any result was wrong.\n"
      "\n"
      "  --case NAME[:SIZES[:ITERATIONS[:WARMUP]]]\n"
      "                NAME: barrier, allreduce or what else the program names. SIZES: bytes of the whole vector, such "
      "as\n"
      "                8,64K,16M; of reduce_scatter(_block) and allgather each rank gets or gives its part, of\n"
      "                alltoall(v) a part to everybody. bcast and reduce have another root in each iteration.\n"
      "                ITERATIONS: 200 up to 64 KiB, 10 up to 16 MiB, 5 above, unless given.\n"
      "                WARMUP: further iterations before, dropped: 10 %% of ITERATIONS, at least 5, unless given.\n"
      "  --type TYPE   int32, int64, float, double, or auto (default): int64 up to 64 KiB (int32 if the size is no\n"
      "                multiple of 8), float above.\n"
      "  --help\n");
}

static void add_case(const bench_case* one, int automatic, bench_type type, cell* cells, int* cell_count, int max) {
  const bench_collective* collective = NULL;
  for (int i = 0; i < program->collective_count; ++i)
    if (strcmp(one->name, program->collectives[i].name) == 0) collective = &program->collectives[i];
  if (collective == NULL) die_together("no collective '%s': try --help", one->name);
  for (int i = 0; i < one->size_count; ++i) {
    cell c = {.collective = collective, .bytes = one->sizes[i]};
    c.type = automatic ? automatic_type(c.bytes) : type;
    c.iterations = one->iterations > 0 ? one->iterations : bench_default_iterations(c.bytes);
    c.warmup = one->warmup >= 0 ? one->warmup : bench_default_warmup(c.iterations);
    const size_t width = bench_type_bytes(c.type);
    const int has_data = collective->shape != kBenchNothing;
    if (has_data && (c.bytes == 0 || c.bytes % width != 0 || c.bytes / width > INT32_MAX))
      die_together("%s of %zu bytes: the size must be a multiple of %zu (%s), from 1 to 2^31-1 elements", one->name,
                   c.bytes, width, bench_type_name(c.type));
    if ((collective->shape == kBenchSumPart || collective->shape == kBenchGather ||
         collective->shape == kBenchExchange) &&
        c.bytes / width % (size_t)rank_count != 0)
      die_together("%s of %zu bytes: %d ranks do not get equal parts of it", one->name, c.bytes, rank_count);
    if (!has_data && c.bytes != 0)
      die_together("%s carries no data: give no size (%s::ITERATIONS)", one->name, one->name);
    if (is_one_span(collective->shape) && !clock_shared)
      die_together(
          "%s lasts until its last rank is done, which ranks with clocks of their own cannot tell: start all of them "
          "on one machine",
          one->name);
    if (*cell_count == max) die_together("too many cells: split them over two starts");
    cells[(*cell_count)++] = c;
  }
}

int bench_main(int argc, char** argv, const bench_program* which) {
  program = which;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // so that a failure is told with its iteration

  static const struct option kOptions[] = {{"case", required_argument, NULL, 'c'},
                                           {"type", required_argument, NULL, 't'},
                                           {"help", no_argument, NULL, 'h'},
                                           {NULL, 0, NULL, 0}};
  bench_case cases[kBenchCasesMax];
  int case_count = 0, automatic = 1, code = 0;
  bench_type type = kBenchInt64;
  char message[256];
  opterr = 0;
  for (int option; (option = getopt_long(argc, argv, "", kOptions, NULL)) != -1;) {
    if (option == 'h') {
      if (my_rank == 0) print_help();
      MPI_Finalize();
      return 0;
    } else if (option == 'c') {
      if (case_count == kBenchCasesMax) die_together("too many --case: split them over two starts");
      if (bench_parse_case(optarg, &cases[case_count++], message, sizeof message) != 0) die_together("%s", message);
    } else if (option == 't') {
      automatic = strcmp(optarg, "auto") == 0;
      if (!automatic && bench_parse_type(optarg, &type) != 0)
        die_together("no type '%s': int32, int64, float, double or auto", optarg);
    } else {
      die_together("cannot read '%s': try --help", argv[optind - 1]);
    }
  }
  if (optind < argc) die_together("cannot read '%s': try --help", argv[optind]);
  if (case_count == 0) die_together("nothing to do: give --case, or --help");
  if (rank_count > kBenchRanksMax) die_together("more than 2047 ranks: sums of int32 would overflow");

  static cell cells[kBenchCasesMax * kBenchSizesMax];
  int cell_count = 0;
  clock_shared = all_read_one_clock();
  for (int i = 0; i < case_count; ++i)
    add_case(&cases[i], automatic, type, cells, &cell_count, (int)(sizeof cells / sizeof cells[0]));
  if (program->start != NULL && (code = program->start()) != 0) die_alone("cannot start: %s", program->explain(code));
  long errors = 0;
  for (int i = 0; i < cell_count; ++i) errors += run_cell(&cells[i]);
  if (program->stop != NULL && (code = program->stop()) != 0) die_alone("cannot stop: %s", program->explain(code));
  MPI_Finalize();
  return errors == 0 ? 0 : 1;
}
