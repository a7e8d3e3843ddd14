/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The smallest whole client of libsharp_coll, without MPI: one process forks the ranks of a job, a star of socket pairs serves the
 * out-of-band functions, and every rank adds up numbers through the aggregation tree and checks the sum.
 *
 *     sumac run example-allreduce            4 ranks
 *     sumac run example-allreduce 8 100000   8 ranks, 100000 doubles
 */
#include <sharp/api/sharp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- Out of band: rank 0 has a socket to everybody, everybody has one to rank 0. ---- */

struct star {
  int rank, size;
  int* peer; /* rank 0: [size] sockets; others: peer[0] leads to rank 0 */
};

static int move_all(int fd, void* buffer, size_t bytes, int out) {
  char* at = buffer;
  while (bytes > 0) {
    const ssize_t n = out ? send(fd, at, bytes, MSG_NOSIGNAL) : recv(fd, at, bytes, 0);
    if (n <= 0) return -1;
    at += n;
    bytes -= (size_t)n;
  }
  return 0;
}

static int star_gather(void* context, int root, void* mine, void* all, int length) {
  struct star* star = context;
  if (root != 0) return -1; /* the library gathers at rank 0 only */
  if (star->rank != 0) return move_all(star->peer[0], mine, (size_t)length, 1);
  memcpy(all, mine, (size_t)length);
  for (int rank = 1; rank < star->size; ++rank)
    if (move_all(star->peer[rank], (char*)all + (size_t)rank * (size_t)length, (size_t)length, 0) != 0) return -1;
  return 0;
}

static int star_bcast(void* context, void* buffer, int length, int root) {
  struct star* star = context;
  if (root != 0) return -1;
  if (star->rank != 0) return move_all(star->peer[0], buffer, (size_t)length, 0);
  for (int rank = 1; rank < star->size; ++rank)
    if (move_all(star->peer[rank], buffer, (size_t)length, 1) != 0) return -1;
  return 0;
}

static int star_barrier(void* context) {
  struct star* star = context;
  char nothing = 0, *all = malloc((size_t)star->size);
  const int failed = all == NULL || star_gather(context, 0, &nothing, all, 1) || star_bcast(context, &nothing, 1, 0);
  free(all);
  return failed ? -1 : 0;
}

/* ---- One rank ---- */

static int complain(const char* what, int code) {
  fprintf(stderr, "%s: %s (%d)\n", what, sharp_coll_strerror(code), code);
  return 1;
}

