#include "base/group_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

namespace sumac {
namespace {

using Blob = std::vector<std::uint8_t>;

/// The key that this rank shares with `rank`.
Result<SharedKey> shared_with(std::size_t rank, const OwnKeys& own, const std::vector<Blob>& shown) {
  PublicKey theirs;
  if (shown[rank].size() != theirs.size()) return fail(Errc::invalid, "rank {} sent no public key", rank);
  std::copy(shown[rank].begin(), shown[rank].end(), theirs.begin());
  auto shared = own.with(theirs);
  if (!shared) return within(fmt::format("the public key of rank {}", rank), shared.error());
  return shared;
}

}  // namespace

Result<SealKey> draw_seal_key() {
  SealKey key{};
  for (std::size_t at = 0; at < key.size(); at += sizeof(Secret)) {
    const auto part = draw_secret();
    if (!part) return tl::unexpected(part.error());
    std::copy(part->begin(), part->end(), key.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return key;
}

Result<Blob> sealed_for_each(const SealKey& key, const OwnKeys& own, const std::vector<Blob>& shown) {
  Blob all;
  for (std::size_t rank = 1; rank < shown.size(); ++rank) {
    auto shared = shared_with(rank, own, shown);
    if (!shared) return tl::unexpected(shared.error());
    auto sealed = seal(*shared, key);
    wipe(*shared);
    if (!sealed) return sealed;
    all.insert(all.end(), sealed->begin(), sealed->end());
  }
  return all;
}

Result<SealKey> opened_for(std::size_t rank, const Blob& sealed, const OwnKeys& own, const std::vector<Blob>& shown) {
  auto shared = shared_with(0, own, shown);
  if (!shared) return tl::unexpected(shared.error());
  constexpr std::size_t kEach = sizeof(SealKey) + kSealBytes;
  std::optional<Blob> opened;
  if (sealed.size() == kEach * (shown.size() - 1))
    opened = open_sealed(*shared, std::span(sealed).subspan(kEach * (rank - 1), kEach));
  wipe(*shared);
  if (!opened) return fail(Errc::invalid, "rank 0 gave this rank no key");
  SealKey key{};
  std::copy(opened->begin(), opened->end(), key.begin());
  ::explicit_bzero(opened->data(), opened->size());
  return key;
}

}  // namespace sumac
