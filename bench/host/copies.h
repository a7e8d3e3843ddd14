/* The limit of an alltoall or allgather of two ranks: the same bytes, copied once within the core and once out of the other
 * core's cache, without a word between the ranks. */
#ifndef SUMAC_BENCH_HOST_COPIES_H
#define SUMAC_BENCH_HOST_COPIES_H

#include <stddef.h>
#include <stdint.h>

/** Ways to copy. Which is the fastest depends on the machine, so all are tried. */
enum { kCopyWays = 4 };

/** Says whether this processor has the way. */
int copies_has(int way);

/** Copies by way number `way`. */
void copies_do(int way, char* to, const char* from, size_t bytes);

#endif
