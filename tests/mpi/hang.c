/* A job that hangs for a reason of its own: some ranks are in a collective that one rank never begins. Rank 0 prints its pid.
 *
 *   hang loop | recv | sleeps | stop    the last rank computes for ever, waits for a message that nobody sends, sleeps, is stopped
 *   hang root                           rank 0 sleeps before it broadcasts
 *   hang nonblocking                    as `sleeps`, the others in MPI_Wait of an MPI_Iallreduce
 *   hang order                          the last rank has two collectives in another order than the others
 *   hang split                          as `sleeps`, in a communicator of all ranks but the first, in reverse order
 *   hang other                          as `loop`, behind a tight loop of 1,000 collectives
 *   hang dies                           the last rank dies, rank 0 waits for a message from it, and the others for rank 0 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static double room[1024];

static void sum(MPI_Comm comm, int count) {
  double in[1024] = {1};
  MPI_Allreduce(in, room, count, MPI_DOUBLE, MPI_SUM, comm);
}

static void sleep_for_ever(void) {
  for (;;) {
    pause();
  }
}

static void compute_for_ever(void) {
  for (volatile unsigned i = 0;; ++i) {
  }
}

static void receive_for_ever(void) {
  for (;;) {
    MPI_Recv(room, 1, MPI_DOUBLE, 0, 4711, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void hang(const char* how) {
  const int last = size - 1 == rank;
  if (0 == strcmp(how, "root")) {
    if (0 == rank) {
      sleep_for_ever();
    }
    MPI_Bcast(room, 1024, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  } else if (0 == strcmp(how, "nonblocking")) {
    if (last) {
      sleep_for_ever();
    }
    MPI_Request request;
    double one = 1;
    MPI_Iallreduce(&one, room, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (0 == strcmp(how, "order")) {
    MPI_Comm comms[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_set_name(comms[0], "first");
    MPI_Comm_set_name(comms[1], "second");
    sum(comms[0], 1);
    sum(comms[1], 1);
    sum(comms[last], 2);
    sum(comms[!last], 2);
  } else if (0 == strcmp(how, "split")) {
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, 0 == rank ? MPI_UNDEFINED : 0, -rank, &part);
    if (0 == rank) {
      sleep_for_ever();
    }
    MPI_Comm_set_name(part, "part");
    sum(part, 1);
    if (last) {
      sleep_for_ever();
    }
    MPI_Barrier(part);
  } else if (0 == strcmp(how, "dies")) {
    MPI_Comm rest;
    MPI_Comm_split(MPI_COMM_WORLD, last ? MPI_UNDEFINED : 0, rank, &rest);
    if (last) {
      raise(SIGKILL);
    }
    MPI_Comm_set_name(rest, "rest");
    sum(rest, 1);
    if (0 == rank) {
      for (;;) {
        MPI_Recv(room, 1, MPI_DOUBLE, size - 1, 4711, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
    sum(rest, 1024);
  } else {
    if (0 == strcmp(how, "other")) {
      for (int i = 0; i < 1000; ++i) {
        sum(MPI_COMM_WORLD, 1);
      }
    }
    if (last && 0 == strcmp(how, "recv")) {
      receive_for_ever();
    } else if (last && 0 == strcmp(how, "sleeps")) {
      sleep_for_ever();
    } else if (last && 0 == strcmp(how, "stop")) {
      raise(SIGSTOP);
    } else if (last) {
      compute_for_ever();
    }
    sum(MPI_COMM_WORLD, 1024);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 17; ++i) {
    sum(MPI_COMM_WORLD, 1);
  }
  if (0 == rank) {
    printf("hang: rank 0 is %d\n", (int)getpid());
    fflush(stdout);
  }
  hang(argc > 1 ? argv[1] : "loop");
  MPI_Finalize();
  return 0;
}
