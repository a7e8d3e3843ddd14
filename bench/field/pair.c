#include "bench/field/pair.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/field/osu.h"

enum { kWidth = 18, kAnswerBytes = 4, kTag = 1, kAnswerTag = 2 };

/* OSU's iterations, and their names with the spelling of their first lines. */
const field_pair_kind kFieldPairTable[kFieldPairs] = {
    {"osu_latency", "Latency", "Latency (us)", 1, 0, 0, 10000, 1000, 100, 10},
    {"osu_bw", "Bandwidth", "Bandwidth (MB/s)", 0, 0, 1, 100, 20, 10, 2},
    {"osu_bibw", "Bi-Directional Bandwidth", "Bandwidth (MB/s)", 0, 1, 1, 100, 20, 10, 2}};

const field_pair_kind* field_find_pair(const char* name) {
  for (int i = 0; i < kFieldPairs; ++i)
    if (strcmp(kFieldPairTable[i].name, name) == 0) return &kFieldPairTable[i];
  return NULL;
}

/* One rank's buffers at one size. All messages of a window share a buffer, as in OSU's programs: a check reads the last one. */
typedef struct {
  const field_osu_command* command;
  size_t bytes;
  int rank;
  unsigned char *send, *receive;
  MPI_Request* requests;
  MPI_Status* statuses; /* MPICH's header lets GCC complain of MPI_STATUSES_IGNORE. */
  long errors;
} pair_run;

/* The byte at a position of a message: another rank's, another iteration's or a shifted message is found. */
static unsigned char byte_of(int rank, int iteration, size_t at) {
  return (unsigned char)(at * 7 + (at >> 8) * 13 + (size_t)iteration * 31 + (size_t)rank * 101 + 1);
}

static void fill(pair_run* r, int iteration) {
  for (size_t at = 0; at < r->bytes; ++at) r->send[at] = byte_of(r->rank, iteration, at);
  memset(r->receive, 0, r->bytes);
}

static void check(pair_run* r, int iteration) {
  const int receives = r->command->pair->goes_back || r->command->pair->both_ways || r->rank == 1;
  for (size_t at = 0; receives && at < r->bytes; ++at) {
    const unsigned char expected = byte_of(1 - r->rank, iteration, at);
    if (r->receive[at] == expected) continue;
    if (r->errors++ == 0)
      fprintf(stderr, "%s: WRONG at rank %d: %zu bytes, iteration %d, byte %zu is %d instead of %d\n",
              r->command->pair->name, r->rank, r->bytes, iteration, at, r->receive[at], expected);
  }
}

