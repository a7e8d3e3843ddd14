#include "rank/alone.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "coll/collective.hpp"

namespace sumac::rank {

void run_alone(const sumac_call_t& call) {
  const auto kind = static_cast<coll::Kind>(call.coll);
  const bool moves_none = kind == coll::Kind::barrier || kind == coll::Kind::bcast || keeps_nothing(kind, 0);
  if (moves_none || call.in == nullptr || call.in == call.out) return;
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  std::size_t bytes = call.bytes;
  const auto cut = [&](const sumac_blocks_t& blocks, auto*& at) {
    if (blocks.counts == nullptr) return;
    bytes = static_cast<std::size_t>(sumac_block_count(&blocks, 0)) * blocks.unit;
    at += sumac_block_displacement(&blocks, 0) * static_cast<std::int64_t>(blocks.unit);
  };
  cut(call.in_blocks, in);
  cut(call.out_blocks, out);
  if (bytes > 0) std::memmove(out, in, bytes);
}

}  // namespace sumac::rank
