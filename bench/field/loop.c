#include "bench/field/loop.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double units_per_us = 0;

/* The computation beside a collective: arithmetic that no compiler leaves out and that needs no memory. */
static void compute_units(double units) {
  volatile double sink = 1.0;
  for (double i = 0; i < units; i += 1.0) sink = sink * 1.0000001 + 1e-9;
}

static double cpu_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

void field_calibrate(void) {
  enum { kUnits = 100000, kTimes = 5 };
  // The fastest of a few: the others were interrupted. Processor time, because ranks may share a core.
  for (int i = 0; i < kTimes; ++i) {
    const double begin = cpu_us();
    compute_units(kUnits);
    const double speed = kUnits / (cpu_us() - begin);
    if (speed > units_per_us) units_per_us = speed;
  }
}

static double now_us(void) { return MPI_Wtime() * 1e6; }

/* Computes for a time, with calls of MPI_Test in between. @return the time of those calls. */
static double compute_beside(double us, int tests, MPI_Request* request) {
  double tested = 0;
  const double units = us * units_per_us / (tests + 1);
  for (int part = 0; part <= tests; ++part) {
    compute_units(units);
    if (part == tests) break;
    int is_done = 0;
    const double begin = now_us();
    MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
    tested += now_us() - begin;
  }
  return tested;
}

static void complain(const field_cell* cell, int iteration, size_t errors, const field_wrong* wrong) {
  int world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  fprintf(stderr, "%s: WRONG at rank %d: %zu bytes, iteration %d, %s %zu is %.9g instead of %.9g (%zu wrong in all)\n",
          cell->name, world, cell->bytes, iteration, cell->kind->reduces ? "element" : "byte", wrong->element,
          wrong->found, wrong->expected, errors);
}

/* One rank's state during a cell. */
typedef struct {
  const field_cell* cell;
  field_data data;
  double* samples; /* pure times of the counted iterations, in microseconds */
  long errors;
} run;

static void before(run* r, int iteration) {
  if (r->cell->is_checked) field_data_fill(&r->data, iteration);
}

static void after(run* r, int iteration) {
  field_wrong wrong;
  const size_t errors = r->cell->is_checked ? field_data_check(&r->data, iteration, &wrong) : 0;
  if (errors != 0 && r->errors == 0) complain(r->cell, iteration, errors, &wrong);
  r->errors += (long)errors;
  if (r->cell->kind->gives != kFieldNothing) MPI_Barrier(r->cell->comm);
}

/* Returns the time of one call. */
static double call_once(const run* r) {
  const double begin = now_us();
  if (r->cell->overlaps || r->cell->is_pure) {
    MPI_Request request;
    r->cell->kind->post(&r->data.call, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    r->cell->kind->call(&r->data.call);
  }
  return now_us() - begin;
}

/* Intel's programs shorten a sample that would take too long, by what the warm-up took at the slowest rank. */
static int fitting(const field_cell* cell, double warmup_us) {
  if (cell->seconds_max <= 0 || cell->warmup == 0) return cell->iterations;
  double mine = warmup_us / cell->warmup, slowest = 0;
  int rank, fits;
  MPI_Comm_rank(cell->comm, &rank);
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, cell->comm);
  fits = slowest > 0 && cell->seconds_max * 1e6 / slowest < cell->iterations ? (int)(cell->seconds_max * 1e6 / slowest)
                                                                             : cell->iterations;
  if (fits < 1) fits = 1;
  MPI_Bcast(&fits, 1, MPI_INT, 0, cell->comm);
  return fits;
}

static int measure_pure(run* r, field_times* mine) {
  const field_cell* cell = r->cell;
  double warmup_us = 0;
  for (int i = 0; i < cell->warmup; ++i) {
    before(r, i);
    warmup_us += call_once(r);
    after(r, i);
  }
  const int iterations = fitting(cell, warmup_us);
  for (int i = 0; i < iterations; ++i) {
    before(r, cell->warmup + i);
    r->samples[i] = call_once(r);
    mine->pure += r->samples[i] / iterations;
    after(r, cell->warmup + i);
  }
  return iterations;
}

static void measure_overlap(run* r, int iterations, field_times* mine) {
  const field_cell* cell = r->cell;
  for (int i = -cell->warmup; i < iterations; ++i) {
    const int number = 2 * cell->warmup + iterations + i;  // other data than in the calls before
    before(r, number);
    MPI_Request request;
    const double begin = now_us();
    cell->kind->post(&r->data.call, &request);
    const double posted = now_us();
    const double tested = compute_beside(mine->pure, cell->tests, &request);
    const double computed = now_us();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const double end = now_us();
    after(r, number);
    if (i < 0) continue;
    mine->overall += (end - begin) / iterations;
    mine->compute += (computed - posted - tested) / iterations;
    mine->post += (posted - begin) / iterations;
    mine->test += tested / iterations;
    mine->wait += (end - computed) / iterations;
  }
}

