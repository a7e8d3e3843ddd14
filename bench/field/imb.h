/* The command line and the tables of Intel's programs IMB-MPI1 and IMB-NBC, as far as they are about collectives. */
#ifndef SUMAC_BENCH_FIELD_IMB_H
#define SUMAC_BENCH_FIELD_IMB_H

#include "bench/field/kinds.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char* name; /**< As the table says it: "Iallreduce_pure". */
  const field_kind* kind;
  int is_pure;
} field_imb_benchmark;

enum { kFieldImbMost = 2 * kFieldKinds };

typedef struct {
  int is_nonblocking; /**< IMB-NBC. */
  field_imb_benchmark benchmarks[kFieldImbMost];
  int count;
  int ranks_min;
  long iterations, volume_mb;
  double seconds, memory_gb;
  int exponent_min, exponent_max;
  int is_checked, help, list;
} field_imb_command;

/** Reads the words after "IMB-MPI1" or "IMB-NBC". @return 0; -1: `error` names the word and the remedy. */
int field_imb_parse(const char* name, int argc, char** argv, field_imb_command* command, char* error,
                    size_t error_bytes);
void field_imb_help(const char* name);
void field_imb_list(int is_nonblocking);

/** Measures and prints, on every rank. @return the exit status: 1: wrong data; 2: nothing could be measured. */
int field_imb_run(const char* name, int argc, char** argv, const field_imb_command* command, int as_json);

#ifdef __cplusplus
}
#endif
#endif
