/* Communicators whose collectives are nonblocking, so that a team, if they get one, is made behind them. The arguments choose:
 *   together   sums on eight communicators at once, each rank in an order of its own
 *   crossing   a rank is in MPI_Recv while its partner sends before it posts, after that, or after its wait
 *   kinds      all kinds in turn, also those that a tree does not carry, and MPI_Comm_idup between them
 *   blocks     a blocking or a persistent collective behind 0 to 9 nonblocking ones, and then both
 *   frees      MPI_Comm_free behind 0 to 9 of them
 *   pending    the same while they are pending: Open MPI 4.1 itself does not survive it
 *   away       a rank computes for 40 ms where the others post
 *   left       what still exists in MPI_Finalize, with 1 to 9 collectives, and what was freed just before it
 * Prints "behind: WHAT right on N ranks". */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent.h"

enum { COMMS = 8, ROUNDS = 12, MOST = 9, LONGS = 3 };

static int rank, size;

static void expect(const char* what, int round, long got, long want) {
  if (got == want) return;
  fprintf(stderr, "behind: rank %d: round %d: %s is %ld, not %ld\n", rank, round, what, got, want);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static MPI_Comm new_one(void) {
  MPI_Comm made;
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  return made;
}

static long sum_of_ranks(void) { return (long)size * (size - 1) / 2; }

/* A sum that is under way. */
struct sum {
  long in[LONGS], out[LONGS];
  int round;
  MPI_Request request;
};
static void post(struct sum* sum, int round, MPI_Comm comm) {
  sum->round = round;
  for (int i = 0; i < LONGS; ++i) sum->in[i] = rank + i + round, sum->out[i] = -1;
  MPI_Iallreduce(sum->in, sum->out, LONGS, MPI_LONG, MPI_SUM, comm, &sum->request);
}
static void check(const struct sum* sum) {
  for (int i = 0; i < LONGS; ++i)
    expect("a sum", sum->round, sum->out[i], sum_of_ranks() + (long)size * (i + sum->round));
}
static void finish(struct sum* sum) {
  MPI_Wait(&sum->request, MPI_STATUS_IGNORE);
  check(sum);
}

static void together(void) {
  static struct sum sums[COMMS];
  MPI_Comm comms[COMMS];
  MPI_Request requests[COMMS];
  for (int c = 0; c < COMMS; ++c) comms[c] = new_one();
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < COMMS; ++i) {
      const int c = (i * (2 * rank + 1) + round) % COMMS; /* COMMS is even, so this is a permutation */
      post(&sums[c], round + c, comms[c]);
    }
    for (int c = 0; c < COMMS; ++c) requests[c] = sums[c].request;
    MPI_Waitall(COMMS, requests, MPI_STATUSES_IGNORE);
    for (int c = 0; c < COMMS; ++c) check(&sums[c]);
  }
  for (int c = 0; c < COMMS; ++c) MPI_Comm_free(&comms[c]);
}

