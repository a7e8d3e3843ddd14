#pragma once
// Memory that the ranks of one host share, beside a team's segment: zeros at first, without a name once all have it, gone
// with the last process. A memfd takes pages only where something is written; a file in /dev/shm takes all at once.
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace sumac::shm {

class Block {
 public:
  /// Returns the text of each rank, by rank. Collective.
  using Exchange = std::function<Result<std::vector<std::string>>(const std::string& own)>;

  /// Collective over all ranks of the exchange; those of a host share one block, which the rank `creator` makes. It has one
  /// of `sizes` [bytes, falling]: the first, or in a small /dev/shm one that leaves room to others (fair_share), or the last. If any rank cannot have it, all get the reason.
  static Result<Block> share(const Exchange& exchange, int rank, int creator, const std::vector<std::size_t>& sizes);

  Block() = default;
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;
  ~Block();

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return bytes_; }

 private:
  Block(std::byte* data, std::size_t bytes) noexcept : data_(data), bytes_(bytes) {}

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace sumac::shm
