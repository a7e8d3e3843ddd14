#include "bench/field/overhead.h"

#include <getopt.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/field/words.h"

/* The method (W. Lawry and others, COMB, Cluster 2002): post a message, compute for a while, wait. As long as the message hides
 * the computation, an iteration takes as long as the message alone (base_t). The computation is doubled until an iteration
 * takes clearly longer; then whatever exceeds the computation alone (work_t) is the processor's time for the message. */

enum {
  kIterations = 1000,
  kMediumBytes = 64 * 1024,
  kLargeBytes = 8 * 1024 * 1024,
  kWarmup = 10,
  kTag = 1,
  kReadyTag = 2
};

static const struct option kLong[] = {{"recv", no_argument, NULL, 'r'},
                                      {"iterations", required_argument, NULL, 'i'},
                                      {"msgsize", required_argument, NULL, 'm'},
                                      {"thresh", required_argument, NULL, 't'},
                                      {"bthresh", required_argument, NULL, 'b'},
                                      {"nohdr", no_argument, NULL, 'n'},
                                      {"verbose", no_argument, NULL, 'v'},
                                      {"help", no_argument, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};

void field_overhead_help(void) {
  printf(
      "Usage: sumac bench mpi_overhead [options]     2 ranks; the MPI alone carries the messages\n"
      "options:\n"
      "  -r, --recv            measure the rank that receives, instead of the one that sends\n"
      "  -i, --iterations NUM  iterations of each computation [1000; 100 from 64 KiB on, 10 from 8 MiB on]\n"
      "  -m, --msgsize SIZE    bytes of the message [8]\n"
      "  -t, --thresh RATIO    the computation grows until an iteration takes so many times base_t [1.5]\n"
      "  -b, --bthresh RATIO   an iteration of at most so many times base_t counts as the message alone [1.02]\n"
      "  --nohdr               no line with the names of the columns (-n under an MPI's launcher)\n"
      "  -v, --verbose         a line for each computation tried\n"
      "  -h, --help            this text\n"
      "Columns: iter_t an iteration, work_t its computation alone, overhead their difference, base_t the message "
      "alone\n"
      "(microseconds), avail(%%) 100 (1 - overhead / base_t)\n");
}

static int parse_ratio(const char* text, double* value) {
  char* end = NULL;
  *value = strtod(text, &end);
  return end == text || *end != '\0' || !(*value > 1) || *value > 1000 ? -1 : 0;
}

int field_overhead_parse(int argc, char** argv, field_overhead_command* command, char* error, size_t error_bytes) {
  *command = (field_overhead_command){.size = 8, .threshold = 1.5, .base_threshold = 1.02};
  int letter;
  opterr = 0;
  optind = 0;  // getopt begins anew
  while ((letter = getopt_long(argc, argv, ":ri:m:t:b:nvh", kLong, NULL)) != -1) {
    const char* wanted = NULL;
    switch (letter) {
      case 'r': command->receives = 1; break;
      case 'n': command->has_no_head = 1; break;
      case 'v': command->is_verbose = 1; break;
      case 'h': command->help = 1; break;
      case 'i': wanted = field_parse_number(optarg, 1, &command->iterations) != 0 ? "a number from 1 on" : NULL; break;
      case 'm': wanted = field_parse_number(optarg, 0, &command->size) != 0 ? "a number of bytes" : NULL; break;
      case 't': wanted = parse_ratio(optarg, &command->threshold) != 0 ? "a ratio above 1, to 1000" : NULL; break;
      case 'b': wanted = parse_ratio(optarg, &command->base_threshold) != 0 ? "a ratio above 1, to 1000" : NULL; break;
      default:
        snprintf(error, error_bytes, "mpi_overhead: %s %s: see `sumac bench mpi_overhead -h`", argv[optind - 1],
                 letter == ':' ? "needs a value" : "is no option");
        return -1;
    }
    if (wanted != NULL)
      return snprintf(error, error_bytes, "mpi_overhead: -%c %s: give %s", letter, optarg, wanted), -1;
  }
  if (optind < argc)
    return snprintf(error, error_bytes, "mpi_overhead: %s is no option: see `sumac bench mpi_overhead -h`",
                    argv[optind]),
           -1;
  return 0;
}

field_overhead_result field_overhead_of(double iteration, double work, double base) {
  return (field_overhead_result){iteration, work, iteration - work, base,
                                 base > 0 ? 100 * (1 - (iteration - work) / base) : 0};
}

static void compute(long work) {
  volatile double sink = 1.0;
  for (long i = 0; i < work; ++i) sink = sink * 1.0000001 + 1e-9;
}

static double now_us(void) { return MPI_Wtime() * 1e6; }

/* The mean time of the computation alone. */
static double time_work(long work, long iterations) {
  const double begin = now_us();
  for (long i = 0; i < iterations; ++i) compute(work);
  return (now_us() - begin) / (double)iterations;
}

/* One message of the rank that is measured, beside a computation. The other rank is ready before it begins. */
static double time_message(const field_overhead_command* command, void* buffer, long work, MPI_Request* request) {
  MPI_Recv(NULL, 0, MPI_BYTE, 1, kReadyTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const double begin = now_us();
  if (command->receives)
    MPI_Irecv(buffer, (int)command->size, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, request);
  else
    MPI_Isend(buffer, (int)command->size, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, request);
  compute(work);
  MPI_Wait(request, MPI_STATUS_IGNORE);
  return now_us() - begin;
}

static double time_messages(const field_overhead_command* command, void* buffer, long work, long iterations) {
  double total = 0;
  MPI_Request request;
  for (long i = -kWarmup; i < iterations; ++i) {
    const double took = time_message(command, buffer, work, &request);
    if (i >= 0) total += took;
  }
  return total / (double)iterations;
}

/* The other rank serves one time_messages(). */
static void serve(const field_overhead_command* command, void* buffer, long iterations) {
  MPI_Request request;
  for (long i = -kWarmup; i < iterations; ++i) {
    // Its own receive is posted before the other rank begins, so that a message finds its buffer.
    if (!command->receives) MPI_Irecv(buffer, (int)command->size, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &request);
    MPI_Send(NULL, 0, MPI_BYTE, 0, kReadyTag, MPI_COMM_WORLD);
    if (command->receives) MPI_Isend(buffer, (int)command->size, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

/* Rank 0 says whether another round follows. */
static int goes_on(int more) {
  MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return more;
}

static void print(const field_overhead_command* command, long iterations, const field_overhead_result* r) {
  if (!command->has_no_head) printf("msgsize iterations   iter_t  work_t  overhead   base_t avail(%%)\n");
  printf("%-8ld%-12ld %-12.3f %-12.3f %-12.3f %-12.3f %-12.1f\n", command->size, iterations, r->iteration, r->work,
         r->overhead, r->base, r->available);
}

static void print_plan(const field_overhead_command* command) {
  if (!command->is_verbose) return;
  printf("Calculating %s overhead\n", command->receives ? "receive" : "send");
  if (command->iterations == 0)
    printf("Iterations are being calculated automatically\n");
  else
    printf("Using %ld iterations per test\n", command->iterations);
  printf("Message size is %ld bytes\nOverhead comparison threshold is %f (%.1f%%)\n", command->size, command->threshold,
         100 * (command->threshold - 1));
  printf("Base time comparison threshold is %f (%.1f%%)\nTiming resolution is %.2f uS\nwork    iter_t       base_t\n",
         command->base_threshold, 100 * (command->base_threshold - 1), MPI_Wtick() * 1e6);
}

static void measure(const field_overhead_command* command, void* buffer, long iterations) {
  print_plan(command);
  double base = 0, iteration = 0;
  long work = 1, bases = 0;
  for (;; work *= 2) {
    goes_on(1);
    iteration = time_messages(command, buffer, work, iterations);
    // While the message hides the computation, an iteration is the message alone: its mean becomes steadier.
    if (bases == 0 || iteration < base * command->base_threshold)
      base = (base * (double)bases + iteration) / (double)(bases + 1), ++bases;
    if (command->is_verbose) printf("%-8ld%-12.3f %-12.3f\n", work, iteration, base);
    if (iteration >= base * command->threshold) break;
  }
  goes_on(0);
  const field_overhead_result result = field_overhead_of(iteration, time_work(work, iterations), base);
  print(command, iterations, &result);
  fflush(stdout);
}

static long iterations_of(const field_overhead_command* command) {
  if (command->iterations > 0) return command->iterations;
  return command->size < kMediumBytes  ? kIterations
         : command->size < kLargeBytes ? kIterations / 10
                                       : kIterations / 100;
}

int field_overhead_run(const field_overhead_command* command) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  void* buffer = calloc(command->size > 0 ? (size_t)command->size : 1, 1);
  int mine = buffer != NULL, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!all) {
    if (rank == 0) fprintf(stderr, "mpi_overhead: no memory for %ld bytes: give a smaller -m\n", command->size);
  } else if (rank == 0) {
    measure(command, buffer, iterations_of(command));
  } else {
    while (goes_on(0)) serve(command, buffer, iterations_of(command));
  }
  free(buffer);
  return all ? 0 : 2;
}
