#include "rank/binomial.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <new>

namespace {

/// The parent of a rank is the rank without its lowest bit, and its children have one lower bit more. So the ranks below a
/// rank are the next ones, as many as its lowest bit says, and rank 0 has all of them below it.
int lowest_bit(int rank) { return rank == 0 ? INT_MAX / 2 + 1 : rank & -rank; }

}  // namespace

int sumac_binomial_bcast(const sumac_messages* ranks, void* buffer, int bytes) {
  const int rank = ranks->rank, below = lowest_bit(rank);
  int rc = rank == 0 ? 0 : ranks->receive(ranks->context, buffer, bytes, rank - below);
  // The child with the most ranks below it comes first.
  for (int bit = below / 2; bit > 0 && rc == 0; bit /= 2)
    if (bit < ranks->size - rank) rc = ranks->send(ranks->context, buffer, bytes, rank + bit);
  return rc;
}

int sumac_binomial_gather(const sumac_messages* ranks, const void* in, void* out, int bytes) {
  const int rank = ranks->rank, below = lowest_bit(rank), count = std::min(below, ranks->size - rank);
  const auto block = static_cast<std::size_t>(bytes);
  const std::unique_ptr<char[]> own(rank == 0 ? nullptr
                                              : new (std::nothrow) char[static_cast<std::size_t>(count) * block]);
  char* const all = rank == 0 ? static_cast<char*>(out) : own.get();
  if (all == nullptr) return -1;
  std::memcpy(all, in, block);
  int rc = 0;
  for (int bit = 1; bit < count && rc == 0; bit *= 2) {
    const int blocks = std::min(bit, count - bit);
    rc = ranks->receive(ranks->context, all + static_cast<std::size_t>(bit) * block, blocks * bytes, rank + bit);
  }
  return rc == 0 && rank != 0 ? ranks->send(ranks->context, all, count * bytes, rank - below) : rc;
}
