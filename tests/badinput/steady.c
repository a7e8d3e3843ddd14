/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job that goes on until it is asked to end: ranks forked from one process add up numbers and check every sum.
 * Meanwhile the test kills something, or sends rubbish to a port, and reads the fate of each rank here.
 *
 *     steady RANKS [SOCKET...]   rank r attaches to the sharpd at the socket r modulo their number; ends in good order, all ranks after
 *                                the same call, when its standard input closes
 *
 * STEADY_GRANT names a file: ranks that know the job's grant and would connect to its nodes next wait until the file
 * is removed. The file contains the grant. With STEADY_BUSY=1 calls follow each other at once, for who measures them.
 * STEADY_COUNT is how many numbers of 8 bytes they add up (1 to 16, 16 by itself).
 * STEADY_NETWORKS names network namespaces, with a colon between two: rank r enters the one at r modulo their number.
 *
 * Out-of-band functions use memory that the ranks share, so that no message of theirs disturbs the test. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sharp/api/sharp.h>
#include <sharp/api/sumac_ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kRanksMax = 16, kCountMax = 16, kEndBit = 40, kBoardBytes = 1 << 16 };

struct board {
  pthread_barrier_t barrier;
  char of[kRanksMax][kBoardBytes];
};

struct member {
  int rank, size, broadcasts;
  struct board* board;
};

static int oob_barrier(void* context) {
  struct member* me = context;
  pthread_barrier_wait(&me->board->barrier);
  return 0;
}

/* Waits at the second broadcast, which is the grant. */
static void hold(const void* grant, size_t length, const struct member* me) {
  const char* path = getenv("STEADY_GRANT");
  if (path == NULL || me->broadcasts != 2) return;
  if (me->rank == 0) {
    char unfinished[256];
    snprintf(unfinished, sizeof unfinished, "%s.unfinished", path);
    FILE* file = fopen(unfinished, "wb");
    if (file == NULL || fwrite(grant, 1, length, file) != length || fclose(file) != 0 || rename(unfinished, path) != 0)
      perror(path);
  }
  pthread_barrier_wait(&me->board->barrier);
  while (access(path, F_OK) == 0) usleep(1000);
}

static int oob_bcast(void* context, void* buffer, int length, int root) {
  struct member* me = context;
  if (length > kBoardBytes) return -1;
  if (me->rank == root) memcpy(me->board->of[root], buffer, (size_t)length);
  oob_barrier(me);
  memcpy(buffer, me->board->of[root], (size_t)length);
  oob_barrier(me);
  ++me->broadcasts;
  hold(buffer, (size_t)length, me);
  return 0;
}

static int oob_gather(void* context, int root, void* mine, void* all, int length) {
  struct member* me = context;
  if (length > kBoardBytes) return -1;
  memcpy(me->board->of[me->rank], mine, (size_t)length);
  oob_barrier(me);
  for (int rank = 0; me->rank == root && rank < me->size; ++rank)
    memcpy((char*)all + (size_t)rank * (size_t)length, me->board->of[rank], (size_t)length);
  return oob_barrier(me);
}

/* Rank 0 looks, for a millisecond: a job that only has to be there takes no processor from the tests beside it. */
static int told_to_end(int look_ms) {
  struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
  return poll(&in, 1, look_ms) != 0;
}

enum { kSlowestUs = 1 << 20 };
static unsigned calls_of_us[kSlowestUs + 1]; /* [microseconds]: number of calls that took so many */

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Returns the time that 99 of 100 calls did not exceed. */
static long p99_us(long calls) {
  long us = kSlowestUs;
  for (long slower = calls_of_us[us]; us > 0 && slower * 100 <= calls; slower += calls_of_us[us]) --us;
  return us;
}

/* Returns the median, between two whole microseconds where the calls of one lie. */
static double median_us(long calls) {
  long below = 0, us = 0;
  while (us < kSlowestUs && 2 * (below + calls_of_us[us]) < calls) below += calls_of_us[us++];
  return calls_of_us[us] == 0 ? (double)us : (double)us + ((double)calls / 2 - (double)below) / calls_of_us[us];
}

