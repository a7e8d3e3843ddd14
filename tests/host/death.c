/* A rank that is killed in the middle of a collective. All ranks repeat one collective; the victim gets SIGKILL from a timer, at an
 * instruction that nobody chose. Every other rank must hear of it from MPI as an error within seconds: it then says so and ends, without
 * MPI_Finalize, which cannot end in order with a rank missing. Every result before that is checked.
 *
 *   mpirun --enable-recovery -n 4 death COLLECTIVE BYTES blocking|nonblocking VICTIM MICROSECONDS */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static const char* const kNames[] = {"barrier",  "allreduce", "reduce",
                                     "bcast",    "allgather", "allgatherv",
                                     "alltoall", "alltoallv", "reduce_scatter_block"};
enum { COLLS = 9, RANKS_MAX = 16 };

static int rank, size, count;
static int counts[RANKS_MAX], displacements[RANKS_MAX];
static unsigned *in, *out;

static void die(int signal_number) {
  (void)signal_number;
  kill(getpid(), SIGKILL);
}

/* Blocking, or started and waited for. */
static int run(int coll, int nonblocking) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm comm = MPI_COMM_WORLD;
  int rc = MPI_SUCCESS;
#define EITHER(name, lower, ...) rc = nonblocking ? MPI_I##lower(__VA_ARGS__, &request) : MPI_##name(__VA_ARGS__)
  switch (coll) {
    case 0: EITHER(Barrier, barrier, comm); break;
    case 1: EITHER(Allreduce, allreduce, in, out, count, MPI_UNSIGNED, MPI_SUM, comm); break;
    case 2: EITHER(Reduce, reduce, in, out, count, MPI_UNSIGNED, MPI_SUM, 0, comm); break;
    case 3: EITHER(Bcast, bcast, out, count, MPI_UNSIGNED, 0, comm); break;
    case 4: EITHER(Allgather, allgather, in, count, MPI_UNSIGNED, out, count, MPI_UNSIGNED, comm); break;
    case 5:
      EITHER(Allgatherv, allgatherv, in, count, MPI_UNSIGNED, out, counts, displacements, MPI_UNSIGNED, comm);
      break;
    case 6: EITHER(Alltoall, alltoall, in, count, MPI_UNSIGNED, out, count, MPI_UNSIGNED, comm); break;
    case 7:
      EITHER(Alltoallv, alltoallv, in, counts, displacements, MPI_UNSIGNED, out, counts, displacements, MPI_UNSIGNED,
             comm);
      break;
    default: EITHER(Reduce_scatter_block, reduce_scatter_block, in, out, count, MPI_UNSIGNED, MPI_SUM, comm);
  }
  if (MPI_SUCCESS == rc && nonblocking) rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
  return rc;
}

/* What the first and the last element of each block must be in call `call`, where every rank r sends r + call. */
static unsigned expected(int coll, int block, unsigned call) {
  unsigned sum = (unsigned)(size * (size - 1) / 2) + (unsigned)size * call;
  if (1 == coll || 8 == coll) return sum;
  if (2 == coll) return 0 == rank ? sum : ~call;
  return 3 == coll ? call : (unsigned)block + call;
}

static void fill(int coll, unsigned call) {
  for (int i = 0; i < count * size; ++i) in[i] = (unsigned)rank + call;
  for (int i = 0; i < count * size; ++i) out[i] = 3 == coll && 0 == rank ? call : ~call;
}

static void check(int coll, unsigned call) {
  int blocks = coll >= 4 && coll <= 7 ? size : 1;
  for (int block = 0; coll > 0 && count > 0 && block < blocks; ++block) {
    unsigned right = expected(coll, block, call), first = out[block * count], last = out[block * count + count - 1];
    if (first != right || last != right) {
      fprintf(stderr, "death: WRONG at rank %d, %s, call %u, block %d: %u %u instead of %u\n", rank, kNames[coll], call,
              block, first, last, right);
      _exit(3);
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int coll = 0;
  while (coll < COLLS && argc == 6 && strcmp(argv[1], kNames[coll])) ++coll;
  if (argc != 6 || COLLS == coll || size > RANKS_MAX) {
    fprintf(stderr, "usage: death COLLECTIVE BYTES blocking|nonblocking VICTIM MICROSECONDS, up to 16 ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  count = atoi(argv[2]) / (int)sizeof(*in);
  in = calloc((size_t)(count * size + 1), sizeof(*in));
  out = calloc((size_t)(count * size + 1), sizeof(*out));
  for (int i = 0; i < size; ++i) counts[i] = count, displacements[i] = i * count;
  int nonblocking = !strcmp(argv[3], "nonblocking"), rc = MPI_SUCCESS;

  fill(coll, 0);
  MPI_Barrier(MPI_COMM_WORLD); /* the first blocking call makes the team */
  if (rank == atoi(argv[4])) {
    struct itimerval timer = {{0, 0}, {0, atoi(argv[5])}};
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &timer, NULL);
  }
  double last = MPI_Wtime(), until = last + 60;
  unsigned call = 0;
  while (MPI_SUCCESS == rc && MPI_Wtime() < until) {
    fill(coll, ++call);
    last = MPI_Wtime();
    rc = run(coll, nonblocking);
    if (MPI_SUCCESS == rc) check(coll, call);
  }
  char words[MPI_MAX_ERROR_STRING] = "no error";
  int length = 0, again = MPI_SUCCESS;
  if (MPI_SUCCESS != rc) MPI_Error_string(rc, words, &length);
  double heard_after = MPI_Wtime() - last;
  if (MPI_SUCCESS != rc) again = run(coll, nonblocking);
  printf("death: rank %d heard after %.3f s: %s; then %s\n", rank, heard_after, words,
         MPI_SUCCESS == again ? "a call succeeded" : "every call fails");
  fflush(stdout);
  /* Bcast and reduce let ranks run ahead: nobody ends before all had the time to hear of it by themselves. */
  _exit(MPI_SUCCESS == rc ? 4 : 0);
}
