/* Nonblocking collectives of a rank that is away from MPI, in a given folder for its signals:
 *
 *   mpirun -n RANKS away FOLDER tree|mixed|busy [SECONDS]
 *
 *   tree    rank 0 posts, and comes back to MPI only when all others have the result
 *   mixed   the same, with an operation behind it that Open MPI's own collectives carry between hosts, and one more behind that
 *   busy    rank 0 posts on one communicator, and calls blocking collectives on another one before it waits
 *
 * With a thread that moves what is posted, tree and mixed end. Without one rank 0 says after SECONDS (60) that nobody has the
 * result yet. Rank 0 is away in poll(): it sleeps until the others write to a pipe, and uses no MPI. */
#include <mpi.h>

#include <complex.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, size;

static void fail(const char* what) {
  fprintf(stderr, "away: rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
  exit(3);
}

/* A pipe with a name, by which the other ranks signal to rank 0. */
static int pipe_to_rank_0(const char* folder) {
  static char name[4096];
  snprintf(name, sizeof name, "%s/signals", folder);
  if (rank == 0 && mkfifo(name, 0600) != 0) fail("can't make the pipe");
  MPI_Barrier(MPI_COMM_WORLD);
  const int pipe = open(name, O_RDWR | O_CLOEXEC); /* for both directions: then no rank waits in open() */
  if (pipe < 0) fail("can't open the pipe");
  return pipe;
}

static void signal_rank_0(int pipe) {
  if (write(pipe, "", 1) != 1) fail("can't write to the pipe");
}

/* Returns how many of `count` signals did not come: within `seconds` none came any more. */
static int wait_for_signals(int pipe, int count, int seconds) {
  while (count > 0) {
    struct pollfd one = {.fd = pipe, .events = POLLIN};
    const int ready = poll(&one, 1, 1000 * seconds);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 1) return count;
    char bytes[64];
    const ssize_t got = read(pipe, bytes, (size_t)count < sizeof bytes ? (size_t)count : sizeof bytes);
    if (got < 1) fail("can't read from the pipe");
    count -= (int)got;
  }
  return 0;
}

/* Returns how many signals are missing. */
static int be_away(int pipe, int seconds) {
  const int missing = rank == 0 ? wait_for_signals(pipe, size - 1, seconds) : 0;
  if (missing == size - 1) {
    printf("away: nobody has the result while rank 0 is away from MPI\n");
    fflush(stdout);
  }
  return missing;
}

static void fill(long* values, int count, int turn) {
  for (int i = 0; i < count; ++i) values[i] = rank * 3L + i + turn;
}

static void check(const long* sums, int count, int turn) {
  for (int i = 0; i < count; ++i)
    if (sums[i] != 3L * size * (size - 1) / 2 + (long)size * (i + turn)) fail("a wrong sum");
}

enum { MOST = 1 << 17 }; /* 1 MiB of long */
static long in[MOST], out[MOST], in_2[MOST], out_2[MOST];

static void tree(int pipe, int seconds) {
  static const int counts[] = {1, 1000, 8192, MOST};
  for (int turn = 0; turn < 4; ++turn) {
    const int count = counts[turn];
    MPI_Request requests[2];
    fill(in, count, turn);
    MPI_Iallreduce(in, out, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    const int missing = be_away(pipe, seconds);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check(out, count, turn);
    if (rank != 0) signal_rank_0(pipe);
    if (wait_for_signals(pipe, missing, 60) != 0) fail("a signal is lost");
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* Only the first operation needs no MPI between hosts: the tree has no product of complex numbers. */
static void mixed(int pipe, int seconds) {
  for (int turn = 0; turn < 3; ++turn) {
    MPI_Request requests[3];
    double complex factor[8], product[8];
    for (int i = 0; i < 8; ++i) factor[i] = I;
    fill(in, 8192, turn);
    fill(in_2, 100, turn);
    MPI_Iallreduce(in, out, 8192, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(factor, product, 8, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD, &requests[1]);
    MPI_Iallreduce(in_2, out_2, 100, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
    const int missing = be_away(pipe, seconds);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    if (rank != 0) signal_rank_0(pipe);
    MPI_Waitall(2, requests + 1, MPI_STATUSES_IGNORE);
    double complex wanted = 1;
    for (int r = 0; r < size; ++r) wanted *= I;
    for (int i = 0; i < 8; ++i)
      if (cabs(product[i] - wanted) > 1e-12) fail("a wrong product");
    check(out, 8192, turn);
    check(out_2, 100, turn);
    if (wait_for_signals(pipe, missing, 60) != 0) fail("a signal is lost");
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void busy(void) {
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Barrier(other);
  for (int turn = 0; turn < 60; ++turn) {
    static const int counts[] = {1, 300, 8192, 40000};
    const int count = counts[turn % 4];
    MPI_Request request;
    fill(in, count, turn);
    MPI_Iallreduce(in, out, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 10; ++i) {
      const int others = counts[(turn + i) % 3];
      fill(in_2, others, i);
      MPI_Allreduce(in_2, out_2, others, MPI_LONG, MPI_SUM, other);
      check(out_2, others, i);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(out, count, turn);
  }
  MPI_Comm_free(&other);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3) fail("usage: away FOLDER tree|mixed|busy [SECONDS]");
  const int seconds = argc > 3 ? atoi(argv[3]) : 60;
  const int pipe = pipe_to_rank_0(argv[1]);
  if (strcmp(argv[2], "tree") == 0)
    tree(pipe, seconds);
  else if (strcmp(argv[2], "mixed") == 0)
    mixed(pipe, seconds);
  else if (strcmp(argv[2], "busy") == 0)
    busy();
  else
    fail("no such part");
  close(pipe);
  if (rank == 0) printf("away: right on %d ranks\n", size);
  fflush(stdout); /* Some MPIs do not come out of MPI_Finalize. */
  MPI_Finalize();
  return 0;
}