static void crossing(void) {
  for (int life = 0; life < 3; ++life) {
    MPI_Comm comm = new_one();
    for (int round = 0; round < ROUNDS; ++round) {
      struct sum sum;
      int word = -1;
      const int when = (round + life) % 3, partner = rank ^ 1;
      if (rank % 2 == 1 && when == 0) MPI_Send(&round, 1, MPI_INT, partner, 1, MPI_COMM_WORLD);
      post(&sum, round, comm);
      if (rank % 2 == 1 && when == 1) MPI_Send(&round, 1, MPI_INT, partner, 1, MPI_COMM_WORLD);
      if (rank % 2 == 0 && partner < size) {
        MPI_Recv(&word, 1, MPI_INT, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect("a message", round, word, round);
      }
      finish(&sum);
      if (rank % 2 == 1 && when == 2) MPI_Send(&round, 1, MPI_INT, partner, 1, MPI_COMM_WORLD);
    }
    MPI_Comm_free(&comm);
  }
}

static void kinds(void) {
  MPI_Comm comm = new_one();
  long* given = malloc(sizeof(long) * (size_t)size);
  long* got = malloc(sizeof(long) * (size_t)size);
  for (int round = 0; round < 4 * ROUNDS; ++round) {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Request idup = MPI_REQUEST_NULL, request;
    struct sum sum;
    long one = rank + round;
    int most = rank, least = -1;
    if (round % 4 == 1) MPI_Comm_idup(comm, &copy, &idup);
    for (int r = 0; r < size; ++r) given[r] = rank * 100 + r + round, got[r] = -1;
    switch (round % 6) {
      case 0: MPI_Ibarrier(comm, &request); break;
      case 1: MPI_Ialltoall(given, 1, MPI_LONG, got, 1, MPI_LONG, comm, &request); break;
      case 2: MPI_Ibcast(&one, 1, MPI_LONG, round % size, comm, &request); break;
      case 3: MPI_Iallgather(&one, 1, MPI_LONG, got, 1, MPI_LONG, comm, &request); break;
      case 4: MPI_Iallreduce(&most, &least, 1, MPI_INT, MPI_MAX, comm, &request); break;
      default: MPI_Ireduce(&one, got, 1, MPI_LONG, MPI_MAX, round % size, comm, &request);
    }
    post(&sum, round, comm);
    if (round % 3 == 0) finish(&sum);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (round % 3 != 0) finish(&sum);
    if (round % 6 == 2) expect("a broadcast", round, one, round % size + round);
    if (round % 6 == 4) expect("a maximum", round, least, size - 1);
    if (round % 6 == 5 && rank == round % size) expect("a maximum", round, got[0], size - 1 + round);
    for (int r = 0; r < size; ++r) {
      if (round % 6 == 1) expect("an exchanged block", round, got[r], r * 100 + rank + round);
      if (round % 6 == 3) expect("a gathered block", round, got[r], r + round);
    }
    MPI_Wait(&idup, MPI_STATUS_IGNORE);
    if (copy != MPI_COMM_NULL) MPI_Comm_free(&copy);
  }
  free(given);
  free(got);
  MPI_Comm_free(&comm);
}

/* `count` sums, which are waited for one by one or together. */
static void some(int count, int is_one_by_one, MPI_Comm comm) {
  static struct sum sums[MOST];
  for (int i = 0; i < count; ++i) {
    post(&sums[i], i + count, comm);
    if (is_one_by_one) finish(&sums[i]);
  }
  for (int i = 0; i < count && !is_one_by_one; ++i) finish(&sums[i]);
}

static void blocks(void) {
  for (int life = 0; life <= 2 * MOST + 1; ++life) {
    MPI_Comm comm = new_one();
    some(life / 2, life % 2, comm);
    for (int more = 0; more < 3; ++more) {
      long in = rank + life, out = -1;
      if (life % 3 == 2) {
        MPI_Request request;
        INIT(Allreduce_init)(&in, &out, 1, MPI_LONG, MPI_SUM, comm, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
      } else {
        MPI_Allreduce(&in, &out, 1, MPI_LONG, MPI_SUM, comm);
      }
      expect("a sum", life, out, sum_of_ranks() + (long)size * life);
      some(more, 0, comm);
    }
    MPI_Comm_free(&comm);
  }
}

static void free_behind(int is_pending) {
  static struct sum sums[MOST];
  for (int life = 0; life < 4 * (MOST + 1); ++life) {
    MPI_Comm comm = new_one();
    const int count = life % (MOST + 1);
    for (int i = 0; i < count; ++i) {
      post(&sums[i], i + life, comm);
      if (!is_pending) finish(&sums[i]);
    }
    MPI_Comm_free(&comm);
    for (int i = 0; i < count && is_pending; ++i) finish(&sums[i]);
  }
}
static void frees(void) { free_behind(0); }
static void pending(void) { free_behind(1); }

static void away(void) {
  MPI_Comm comms[2] = {new_one(), new_one()};
  for (int round = 0; round < ROUNDS; ++round) {
    struct sum sums[2];
    post(&sums[0], round, comms[0]);
    if (rank == round % size)
      for (const double until = MPI_Wtime() + 0.04; MPI_Wtime() < until;) {
      }
    post(&sums[1], round, comms[1]);
    finish(&sums[1]);
    finish(&sums[0]);
  }
  MPI_Comm_free(&comms[0]);
  MPI_Comm_free(&comms[1]);
}

static void left(void) {
  for (int life = 1; life <= MOST; ++life) some(life, life % 2, new_one());
  /* No call looks after these before MPI_Finalize does. */
  for (int count = 1; count <= 3; count += 2) {
    MPI_Comm comm = new_one();
    some(count, 1, comm);
    MPI_Comm_free(&comm);
  }
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*run)(void);
  } parts[] = {{"together", together}, {"crossing", crossing}, {"kinds", kinds}, {"blocks", blocks},
               {"frees", frees},       {"pending", pending},   {"away", away},   {"left", left}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int a = 1; a < argc; ++a)
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; ++p) {
      if (strcmp(argv[a], parts[p].name) != 0) continue;
      parts[p].run();
      if (rank == 0) printf("behind: %s right on %d ranks\n", argv[a], size);
    }
  fflush(stdout);
  return MPI_Finalize();
}
