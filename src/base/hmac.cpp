#include "base/hmac.hpp"

// SHA-256 of libcrypto by its oldest functions, which OpenSSL 3 calls deprecated: they alone work without a library context.
// Its newer ones load a provider, and for an HMAC also the configuration of the whole process.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
#include <strings.h>

#include <algorithm>

#include "base/libcrypto.hpp"

namespace sumac {
namespace {

struct Sha256 {
  decltype(&SHA256_Init) begin = nullptr;
  decltype(&SHA256_Update) add = nullptr;
  decltype(&SHA256_Final) end = nullptr;
};

const Result<Sha256>& sha() noexcept {
  static const Result<Sha256> found = []() -> Result<Sha256> {
    const auto library = Libcrypto::load();
    if (!library) return tl::unexpected(library.error());
    Sha256 sha;
    const Libcrypto& in = **library;
    if (!in.find("SHA256_Init", sha.begin) || !in.find("SHA256_Update", sha.add) || !in.find("SHA256_Final", sha.end))
      return tl::unexpected(Libcrypto::lacks("SHA-256"));
    return sha;
  }();
  return found;
}

using Block = std::array<std::uint8_t, SHA256_CBLOCK>;

bool digest(std::span<const std::uint8_t> first, std::span<const std::byte> second, std::uint8_t* to) noexcept {
  const Sha256& by = *sha();
  SHA256_CTX state;
  const bool done = by.begin(&state) == 1 && by.add(&state, first.data(), first.size()) == 1 &&
                    by.add(&state, second.data(), second.size()) == 1 && by.end(to, &state) == 1;
  ::explicit_bzero(&state, sizeof state);
  return done;
}

}  // namespace

Result<> prepare_hmac() {
  if (!sha()) return tl::unexpected(sha().error());
  return {};
}

// RFC 2104: H((key ^ opad) || H((key ^ ipad) || message)), with a key longer than a block replaced by its digest.
bool hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::byte> message, Mac& mac) noexcept {
  mac = {};
  if (!sha()) return false;
  Block inner{}, outer{};
  if (key.size() > inner.size()) {
    if (!digest(key, {}, inner.data())) return false;
  } else {
    std::ranges::copy(key, inner.begin());
  }
  std::ranges::transform(inner, outer.begin(), [](std::uint8_t byte) { return byte ^ 0x5c; });
  std::ranges::transform(inner, inner.begin(), [](std::uint8_t byte) { return byte ^ 0x36; });
  Mac of_message{};
  const bool done =
      digest(inner, message, of_message.data()) && digest(outer, std::as_bytes(std::span(of_message)), mac.data());
  ::explicit_bzero(inner.data(), inner.size());
  ::explicit_bzero(outer.data(), outer.size());
  if (!done) mac = {};
  return done;
}

}  // namespace sumac