static int add_up(struct sharp_coll_comm* comm, const struct member* me) {
  long in[kCountMax], out[kCountMax];
  const char* wanted = getenv("STEADY_COUNT");
  const int count = wanted == NULL ? kCountMax : atoi(wanted);
  if (count < 1 || count > kCountMax) {
    printf("steady: STEADY_COUNT=%s: 1 to %d\n", wanted, kCountMax);
    return 1;
  }
  struct sharp_coll_reduce_spec spec = {0};
  spec.sbuf_desc.buffer.ptr = in;
  spec.sbuf_desc.buffer.length = (size_t)count * sizeof in[0];
  spec.rbuf_desc.buffer.ptr = out;
  spec.rbuf_desc.buffer.length = (size_t)count * sizeof out[0];
  spec.dtype = SHARP_DTYPE_LONG;
  spec.length = (size_t)count;
  spec.op = SHARP_OP_SUM;
  const int look_ms = getenv("STEADY_BUSY") == NULL;
  for (long call = 0;; ++call) {
    for (int i = 0; i < count; ++i) in[i] = call + me->rank + i;
    /* The sum informs all of them at the same call. */
    if (me->rank == 0 && told_to_end(look_ms)) in[0] += 1L << kEndBit;
    const long long begun = now_ns();
    const int code = sharp_coll_do_allreduce(comm, &spec);
    const long long took = (now_ns() - begun) / 1000;
    ++calls_of_us[took < kSlowestUs ? took : kSlowestUs];
    if (code != SHARP_COLL_SUCCESS) {
      char why[256] = "";
      sumac_comm_error(comm, why, sizeof why);
      printf("steady: rank %d failed after %ld calls: %s: %s\n", me->rank, call, sharp_coll_strerror(code), why);
      fflush(stdout); /* the time of the failure is measured */
      return 1;
    }
    const int is_over = (int)(out[0] >> kEndBit);
    out[0] -= (long)is_over << kEndBit;
    for (int i = 0; i < count; ++i) {
      const long sum = me->size * (call + i) + (long)me->size * (me->size - 1) / 2;
      if (out[i] != sum) {
        printf("steady: rank %d: WRONG sum %ld, not %ld, in call %ld\n", me->rank, out[i], sum, call);
        return 1;
      }
    }
    if (is_over) {
      printf("steady: rank %d done after %ld calls, half within %.2f us, 99 of 100 within %ld us\n", me->rank, call,
             median_us(call + 1), p99_us(call + 1));
      return 0;
    }
    if (call == 20 && me->rank == 0) {
      printf("steady: ready\n");
      fflush(stdout);
    }
  }
}

static int enter_network(int rank) {
  const char* of_rank = getenv("STEADY_NETWORKS");
  if (of_rank == NULL) return 0;
  int count = 1;
  for (const char* at = of_rank; (at = strchr(at, ':')) != NULL; ++at) ++count;
  for (int i = rank % count; i > 0; --i) of_rank = strchr(of_rank, ':') + 1;
  char path[256];
  snprintf(path, sizeof path, "%.*s", (int)strcspn(of_rank, ":"), of_rank);
  const int network = open(path, O_RDONLY | O_CLOEXEC);
  if (network >= 0 && setns(network, CLONE_NEWNET) == 0) return close(network);
  perror(path);
  return -1;
}

static int run_rank(struct member* me, unsigned long job_id) {
  struct sharp_coll_init_spec init = {0};
  init.job_id = job_id;
  init.world_rank = init.world_local_rank = me->rank;
  init.world_size = me->size;
  init.config = sharp_coll_default_config;
  init.oob_colls.bcast = oob_bcast;
  init.oob_colls.barrier = oob_barrier;
  init.oob_colls.gather = oob_gather;
  init.oob_ctx = me;
  struct sharp_coll_context* context = NULL;
  int code = sharp_coll_init(&init, &context);
  if (code != SHARP_COLL_SUCCESS) {
    printf("steady: rank %d: sharp_coll_init: %s\n", me->rank, sharp_coll_strerror(code));
    return 1;
  }
  struct sharp_coll_comm_init_spec group = {0};
  group.rank = me->rank;
  group.size = me->size;
  group.oob_ctx = me;
  struct sharp_coll_comm* comm = NULL;
  code = sharp_coll_comm_init(context, &group, &comm);
  if (code != SHARP_COLL_SUCCESS) {
    printf("steady: rank %d: sharp_coll_comm_init: %s\n", me->rank, sharp_coll_strerror(code));
    return 1;
  }
  int failed = add_up(comm, me);
  if (sharp_coll_comm_destroy(comm) != SHARP_COLL_SUCCESS) failed = 1;
  if (sharp_coll_finalize(context) != SHARP_COLL_SUCCESS) failed = 1;
  return failed;
}

int main(int argc, char** argv) {
  const int size = argc >= 2 ? atoi(argv[1]) : 0;
  if (size < 1 || size > kRanksMax) {
    fprintf(stderr, "usage: %s RANKS (1..%d) [SOCKET...]\n", argv[0], kRanksMax);
    return 2;
  }
  struct board* board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_barrierattr_t shared;
  if (board == MAP_FAILED || pthread_barrierattr_init(&shared) != 0 ||
      pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) != 0 ||
      pthread_barrier_init(&board->barrier, &shared, (unsigned)size) != 0) {
    perror("shared memory");
    return 1;
  }
  const unsigned long job_id = (unsigned long)time(NULL) << 22 | (unsigned long)getpid();
  for (int rank = 0; rank < size; ++rank) {
    const pid_t pid = fork();
    if (pid < 0) {
      perror("fork");
      return 1;
    }
    if (pid > 0) {
      printf("steady: rank %d pid %d\n", rank, (int)pid);
      fflush(stdout);
      continue;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc > 2) setenv("SHARP_COLL_SHARPD_SOCKET_NAME", argv[2 + rank % (argc - 2)], 1);
    struct member me = {rank, size, 0, board};
    const int failed = enter_network(rank) != 0 || run_rank(&me, job_id);
    fflush(stdout);
    _exit(failed);
  }
  int failed = 0;
  for (int status = 0; wait(&status) > 0;)
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) failed = 1;
  return failed;
}
