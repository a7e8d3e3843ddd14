#pragma once
// The ranks of a team find each other through a store: a map from keys to bytes that every rank can reach before there
// is a team. PyTorch's Store is one, and the numpy module brings its own (sumac_collectives/store.py).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace sumac::python {

using Bytes = std::vector<std::uint8_t>;

class Store {
 public:
  virtual ~Store() = default;
  virtual Result<> set(const std::string& key, const Bytes& value) = 0;
  /// Waits until the key is there. The store's own time limit counts.
  virtual Result<Bytes> get(const std::string& key) = 0;
};

/// The exchange of one team over a store. Each use takes new keys, so all ranks must call the same in the same order.
class Exchange {
 public:
  Exchange(Store& store, int rank, int size) : store_(store), rank_(rank), size_(size) {}

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  /// Returns what each rank gave, in the order of ranks. Values may differ in length.
  Result<std::vector<Bytes>> allgather(const Bytes& own);

 private:
  Store& store_;
  int rank_, size_;
  unsigned uses_ = 0;
};

/// A record of plain bytes, as it travels.
template <class Record>
Bytes bytes_of(const Record& record) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(&record);
  return {first, first + sizeof record};
}

inline std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }
inline Bytes bytes_of_text(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace sumac::python
