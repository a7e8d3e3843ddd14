/* The benchmark programs that published command lines start, as one program that acts by the name it is started under:
 * osu_barrier and osu_allreduce print OSU's columns, IMB-MPI1 prints those of Intel's. It checks the sums, and calls each
 * collective a fixed number of times, so that tests can count the calls. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWarmups = 2, kMostBytes = 1 << 20 };

struct wish {
  long bytes_min, bytes_max, calls;
  int is_full; /* also the slowest and the fastest rank */
  int ranks_min;
};

static int rank, ranks;

static void refuse(const char* program, const char* word) {
  if (0 == rank) fprintf(stderr, "%s: cannot do \"%s\"\n", program, word);
  MPI_Abort(MPI_COMM_WORLD, 2);
  exit(2);
}

/* MAX, MIN: and MIN:MAX, as OSU's -m has them; an empty number leaves the default. */
static int read_sizes(const char* text, struct wish* wish) {
  const char* colon = strchr(text, ':');
  const char* most = NULL == colon ? text : colon + 1;
  char* end = NULL;
  if (NULL != colon && text != colon) {
    wish->bytes_min = strtol(text, &end, 10);
    if (end != colon) return 0;
  }
  if ('\0' != *most) {
    wish->bytes_max = strtol(most, &end, 10);
    if ('\0' != *end) return 0;
  }
  return wish->bytes_min > 0 && wish->bytes_min <= wish->bytes_max && wish->bytes_max <= kMostBytes;
}

static int read_number(const char* text, long* number) {
  char* end = NULL;
  *number = NULL == text ? 0 : strtol(text, &end, 10);
  return *number > 0 && '\0' == *end;
}

/* The mean, fastest and slowest time of a call over the ranks of `comm`, at its rank 0, in microseconds. */
static void gather_times(double mine, MPI_Comm comm, double times[3]) {
  int size;
  MPI_Comm_size(comm, &size);
  MPI_Reduce(&mine, &times[0], 1, MPI_DOUBLE, MPI_SUM, 0, comm);
  MPI_Reduce(&mine, &times[1], 1, MPI_DOUBLE, MPI_MIN, 0, comm);
  MPI_Reduce(&mine, &times[2], 1, MPI_DOUBLE, MPI_MAX, 0, comm);
  times[0] /= size;
}

static double time_barrier(long calls, MPI_Comm comm) {
  double begin = 0;
  for (long call = -kWarmups; call < calls; ++call) {
    if (0 == call) begin = MPI_Wtime();
    MPI_Barrier(comm);
  }
  return 1e6 * (MPI_Wtime() - begin) / (double)calls;
}

static double time_allreduce(long bytes, long calls, float* in, float* out) {
  int count = (int)(bytes / (long)sizeof(float));
  double total = 0;
  for (long call = -kWarmups; call < calls; ++call) {
    /* Small whole numbers have one sum, in whatever order they are added. */
    for (int i = 0; i < count; ++i) in[i] = (float)(rank + (call + i) % 8);
    double begin = MPI_Wtime();
    MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (call >= 0) total += MPI_Wtime() - begin;
    for (int i = 0; i < count; ++i) {
      float right = (float)(ranks * (ranks - 1) / 2 + ranks * ((call + i) % 8));
      if (fabsf(out[i] - right) > 0.5F) {
        fprintf(stderr, "osu_allreduce: WRONG at rank %d: %ld bytes, element %d is %g instead of %g\n", rank, bytes, i,
                (double)out[i], (double)right);
        MPI_Abort(MPI_COMM_WORLD, 3);
      }
    }
  }
  return 1e6 * total / (double)calls;
}

static void print_row(const struct wish* wish, const double times[3]) {
  printf("%18.2f", times[0]);
  if (wish->is_full) printf("%20.2f%20.2f%12ld", times[1], times[2], wish->calls);
  printf("\n");
}

