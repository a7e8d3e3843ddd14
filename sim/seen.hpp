#pragma once
// The hashes of the worlds that an explorer has met.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sumac::sim {

class Seen {
 public:
  /// Returns whether it is new. 0 is no hash.
  bool insert(std::uint64_t hash) {
    if (used_ * 10 > table_.size() * 6) {
      std::vector<std::uint64_t> old(table_.size() * 2);
      old.swap(table_);
      used_ = 0;
      for (const auto each : old)
        if (each != 0) insert(each);
    }
    std::size_t at = hash & (table_.size() - 1);
    for (; table_[at] != 0; at = (at + 1) & (table_.size() - 1))
      if (table_[at] == hash) return false;
    table_[at] = hash;
    ++used_;
    return true;
  }

 private:
  std::vector<std::uint64_t> table_ = std::vector<std::uint64_t>(1 << 16);
  std::size_t used_ = 0;
};

}  // namespace sumac::sim