/* Rank 0 gets the times of all ranks, and their mean for each iteration. */
static void collect(const run* r, const field_times* mine, field_result* result) {
  const MPI_Comm comm = r->cell->comm;
  const int iterations = result->iterations;
  const int fields = (int)(sizeof *mine / sizeof(double));
  MPI_Gather(mine, fields, MPI_DOUBLE, result->of_rank, fields, MPI_DOUBLE, 0, comm);
  MPI_Reduce(r->samples, result->pure_of_iteration, iterations, MPI_DOUBLE, MPI_SUM, 0, comm);
  for (int i = 0; r->data.rank == 0 && i < iterations; ++i) result->pure_of_iteration[i] /= result->ranks;
  MPI_Reduce(&r->errors, &result->errors, 1, MPI_LONG, MPI_SUM, 0, comm);
  MPI_Bcast(&result->errors, 1, MPI_LONG, 0, comm);
}

/* Every rank finds the same. */
static int is_within_limits(const field_cell* cell, int ranks) {
  int rank;
  MPI_Comm_rank(cell->comm, &rank);
  // The displacements first: no larger memory helps there.
  if (field_data_start_max(cell->kind, cell->bytes, ranks) > INT_MAX) {
    if (rank == 0)
      fprintf(stderr,
              "%s: %zu bytes and more are left out: with %d ranks a displacement would be above %d, the largest int: "
              "take smaller sizes (%s) or fewer ranks\n",
              cell->name, cell->bytes, ranks, INT_MAX, cell->options->sizes);
    return 0;
  }
  const size_t needed = field_data_bytes(cell->kind, cell->bytes, ranks, cell->is_checked);
  if ((double)needed > cell->memory_max) {
    if (rank == 0)
      fprintf(stderr, "%s: %zu bytes and more are left out: the buffers of a process would take %zu bytes; see %s\n",
              cell->name, cell->bytes, needed, cell->options->memory);
    return 0;
  }
  return 1;
}

typedef enum { kEnough, kNoBuffers, kNoTimes } shortage;

static shortage allocate(run* r, field_result* result, int rank) {
  const field_cell* cell = r->cell;
  const size_t times_bytes = (size_t)cell->iterations * sizeof(double);
  if (field_data_begin(&r->data, cell->kind, cell->bytes, cell->is_checked, cell->comm) != 0) return kNoBuffers;
  if ((r->samples = malloc(times_bytes)) == NULL) return kNoTimes;
  if (rank != 0) return kEnough;
  result->of_rank = malloc((size_t)result->ranks * sizeof *result->of_rank);
  result->pure_of_iteration = malloc(times_bytes);
  return result->of_rank == NULL || result->pure_of_iteration == NULL ? kNoTimes : kEnough;
}

/* Allocates at all ranks. @return -1: one of them has too little memory; rank 0 has said for what. */
static int allocate_everywhere(run* r, field_result* result) {
  const field_cell* cell = r->cell;
  int rank, worst = kEnough;
  MPI_Comm_rank(cell->comm, &rank);
  const int mine = (int)allocate(r, result, rank);
  MPI_Reduce(&mine, &worst, 1, MPI_INT, MPI_MAX, 0, cell->comm);
  MPI_Bcast(&worst, 1, MPI_INT, 0, cell->comm);
  if (rank == 0 && worst == kNoTimes)
    fprintf(stderr, "%s: no memory for the times of %d iterations: take fewer (%s)\n", cell->name, cell->iterations,
            cell->options->iterations);
  if (rank == 0 && worst == kNoBuffers)
    fprintf(stderr,
            "%s: %zu bytes and more are left out: no memory for the %zu bytes of a process's buffers: take smaller "
            "sizes (%s) or fewer ranks\n",
            cell->name, cell->bytes, field_data_bytes(cell->kind, cell->bytes, result->ranks, cell->is_checked),
            cell->options->sizes);
  return worst == kEnough ? 0 : -1;
}

int field_measure(const field_cell* cell, field_result* result) {
  *result = (field_result){0};
  MPI_Comm_size(cell->comm, &result->ranks);
  if (!is_within_limits(cell, result->ranks)) return -1;
  run r = {.cell = cell};
  const int status = allocate_everywhere(&r, result);
  if (status == 0) {
    field_times mine = {0};
    result->iterations = measure_pure(&r, &mine);
    if (cell->overlaps) measure_overlap(&r, result->iterations, &mine);
    collect(&r, &mine, result);
  } else {
    field_result_end(result);
  }
  free(r.samples);
  field_data_end(&r.data);
  return status;
}

void field_result_end(field_result* result) {
  free(result->of_rank), free(result->pure_of_iteration);
  *result = (field_result){0};
}