static void osu_barrier(const struct wish* wish) {
  double times[3];
  gather_times(time_barrier(wish->calls, MPI_COMM_WORLD), MPI_COMM_WORLD, times);
  if (0 != rank) return;
  printf("\n# OSU MPI Barrier Latency Test\n# Avg Latency(us)%s\n",
         wish->is_full ? "   Min Latency(us)   Max Latency(us)  Iterations" : "");
  print_row(wish, times);
}

static void osu_allreduce(const struct wish* wish) {
  float* in = malloc((size_t)wish->bytes_max);
  float* out = malloc((size_t)wish->bytes_max);
  if (NULL == in || NULL == out) MPI_Abort(MPI_COMM_WORLD, 4);
  if (0 == rank)
    printf("\n# OSU MPI Allreduce Latency Test\n# Size       Avg Latency(us)%s\n",
           wish->is_full ? "   Min Latency(us)   Max Latency(us)  Iterations" : "");
  for (long bytes = wish->bytes_min; bytes <= wish->bytes_max; bytes *= 2) {
    double times[3];
    gather_times(time_allreduce(bytes, wish->calls, in, out), MPI_COMM_WORLD, times);
    if (0 != rank) continue;
    printf("%-10ld", bytes);
    print_row(wish, times);
  }
  free(in);
  free(out);
}

static void imb_rows(const struct wish* wish, int members, MPI_Comm comm) {
  double times[3];
  gather_times(time_barrier(wish->calls, comm), comm, times);
  if (0 != rank) return;
  printf("#-----\n# Benchmarking Barrier\n# #processes = %d\n", members);
  if (members < ranks) printf("# ( %d additional processes waiting in MPI_Barrier)\n", ranks - members);
  printf("#-----\n#repetitions t_min[usec] t_max[usec] t_avg[usec]\n");
  printf("%12ld %11.2f %11.2f %11.2f\n", wish->calls, times[1], times[2], times[0]);
}

/* The first ranks, -npmin of them and then twice as many each time, have a communicator, while the others wait in a barrier
 * of MPI_COMM_WORLD; at last all ranks use MPI_COMM_WORLD itself. */
static void imb_barrier(const struct wish* wish) {
  MPI_Barrier(MPI_COMM_WORLD);
  for (int members = wish->ranks_min; members < ranks; members *= 2) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, rank < members ? 0 : MPI_UNDEFINED, rank, &comm);
    if (MPI_COMM_NULL != comm) {
      imb_rows(wish, members, comm);
      MPI_Comm_free(&comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  imb_rows(wish, ranks, MPI_COMM_WORLD);
}

static struct wish read_words(const char* program, int argc, char** argv) {
  struct wish wish = {.bytes_min = sizeof(float), .bytes_max = kMostBytes, .calls = 10, .ranks_min = 2};
  for (int i = 1; i < argc; ++i) {
    const char* next = i + 1 < argc ? argv[i + 1] : NULL;
    long number = 0;
    if (0 == strcmp(argv[i], "-f")) {
      wish.is_full = 1;
    } else if (0 == strcmp(argv[i], "-m") && NULL != next && read_sizes(next, &wish)) {
      ++i;
    } else if (0 == strcmp(argv[i], "-i") && read_number(next, &wish.calls)) {
      ++i;
    } else if (0 == strcmp(argv[i], "-npmin") && read_number(next, &number)) {
      wish.ranks_min = (int)number;
      ++i;
    } else if (0 != strcmp(program, "IMB-MPI1") || 0 != strcmp(argv[i], "Barrier")) {
      refuse(program, argv[i]);
    }
  }
  return wish;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* slash = strrchr(argv[0], '/');
  const char* program = NULL == slash ? argv[0] : slash + 1;
  struct wish wish = read_words(program, argc, argv);
  if (0 == strcmp(program, "osu_barrier")) {
    osu_barrier(&wish);
  } else if (0 == strcmp(program, "osu_allreduce")) {
    osu_allreduce(&wish);
  } else if (0 == strcmp(program, "IMB-MPI1")) {
    imb_barrier(&wish);
  } else {
    refuse(program, "its own name: link it as osu_barrier, osu_allreduce or IMB-MPI1");
  }
  MPI_Finalize();
  return 0;
}
