#include "rank/pairwise_exchange.hpp"

#include <cstring>
#include <optional>
#include <utility>

namespace sumac::rank {
namespace {

/// Values, one behind the other, each behind its length.
Bytes joined(const std::vector<Bytes>& all) {
  Bytes bytes;
  for (const Bytes& one : all) {
    const Bytes length = bytes_of(static_cast<std::uint64_t>(one.size()));
    bytes.insert(bytes.end(), length.begin(), length.end());
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return bytes;
}

std::optional<std::vector<Bytes>> parted(const Bytes& bytes, std::size_t count) {
  std::vector<Bytes> all;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t length = 0;
    if (bytes.size() - at < sizeof length) return std::nullopt;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    at += sizeof length;
    if (bytes.size() - at < length) return std::nullopt;
    all.emplace_back(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                     bytes.begin() + static_cast<std::ptrdiff_t>(at + length));
    at += length;
  }
  return all;
}

}  // namespace

Result<std::vector<Bytes>> PairwiseExchange::gather(int root, const Bytes& own) {
  if (rank() != root) {
    if (auto done = put(root, own); !done) return tl::unexpected(done.error());
    return std::vector<Bytes>();
  }
  std::vector<Bytes> all(static_cast<std::size_t>(size()));
  for (int from = 0; from < size(); ++from) {
    auto one = from == root ? Result<Bytes>(own) : take(from);
    if (!one) return tl::unexpected(one.error());
    all[static_cast<std::size_t>(from)] = std::move(*one);
  }
  return all;
}

Result<Bytes> PairwiseExchange::bcast(int root, const Bytes& own) {
  if (rank() != root) return take(root);
  for (int to = 0; to < size(); ++to)
    if (to != root)
      if (auto done = put(to, own); !done) return tl::unexpected(done.error());
  return own;
}

Result<std::vector<Bytes>> PairwiseExchange::allgather(const Bytes& own) {
  auto gathered = gather(0, own);
  if (!gathered) return gathered;
  auto told = bcast(0, rank() == 0 ? joined(*gathered) : Bytes());
  if (!told) return tl::unexpected(told.error());
  auto all = parted(*told, static_cast<std::size_t>(size()));
  if (!all) return tl::unexpected(give_up({Errc::invalid, "rank 0 sent values that are none"}));
  return *std::move(all);
}

}  // namespace sumac::rank
