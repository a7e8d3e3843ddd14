/* OSU's programs for messages between two ranks: their names, loop and table. osu.c reads their words. The MPI alone carries
 * these messages, with Sumac and without. */
#ifndef SUMAC_BENCH_FIELD_PAIR_H
#define SUMAC_BENCH_FIELD_PAIR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct field_osu_command;

typedef struct {
  const char *name, *title, *column;
  int goes_back;    /**< Each message is answered by one of the same size: half of that time is the latency. */
  int both_ways;    /**< Both ranks send a window at a time. */
  size_t bytes_min; /**< A latency has a row for 0 bytes. */
  long iterations, iterations_large, warmup, warmup_large;
} field_pair_kind;

enum { kFieldPairs = 3, kFieldWindowMost = 4096 };
extern const field_pair_kind kFieldPairTable[kFieldPairs];

/** Finds "osu_latency" and its kin. @return NULL: it is no program for two ranks. */
const field_pair_kind* field_find_pair(const char* name);

/** Measures and prints, on both ranks. @return the exit status: 1: wrong data; 2: no size fits. */
int field_pair_run(const struct field_osu_command* command);

#ifdef __cplusplus
}
#endif
#endif