static double microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int run_rank(struct star* star, uint64_t job_id, size_t count) {
  struct sharp_coll_init_spec init = {0};
  init.job_id = job_id;
  init.world_rank = init.world_local_rank = star->rank;
  init.world_size = star->size;
  init.config = sharp_coll_default_config;
  init.oob_colls.bcast = star_bcast;
  init.oob_colls.barrier = star_barrier;
  init.oob_colls.gather = star_gather;
  init.oob_ctx = star;
  struct sharp_coll_context* context = NULL;
  int code = sharp_coll_init(&init, &context);
  if (code != SHARP_COLL_SUCCESS) return star->rank == 0 ? complain("sharp_coll_init", code) : 1;

  struct sharp_coll_comm_init_spec group = {0};
  group.rank = star->rank;
  group.size = star->size;
  group.oob_ctx = star;
  struct sharp_coll_comm* comm = NULL;
  code = sharp_coll_comm_init(context, &group, &comm);
  if (code != SHARP_COLL_SUCCESS) return complain("sharp_coll_comm_init", code);

  double *numbers = malloc(count * sizeof *numbers), *sum = malloc(count * sizeof *sum);
  if (numbers == NULL || sum == NULL) return complain("malloc", SHARP_COLL_ENOMEM);
  for (size_t i = 0; i < count; ++i) numbers[i] = (double)(i % 1000) + star->rank;

  struct sharp_coll_reduce_spec reduce = {0};
  reduce.sbuf_desc.buffer.ptr = numbers;
  reduce.sbuf_desc.buffer.length = count * sizeof *numbers;
  reduce.rbuf_desc.buffer.ptr = sum;
  reduce.rbuf_desc.buffer.length = count * sizeof *sum;
  reduce.dtype = SHARP_DTYPE_DOUBLE;
  reduce.length = count;
  reduce.op = SHARP_OP_SUM;
  code = sharp_coll_do_allreduce(comm, &reduce);
  if (code != SHARP_COLL_SUCCESS) return complain("sharp_coll_do_allreduce", code);
  const double of_ranks = (double)star->size * (star->size - 1) / 2;
  for (size_t i = 0; i < count; ++i) {
    const double expected = (double)(i % 1000) * star->size + of_ranks; /* exact: small whole numbers */
    if (sum[i] != expected) {
      fprintf(stderr, "rank %d: element %zu is %g, not %g\n", star->rank, i, sum[i], expected);
      return 1;
    }
  }

  enum { kTimes = 1000 };
  double begin = microseconds();
  for (int i = 0; i < kTimes; ++i)
    if ((code = sharp_coll_do_barrier(comm)) != SHARP_COLL_SUCCESS) return complain("sharp_coll_do_barrier", code);
  const double barrier_us = (microseconds() - begin) / kTimes;
  reduce.length = 1;
  begin = microseconds();
  for (int i = 0; i < kTimes; ++i)
    if ((code = sharp_coll_do_allreduce(comm, &reduce)) != SHARP_COLL_SUCCESS)
      return complain("sharp_coll_do_allreduce", code);
  const double allreduce_us = (microseconds() - begin) / kTimes;

  code = sharp_coll_comm_destroy(comm);
  if (code != SHARP_COLL_SUCCESS) return complain("sharp_coll_comm_destroy", code);
  code = sharp_coll_finalize(context);
  if (code != SHARP_COLL_SUCCESS) return complain("sharp_coll_finalize", code);
  free(numbers);
  free(sum);
  if (star->rank == 0)
    printf(
        "%d ranks added up %zu doubles through the tree: all sums exact. Barrier %.1f us, allreduce of 8 bytes %.1f "
        "us.\n",
        star->size, count, barrier_us, allreduce_us);
  return 0;
}

int main(int argc, char** argv) {
  const int size = argc > 1 ? atoi(argv[1]) : 4;
  const long long count = argc > 2 ? atoll(argv[2]) : 10000;
  if (size < 1 || size > 256 || count < 1) {
    fprintf(stderr, "usage: %s [RANKS 1..256] [COUNT]\n", argv[0]);
    return 2;
  }
  const uint64_t job_id = (uint64_t)time(NULL) << 22 | (uint64_t)getpid();

  int *mine = calloc((size_t)size, sizeof *mine), *theirs = calloc((size_t)size, sizeof *theirs);
  for (int rank = 1; rank < size; ++rank) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
      perror("socketpair");
      return 1;
    }
    mine[rank] = pair[0];
    theirs[rank] = pair[1];
  }
  for (int rank = 1; rank < size; ++rank) {
    const pid_t pid = fork();
    if (pid < 0) {
      perror("fork");
      return 1;
    }
    if (pid > 0) continue;
    /* Keep our own end only, so that a rank that dies is seen by the others as a closed socket. */
    for (int other = 1; other < size; ++other) {
      close(mine[other]);
      if (other != rank) close(theirs[other]);
    }
    struct star star = {rank, size, &theirs[rank]};
    _exit(run_rank(&star, job_id, (size_t)count));
  }
  for (int rank = 1; rank < size; ++rank) close(theirs[rank]);
  struct star star = {0, size, mine};
  int failed = run_rank(&star, job_id, (size_t)count);
  for (int rank = 1; rank < size; ++rank) close(mine[rank]);
  int status = 0;
  while (wait(&status) > 0)
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) failed = 1;
  if (failed) fprintf(stderr, "FAILED\n");
  free(mine);
  free(theirs);
  return failed ? 1 : 0;
}
