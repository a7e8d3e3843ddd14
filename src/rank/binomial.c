#include "rank/binomial.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The parent of a rank is the rank without its lowest bit, and its children have one lower bit more. So the ranks below a
 * rank are the next ones, as many as its lowest bit says, and rank 0 has all of them below it. */
static int lowest_bit(int rank) { return 0 == rank ? INT_MAX / 2 + 1 : rank & -rank; }

/* Returns the end of the ranks from `first` on that are at most `count`. */
static int end_of(const struct sumac_messages* ranks, int first, int count) {
  return count > ranks->size - first ? ranks->size : first + count;
}

int sumac_binomial_bcast(const struct sumac_messages* ranks, void* buffer, int bytes) {
  const int below = lowest_bit(ranks->rank);
  int rc = 0 == ranks->rank ? 0 : ranks->receive(ranks->context, buffer, bytes, ranks->rank - below);
  /* The child with the most ranks below it comes first. */
  for (int bit = below / 2; bit > 0 && 0 == rc; bit /= 2) {
    if (bit < ranks->size - ranks->rank) {
      rc = ranks->send(ranks->context, buffer, bytes, ranks->rank + bit);
    }
  }
  return rc;
}

int sumac_binomial_gather(const struct sumac_messages* ranks, const void* in, void* out, int bytes) {
  const int below = lowest_bit(ranks->rank), count = end_of(ranks, ranks->rank, below) - ranks->rank;
  char* all = 0 == ranks->rank ? out : malloc((size_t)count * (size_t)bytes);
  if (NULL == all) {
    return -1;
  }
  memcpy(all, in, (size_t)bytes);
  int rc = 0;
  for (int bit = 1; bit < count && 0 == rc; bit *= 2) {
    const int child = ranks->rank + bit, blocks = end_of(ranks, child, bit) - child;
    rc = ranks->receive(ranks->context, all + (size_t)bit * (size_t)bytes, blocks * bytes, child);
  }
  if (0 != ranks->rank) {
    rc = 0 == rc ? ranks->send(ranks->context, all, count * bytes, ranks->rank - below) : rc;
    free(all);
  }
  return rc;
}
