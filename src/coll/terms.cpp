#include "coll/terms.hpp"

#include <fmt/format.h>

#include "base/meaning.hpp"
#include "base/types.hpp"

namespace sumac::coll {
namespace {

std::uint64_t common_bytes(const Operation& operation, int members) noexcept {
  if (!has_counts(operation)) return operation.bytes;
  if (operation.kind == Kind::alltoallv) return 0;
  const Blocks& blocks = operation.in_blocks.counts != nullptr ? operation.in_blocks : operation.out_blocks;
  return begin_in_a_row(blocks, members);
}

}  // namespace

Terms terms_of(const Operation& operation, int members) noexcept {
  static_assert(kOpCount < 16 && kDtypeCount < 16, "half a byte holds each, with null");
  const Op op = operation.fold != nullptr ? operation.fold->op : Op::null;
  const Dtype dtype = operation.fold != nullptr ? operation.fold->dtype : Dtype::null;
  return {common_bytes(operation, members),
          std::uint64_t{static_cast<std::uint32_t>(operation.root)} << 32 | std::uint64_t{operation.meaning} << 16 |
              std::uint64_t{index_of(operation.kind)} << 8 | std::uint64_t{static_cast<std::uint8_t>(op)} << 4 |
              std::uint64_t{static_cast<std::uint8_t>(dtype)}};
}

std::string to_string(const Terms& terms) {
  const auto kind = static_cast<Kind>(static_cast<std::uint8_t>(terms.rest >> 8));
  const auto meaning = static_cast<std::uint16_t>(terms.rest >> 16);
  const auto op = static_cast<Op>(terms.rest >> 4 & 0xF);
  const auto dtype = static_cast<Dtype>(terms.rest & 0xF);
  std::string text(to_string(kind));
  if (terms.bytes != 0) text += fmt::format(" of {} B", terms.bytes);
  if (const std::string meant = describe_meaning(meaning); !meant.empty())
    text += fmt::format(", {}", meant);
  else if (dtype != Dtype::null)
    text += fmt::format(", {}", to_string(dtype));
  if (op != Op::null && !means_mean(meaning)) text += fmt::format(", {}", to_string(op));
  if (collective(kind).has_root) text += fmt::format(", root {}", terms.rest >> 32);
  return text;
}

std::uint64_t block_bytes(const Operation& operation, int from, int to, bool by_sender) noexcept {
  if (!has_block(operation.kind, operation.root, from, to)) return 0;
  switch (operation.kind) {
    case Kind::alltoallv: return by_sender ? operation.in_blocks.bytes(to) : operation.out_blocks.bytes(from);
    case Kind::allgatherv: return operation.out_blocks.bytes(from);
    case Kind::gatherv: return by_sender ? operation.bytes : operation.out_blocks.bytes(from);
    case Kind::scatterv: return by_sender ? operation.in_blocks.bytes(to) : operation.bytes;
    default: return 0;
  }
}

}  // namespace sumac::coll
