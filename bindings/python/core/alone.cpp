#include "bindings/python/core/alone.hpp"

#include <cstddef>
#include <cstring>

#include "bindings/python/core/splits.hpp"

namespace sumac::python {
namespace {

std::size_t bytes_in(const sumac_blocks_t& blocks) {
  return static_cast<std::size_t>(sumac_block_count(&blocks, 0)) * blocks.unit;
}
std::size_t offset_in(const sumac_blocks_t& blocks) {
  return static_cast<std::size_t>(sumac_block_displacement(&blocks, 0)) * blocks.unit;
}

}  // namespace

std::optional<std::string> run_alone(const sumac_call_t& call) {
  if (auto how = differ_alone(call)) return how;
  if (call.coll == SUMAC_COLL_BARRIER || call.coll == SUMAC_COLL_BCAST || call.in == nullptr) return std::nullopt;
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  std::size_t bytes = call.bytes;
  if (call.in_blocks.counts != nullptr) {
    bytes = bytes_in(call.in_blocks);
    in += offset_in(call.in_blocks);
  }
  if (call.out_blocks.counts != nullptr) {
    bytes = bytes_in(call.out_blocks);
    out += offset_in(call.out_blocks);
  }
  if (bytes > 0 && in != out) std::memmove(out, in, bytes);
  return std::nullopt;
}

}  // namespace sumac::python
