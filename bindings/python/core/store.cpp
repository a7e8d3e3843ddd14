#include "bindings/python/core/store.hpp"

namespace sumac::python {

std::string Exchange::next_use() { return fmt::format("{}/{}/", place_, uses_++); }

Result<> Exchange::put(const std::string& use, const Bytes& own) {
  return store_.set(use + std::to_string(rank_), own);
}

Result<Bytes> Exchange::take(const std::string& use, int rank) {
  auto got = store_.get(use + std::to_string(rank));
  if (!got) return within(fmt::format("waiting for rank {} to join", rank), got.error());
  return got;
}

Result<std::vector<Bytes>> Exchange::take_all(const std::string& use, const Bytes& own) {
  std::vector<Bytes> all(static_cast<std::size_t>(size_));
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) {
      all[static_cast<std::size_t>(rank)] = own;
      continue;
    }
    auto got = take(use, rank);
    if (!got) return tl::unexpected(got.error());
    all[static_cast<std::size_t>(rank)] = std::move(*got);
  }
  return all;
}

Exchange Exchange::among(int size, int my_index) { return {store_, my_index, size, next_use() + "among"}; }

Result<std::vector<Bytes>> Exchange::allgather(const Bytes& own) {
  const std::string use = next_use();
  if (auto done = put(use, own); !done) return tl::unexpected(done.error());
  return take_all(use, own);
}

Result<std::vector<Bytes>> Exchange::gather(int root, const Bytes& own) {
  const std::string use = next_use();
  if (rank_ == root) return take_all(use, own);
  if (auto done = put(use, own); !done) return tl::unexpected(done.error());
  return std::vector<Bytes>();
}

Result<Bytes> Exchange::bcast(int root, const Bytes& own) {
  const std::string use = next_use();
  if (rank_ != root) return take(use, root);
  if (auto done = put(use, own); !done) return tl::unexpected(done.error());
  return own;
}

}  // namespace sumac::python
