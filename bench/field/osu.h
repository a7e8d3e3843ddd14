/* The command line of OSU's programs, and the table of those for collectives. */
#ifndef SUMAC_BENCH_FIELD_OSU_H
#define SUMAC_BENCH_FIELD_OSU_H

#include "bench/field/kinds.h"
#include "bench/field/pair.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { kFieldOsuLargeBytes = 8192 };

/** One of `kind` and `pair` is NULL. */
typedef struct field_osu_command {
  const field_kind* kind;
  const field_pair_kind* pair;
  int is_nonblocking;
  size_t bytes_min, bytes_max, memory_max;
  long iterations, iterations_large, warmup, warmup_large; /**< "Large" is above 8 KiB. */
  long tests;
  long window; /**< Messages of a pair that are under way at a time. */
  int is_full, is_checked, help, version;
} field_osu_command;

/** Reads the words after a name such as "osu_allreduce". @return 0; -1: `error` names the word and the remedy. */
int field_osu_parse(const char* name, int argc, char** argv, field_osu_command* command, char* error,
                    size_t error_bytes);
void field_osu_help(const char* name);
void field_osu_title(const field_osu_command* command);

/** Measures and prints, on every rank. @return the exit status: 1: wrong data; 2: no size fits. */
int field_osu_run(const char* name, const field_osu_command* command, int as_json);

#ifdef __cplusplus
}
#endif
#endif
