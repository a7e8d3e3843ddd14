#pragma once
// Two processes that have seen each other's public keys share a key that nobody who has read both can compute: X25519
// of libcrypto. Who can *change* what they see can still stand between them.
#include <array>
#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "base/secret.hpp"

namespace sumac {

using PublicKey = std::array<std::uint8_t, 32>;
using SharedKey = std::array<std::uint8_t, 32>;

class OwnKeys {
 public:
  /// Errc::unsupported: libcrypto is missing or too old.
  static Result<OwnKeys> draw();

  const PublicKey& shown() const noexcept { return public_; }
  /// Returns the key that this pair and the owner of `theirs` share. The same at both. Errc::invalid: `theirs` is no
  /// key.
  Result<SharedKey> with(const PublicKey& theirs) const;

 private:
  struct Release {
    void operator()(void* pair) const noexcept;
  };
  std::unique_ptr<void, Release> pair_;  ///< An EVP_PKEY.
  PublicKey public_{};
};

}  // namespace sumac
