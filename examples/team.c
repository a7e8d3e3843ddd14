/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A team without MPI: one process forks the ranks, which meet in memory that they share. They hold a ring of numbers, each some of it.
 * In every step each number becomes the mean of its neighbours': ranks send the ends of what they hold to each other. The sum of all
 * stays as it is, which an allreduce shows.
 *
 *     example-team            4 ranks
 *     example-team 3          3 ranks
 *
 *     cc team.c $(pkg-config --cflags --libs sumac_team) -pthread -lm
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sumac/team.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELD 1000
#define STEPS 50
#define RANKS_MAX 64

/* ---- how the ranks meet: any allgather will do, such as one of a launcher or of a store ---- */

struct meeting {
  pthread_barrier_t barrier;
  char bytes[RANKS_MAX][65536];
};

struct rank {
  struct meeting* meeting;
  int rank, size;
};

static int allgather(void* context, const void* in, void* out, size_t bytes) {
  const struct rank* own = context;
  if (bytes > sizeof own->meeting->bytes[0]) return -1;
  memcpy(own->meeting->bytes[own->rank], in, bytes);
  pthread_barrier_wait(&own->meeting->barrier);
  for (int rank = 0; rank < own->size; ++rank)
    memcpy((char*)out + (size_t)rank * bytes, own->meeting->bytes[rank], bytes);
  pthread_barrier_wait(&own->meeting->barrier); /* the next use may write */
  return 0;
}

/* ---- what a rank does ---- */

static int check(sumac_open_team_t* team, int status, const char* call) {
  if (status != SUMAC_OK) fprintf(stderr, "%s: status %d: %s\n", call, status, sumac_team_why(team));
  return status;
}
#define TRY(call) \
  if (check(team, call, #call) != SUMAC_OK) return 1

/* The neighbours' ends arrive beside the own numbers: cells[0] and cells[HELD + 1]. */
static int exchange_ends(sumac_open_team_t* team, double* cells) {
  const int rank = sumac_team_rank(team), size = sumac_team_size(team);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  enum { TO_LEFT, TO_RIGHT };
  sumac_team_request_t* sent[2];
  TRY(sumac_team_send(team, &cells[1], sizeof(double), left, TO_LEFT, &sent[0]));
  TRY(sumac_team_send(team, &cells[HELD], sizeof(double), right, TO_RIGHT, &sent[1]));
  TRY(sumac_team_recv(team, &cells[0], sizeof(double), left, TO_RIGHT, NULL, NULL));
  TRY(sumac_team_recv(team, &cells[HELD + 1], sizeof(double), right, TO_LEFT, NULL, NULL));
  for (int i = 0; i < 2; ++i) TRY(sumac_team_wait(sent[i]));
  return 0;
}

static int sum_of_all(sumac_open_team_t* team, const double* cells, double* sum) {
  double own = 0;
  for (int i = 1; i <= HELD; ++i) own += cells[i];
  TRY(sumac_team_allreduce(team, &own, sum, 1, SUMAC_FLOAT64, SUMAC_SUM, NULL));
  return 0;
}

static int compute(sumac_open_team_t* team) {
  double cells[HELD + 2], next[HELD + 2], before = 0, after = 0;
  for (int i = 1; i <= HELD; ++i) cells[i] = i % 17 + sumac_team_rank(team);
  if (sum_of_all(team, cells, &before) != 0) return 1;
  for (int step = 0; step < STEPS; ++step) {
    if (exchange_ends(team, cells) != 0) return 1;
    for (int i = 1; i <= HELD; ++i) next[i] = (cells[i - 1] + cells[i + 1]) / 2;
    memcpy(cells, next, sizeof cells);
  }
  if (sum_of_all(team, cells, &after) != 0) return 1;
  if (sumac_team_rank(team) == 0)
    printf("%d ranks: the sum was %.3f and is %.3f\n", sumac_team_size(team), before, after);
  return fabs(after - before) > 1e-6 * before;
}

static int run(struct rank* own) {
  const struct sumac_team_params params = {.struct_bytes = sizeof params,
                                           .rank = own->rank,
                                           .size = own->size,
                                           .allgather = allgather,
                                           .context = own,
                                           .name = "example",
                                           .timeout_ms = 60000};
  sumac_open_team_t* team = NULL;
  if (sumac_team_open(&params, &team) != SUMAC_OK) {
    fprintf(stderr, "%s\n", sumac_team_why(NULL));
    return 1;
  }
  const int failed = compute(team);
  sumac_team_close(team);
  return failed;
}

int main(int argc, char** argv) {
  const int size = argc > 1 ? atoi(argv[1]) : 4;
  if (size < 2 || size > RANKS_MAX) {
    fprintf(stderr, "usage: %s [RANKS, 2 to %d]\n", argv[0], RANKS_MAX);
    return 2;
  }
  struct meeting* meeting = mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_barrierattr_t shared;
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  if (meeting == MAP_FAILED || pthread_barrier_init(&meeting->barrier, &shared, (unsigned)size) != 0) return 1;
  for (int rank = 0; rank < size; ++rank)
    if (fork() == 0) {
      struct rank own = {meeting, rank, size};
      return run(&own);
    }
  int failed = 0;
  for (int status = 0; wait(&status) > 0;) failed |= status;
  return failed != 0;
}
