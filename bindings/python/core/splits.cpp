#include "bindings/python/core/splits.hpp"

#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "coll/collective.hpp"

namespace sumac::python {
namespace {

std::size_t bytes_in(const sumac_blocks_t& blocks, int rank) {
  return static_cast<std::size_t>(sumac_block_count(&blocks, rank)) * blocks.unit;
}
std::size_t offset_in(const sumac_blocks_t& blocks) {
  return static_cast<std::size_t>(sumac_block_displacement(&blocks, 0)) * blocks.unit;
}

/// The bytes of the block from rank `from` to rank `to`, as one of the two knows them.
std::uint64_t block(const sumac_call_t& call, int from, int to, bool by_sender) {
  if (!coll::has_block(static_cast<coll::Kind>(call.coll), call.root, from, to)) return 0;
  switch (call.coll) {
    case SUMAC_COLL_ALLTOALLV: return by_sender ? bytes_in(call.in_blocks, to) : bytes_in(call.out_blocks, from);
    case SUMAC_COLL_ALLGATHERV: return bytes_in(call.out_blocks, from);
    case SUMAC_COLL_GATHERV: return by_sender ? call.bytes : bytes_in(call.out_blocks, from);
    case SUMAC_COLL_SCATTERV: return by_sender ? bytes_in(call.in_blocks, to) : call.bytes;
    default: return 0;
  }
}

}  // namespace

std::vector<std::int64_t> describe(sumac_blocks_t& blocks, const std::vector<std::int64_t>& counts, std::size_t unit) {
  std::vector<std::int64_t> at(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), at.begin(), std::int64_t{0});
  if (!counts.empty()) blocks = {counts.data(), at.data(), unit, 1};
  return at;
}

std::optional<std::string> run_alone(const sumac_call_t& call) {
  if (has_counts(call))
    if (const std::uint64_t sent = block(call, 0, 0, true), expected = block(call, 0, 0, false); sent != expected)
      return fmt::format("rank 0 sends {} B to itself, and expects {} B", sent, expected);
  if (call.coll == SUMAC_COLL_BARRIER || call.coll == SUMAC_COLL_BCAST || call.in == nullptr) return std::nullopt;
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  std::size_t bytes = call.bytes;
  if (call.in_blocks.counts != nullptr) {
    bytes = bytes_in(call.in_blocks, 0);
    in += offset_in(call.in_blocks);
  }
  if (call.out_blocks.counts != nullptr) {
    bytes = bytes_in(call.out_blocks, 0);
    out += offset_in(call.out_blocks);
  }
  if (bytes > 0 && in != out) std::memmove(out, in, bytes);
  return std::nullopt;
}

Splits::Splits(std::byte* memory, const Members& members)
    : tables_(reinterpret_cast<std::uint64_t*>(memory)), members_(&members) {}

std::uint64_t* Splits::row(int index) const {
  const auto ranks = members_->here.size();
  return tables_ + (turn_ * ranks + static_cast<std::size_t>(index)) * ranks;
}

void Splits::begin(const sumac_call_t& call) {
  turn_ ^= 1;
  std::uint64_t* to = row(members_->index_here());
  for (const int rank : members_->here) *to++ = block(call, members_->rank, rank, true);
}

std::optional<std::string> Splits::differ(const sumac_call_t& call) const {
  const int own = members_->index_here(), rank = members_->rank;
  for (int i = 0; i < static_cast<int>(members_->here.size()); ++i) {
    const int from = members_->here[static_cast<std::size_t>(i)];
    const std::uint64_t sent = row(i)[own], expected = block(call, from, rank, false);
    if (sent != expected)
      return from == rank
                 ? fmt::format("rank {} sends {} B to itself, and expects {} B", rank, sent, expected)
                 : fmt::format("rank {} sends {} B to rank {}, which expects {} B", from, sent, rank, expected);
  }
  return std::nullopt;
}

}  // namespace sumac::python
