#pragma once
// Rank 0 gives all other ranks one key. All have seen everybody's public key (key_agreement.hpp), and rank 0 seals the key for each
// with the key that the two share. `shown` holds the public keys in the order of ranks, as they came from other processes.
#include <vector>

#include "base/key_agreement.hpp"
#include "base/sealed.hpp"

namespace sumac {

/// Returns Errc::io if the kernel's generator has none.
Result<SealKey> draw_seal_key();

/// Returns the ranks' key, sealed for each rank but 0 in turn. Errc::invalid: a rank has shown no key.
Result<std::vector<std::uint8_t>> sealed_for_each(const SealKey& key, const OwnKeys& own,
                                                  const std::vector<std::vector<std::uint8_t>>& shown);
/// Returns the key from there at a rank that is not 0. Errc::invalid: it is not there.
Result<SealKey> opened_for(std::size_t rank, const std::vector<std::uint8_t>& sealed, const OwnKeys& own,
                           const std::vector<std::vector<std::uint8_t>>& shown);

}  // namespace sumac