/* A message there and one back. @return the time of both at rank 0, in seconds. */
static double there_and_back(pair_run* r) {
  const int bytes = (int)r->bytes, other = 1 - r->rank;
  const double begin = MPI_Wtime();
  if (r->rank == 0) MPI_Send(r->send, bytes, MPI_BYTE, other, kTag, MPI_COMM_WORLD);
  MPI_Recv(r->receive, bytes, MPI_BYTE, other, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (r->rank == 1) MPI_Send(r->send, bytes, MPI_BYTE, other, kTag, MPI_COMM_WORLD);
  return MPI_Wtime() - begin;
}

/* A window of messages, in one direction or in both; rank 1 answers when it has its own. @return the time at rank 0. */
static double window(pair_run* r) {
  const int bytes = (int)r->bytes, other = 1 - r->rank, both_ways = r->command->pair->both_ways;
  const long count = r->command->window;
  char answer[kAnswerBytes] = {0};
  int posted = 0;
  const double begin = MPI_Wtime();
  for (long i = 0; (both_ways || r->rank == 1) && i < count; ++i)
    MPI_Irecv(r->receive, bytes, MPI_BYTE, other, kTag, MPI_COMM_WORLD, &r->requests[posted++]);
  for (long i = 0; (both_ways || r->rank == 0) && i < count; ++i)
    MPI_Isend(r->send, bytes, MPI_BYTE, other, kTag, MPI_COMM_WORLD, &r->requests[posted++]);
  MPI_Waitall(posted, r->requests, r->statuses);
  if (r->rank == 0)
    MPI_Recv(answer, kAnswerBytes, MPI_BYTE, other, kAnswerTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(answer, kAnswerBytes, MPI_BYTE, other, kAnswerTag, MPI_COMM_WORLD);
  return MPI_Wtime() - begin;
}

/* @return the sum of the times of all counted iterations, in seconds. */
static double measure(pair_run* r, long warmup, long iterations) {
  double total = 0;
  for (long i = -warmup; i < iterations; ++i) {
    const int number = (int)(i + warmup);
    if (r->command->is_checked) fill(r, number);
    // No rank may begin while the other one still checks: it would wait in the measured time.
    if (r->command->is_checked || i <= 0) MPI_Barrier(MPI_COMM_WORLD);
    const double took = r->command->pair->goes_back ? there_and_back(r) : window(r);
    if (i >= 0) total += took;
    if (r->command->is_checked) check(r, number);
  }
  return total;
}

static void print_row(const pair_run* r, double seconds, long iterations) {
  const field_osu_command* command = r->command;
  const double each = seconds / (double)iterations;
  const double moved = (double)r->bytes * (double)command->window * (command->pair->both_ways ? 2 : 1);
  printf("%-10zu%*.2f", r->bytes, kWidth, command->pair->goes_back ? each * 1e6 / 2 : moved / 1e6 / each);
  if (command->is_checked) printf("%*s", kWidth, r->errors == 0 ? "Pass" : "Fail");
  printf("\n");
  fflush(stdout);
}

/* Allocates at both ranks. @return -1: one of them has too little memory, or may not have as much; rank 0 has said so. */
static int allocate(pair_run* r) {
  const size_t room = r->bytes == 0 ? 1 : r->bytes;
  const int is_within = 2 * r->bytes <= r->command->memory_max;
  r->send = is_within ? calloc(room, 1) : NULL;
  r->receive = is_within ? calloc(room, 1) : NULL;
  r->requests = calloc((size_t)r->command->window * 2, sizeof *r->requests);
  r->statuses = calloc((size_t)r->command->window * 2, sizeof *r->statuses);
  int mine = r->send != NULL && r->receive != NULL && r->requests != NULL && r->statuses != NULL, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!all && r->rank == 0)
    fprintf(stderr, "%s: %zu bytes and more are left out: %s the %zu bytes of a process's buffers\n",
            r->command->pair->name, r->bytes, is_within ? "no memory for" : "-M does not allow", 2 * r->bytes);
  return all ? 0 : -1;
}

/* @return 0: measured; -1: this size and the larger ones are left out. */
static int measure_row(const field_osu_command* command, int rank, size_t bytes, int* any_wrong) {
  const int is_large = bytes > kFieldOsuLargeBytes;
  const long iterations = is_large ? command->iterations_large : command->iterations;
  pair_run r = {.command = command, .bytes = bytes, .rank = rank};
  const int status = allocate(&r);
  if (status == 0) {
    const double seconds = measure(&r, is_large ? command->warmup_large : command->warmup, iterations);
    long errors = 0;
    MPI_Allreduce(&r.errors, &errors, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    r.errors = errors;
    if (rank == 0) print_row(&r, seconds, iterations);
    *any_wrong |= errors != 0;
  }
  free(r.send), free(r.receive), free(r.requests), free(r.statuses);
  return status;
}

int field_pair_run(const struct field_osu_command* command) {
  int rank, rows = 0, any_wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    printf("\n");
    field_osu_title(command);
    printf("%-10s%*s", "# Size", kWidth, command->pair->column);
    if (command->is_checked) printf("%*s", kWidth, "Validation");
    printf("\n");
    fflush(stdout);
  }
  for (size_t bytes = command->bytes_min; bytes <= command->bytes_max; bytes = bytes == 0 ? 1 : bytes * 2, ++rows)
    if (measure_row(command, rank, bytes, &any_wrong) != 0) break;
  return any_wrong ? 1 : rows == 0 ? 2 : 0;
}
