/* The memory that the ranks of one program share with each other beside their MPI: commands from rank 0, a barrier of our
 * own, the round trip of a cache line, and the durations. It is the same for every MPI, so what it costs is too. */
#ifndef SUMAC_BENCH_HOST_AREA_H
#define SUMAC_BENCH_HOST_AREA_H

#include <stddef.h>
#include <stdint.h>

enum { kAreaRanksMax = 64, kAreaIterationsMax = 4096, kAreaKindBytes = 32, kAreaCopyBytes = 4 << 20 };

/** Rank 0 was told to do this, and tells the others. */
typedef struct {
  char kind[kAreaKindBytes]; /**< "allreduce"...; "quit" ends the program. */
  size_t bytes;
  int iterations, warmup;
} area_command;

/** Maps the file (the same for all ranks, grown to size by each). @return 0, or -1 with errno. */
int area_open(const char* path);

/** Says who this process is. Ranks from 0; `yields`: more ranks than cores, so waiting must give the core away. */
void area_enter(int rank, int ranks, int yields);

/** Rank 0: wakes the others with a command. The others: sleep until there is one. Nobody uses a core meanwhile. */
void area_give_command(const area_command* command);
void area_take_command(area_command* command);

/** A barrier through cache lines, without the MPI under test. */
void area_align(void);

/** Ranks 0 and 1 hand a line to and fro, each on a core of its own; the others sleep. @return ns at rank 0, or 0: there is
 *  one rank or one core. The rank's affinity is as before afterwards. */
double area_round_trip_ns(void);

/** Slot of this rank for iteration i, in ticks; all ranks' slots as [rank][kAreaIterationsMax]. */
void area_note(int iteration, int64_t ticks);
const int64_t* area_notes(void);

/** A number per rank, read by all after an area_align(). */
void area_put(double number);
double area_get(int rank);

/** Memory of rank 0 or 1 that both map, [kAreaCopyBytes]. Its pages appear when they are written. */
char* area_copies(int rank);

/** Binds this process to the rank-th core of those it may use. @return 0, or -1: there are fewer cores. */
int area_pin(int rank);

#endif
