#include "bindings/python/core/store.hpp"

namespace sumac::python {

Result<std::vector<Bytes>> Exchange::allgather(const Bytes& own) {
  const std::string use = fmt::format("sumac/{}/", uses_++);
  std::vector<Bytes> all(static_cast<std::size_t>(size_));
  if (auto done = store_.set(use + std::to_string(rank_), own); !done) return tl::unexpected(done.error());
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) {
      all[static_cast<std::size_t>(rank)] = own;
      continue;
    }
    auto got = store_.get(use + std::to_string(rank));
    if (!got) return within(fmt::format("waiting for rank {} to join", rank), got.error());
    all[static_cast<std::size_t>(rank)] = std::move(*got);
  }
  return all;
}

}  // namespace sumac::python
