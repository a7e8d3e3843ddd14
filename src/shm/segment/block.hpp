#pragma once
// Memory that the ranks of one host share, beside the team's own segment: zeros at first, without a name once all have
// it, gone with the last process.
#include <cstddef>

#include "base/result.hpp"
#include "bindings/python/core/members.hpp"
#include "bindings/python/core/store.hpp"

namespace sumac::python {

class Block {
 public:
  /// Collective over all ranks; those of a host share one block. If any rank cannot have it, all get the reason.
  static Result<Block> share(Exchange& exchange, const Members& members, std::size_t bytes);

  Block() = default;
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;
  ~Block();

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return bytes_; }

 private:
  Block(std::byte* data, std::size_t bytes) noexcept : data_(data), bytes_(bytes) {}
  static Result<Block> map(int fd, std::size_t bytes);

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace sumac::python
