#pragma once
// An exchange whose ranks send each other values, one behind the other from each rank to each: rank 0 collects, and tells all.
#include "rank/exchange.hpp"

namespace sumac::rank {

class PairwiseExchange : public Exchange {
 public:
  Result<std::vector<Bytes>> allgather(const Bytes& own) final;
  Result<std::vector<Bytes>> gather(int root, const Bytes& own) final;
  Result<Bytes> bcast(int root, const Bytes& own) final;

 protected:
  /// Sends a value, which is copied.
  virtual Result<> put(int to, const Bytes& own) = 0;
  /// Waits for the next value of this rank.
  virtual Result<Bytes> take(int from) = 0;
};

}  // namespace sumac::rank
