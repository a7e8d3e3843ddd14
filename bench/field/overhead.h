/* mpi_overhead: how much of the processor a message takes from the rank that sends or receives it, with the options and the
 * columns of the program of that name in Sandia's suite of small MPI benchmarks. */
#ifndef SUMAC_BENCH_FIELD_OVERHEAD_H
#define SUMAC_BENCH_FIELD_OVERHEAD_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int receives;          /**< The rank that is measured receives. */
  long iterations, size; /**< 0 iterations: by the size. */
  double threshold, base_threshold;
  int has_no_head, is_verbose, help;
} field_overhead_command;

/** Reads the words after "mpi_overhead". @return 0; -1: `error` names the word and the remedy. */
int field_overhead_parse(int argc, char** argv, field_overhead_command* command, char* error, size_t error_bytes);
void field_overhead_help(void);

/** The result of a measurement; its times are in microseconds. */
typedef struct {
  double iteration, work, overhead, base, available; /**< `available` in percent. */
} field_overhead_result;

/** @param iteration  of a message beside a computation that hides it; @param work  of the computation alone;
 *  @param base  of the message alone. */
field_overhead_result field_overhead_of(double iteration, double work, double base);

/** Measures and prints, on both ranks. @return the exit status: 2: too little memory. */
int field_overhead_run(const field_overhead_command* command);

#ifdef __cplusplus
}
#endif
#endif
