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
  Exchange(Store& store, int rank, int size) : Exchange(store, rank, size, "sumac") {}

  /// The exchange of `size` of the ranks, at its own place in the store. `my_index` is -1 at a rank that does not take part.
  Exchange among(int size, int my_index);

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  /// Returns what each rank gave, in the order of ranks. Values may differ in length.
  Result<std::vector<Bytes>> allgather(const Bytes& own);
  /// The same at `root`, and nothing elsewhere.
  Result<std::vector<Bytes>> gather(int root, const Bytes& own);
  /// Returns what `root` gave.
  Result<Bytes> bcast(int root, const Bytes& own);

 private:
  Exchange(Store& store, int rank, int size, std::string place)
      : store_(store), rank_(rank), size_(size), place_(std::move(place)) {}
  std::string next_use();
  Result<> put(const std::string& use, const Bytes& own);
  Result<Bytes> take(const std::string& use, int rank);
  Result<std::vector<Bytes>> take_all(const std::string& use, const Bytes& own);

  Store& store_;
  int rank_, size_;
  std::string place_;
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
