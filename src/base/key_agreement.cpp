#include "base/key_agreement.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <span>

#include "base/hmac.hpp"
#include "base/libcrypto.hpp"

namespace sumac {
namespace {

constexpr const char* kCurve = "X25519";

struct Functions {
  decltype(&EVP_PKEY_Q_keygen) draw = nullptr;
  decltype(&EVP_PKEY_free) release = nullptr;
  decltype(&EVP_PKEY_get_raw_public_key) shown = nullptr;
  decltype(&EVP_PKEY_new_raw_public_key_ex) read = nullptr;
  decltype(&EVP_PKEY_CTX_new_from_pkey) begin = nullptr;
  decltype(&EVP_PKEY_CTX_free) end = nullptr;
  decltype(&EVP_PKEY_derive_init) prepare = nullptr;
  decltype(&EVP_PKEY_derive_set_peer) set_peer = nullptr;
  decltype(&EVP_PKEY_derive) derive = nullptr;
  OSSL_LIB_CTX* context = nullptr;
};

const Result<Functions>& functions() {
  static const Result<Functions> found = []() -> Result<Functions> {
    if (auto ready = prepare_hmac(); !ready) return tl::unexpected(ready.error());
    const auto library = Libcrypto::load();
    if (!library) return tl::unexpected(library.error());
    const Libcrypto& in = **library;
    Functions of{.context = in.context()};
    const bool is_whole = of.context != nullptr && in.find("EVP_PKEY_Q_keygen", of.draw) &&
                          in.find("EVP_PKEY_free", of.release) && in.find("EVP_PKEY_get_raw_public_key", of.shown) &&
                          in.find("EVP_PKEY_new_raw_public_key_ex", of.read) &&
                          in.find("EVP_PKEY_CTX_new_from_pkey", of.begin) && in.find("EVP_PKEY_CTX_free", of.end) &&
                          in.find("EVP_PKEY_derive_init", of.prepare) &&
                          in.find("EVP_PKEY_derive_set_peer", of.set_peer) && in.find("EVP_PKEY_derive", of.derive);
    if (!is_whole) return tl::unexpected(Libcrypto::lacks("agreement on keys"));
    return of;
  }();
  return found;
}

Error failed(const char* what) {
  return {Errc::unsupported, fmt::format("libcrypto.so.3 could not {} by {}", what, kCurve)};
}

}  // namespace

void OwnKeys::Release::operator()(void* pair) const noexcept { functions()->release(static_cast<EVP_PKEY*>(pair)); }

Result<OwnKeys> OwnKeys::draw() {
  if (!functions()) return tl::unexpected(functions().error());
  const Functions& by = *functions();
  OwnKeys drawn;
  EVP_PKEY* const pair = by.draw(by.context, nullptr, kCurve);
  drawn.pair_.reset(pair);
  std::size_t bytes = drawn.public_.size();
  if (pair == nullptr || by.shown(pair, drawn.public_.data(), &bytes) != 1 || bytes != drawn.public_.size())
    return tl::unexpected(failed("draw a key"));
  return drawn;
}

Result<SharedKey> OwnKeys::with(const PublicKey& theirs) const {
  const Functions& by = *functions();
  const std::unique_ptr<void, Release> read(by.read(by.context, kCurve, nullptr, theirs.data(), theirs.size()));
  if (!read) return fail(Errc::invalid, "these 32 bytes are no public key of {}", kCurve);
  const std::unique_ptr<EVP_PKEY_CTX, decltype(by.end)> step(
      by.begin(by.context, static_cast<EVP_PKEY*>(pair_.get()), nullptr), by.end);
  SharedKey point{}, key{};
  std::size_t bytes = point.size();
  if (!step || by.prepare(step.get()) != 1) return tl::unexpected(failed("agree on a key"));
  // A point of small order would give a key that everybody knows; libcrypto refuses the zeros that it leads to.
  if (by.set_peer(step.get(), static_cast<EVP_PKEY*>(read.get())) != 1 ||
      by.derive(step.get(), point.data(), &bytes) != 1 || bytes != point.size())
    return fail(Errc::invalid, "no key can be agreed on with this public key");
  // The key is of these two pairs: both public keys are part of it, in an order that both sides know.
  std::array<std::array<std::uint8_t, 32>, 2> pairs{public_, theirs};
  std::sort(pairs.begin(), pairs.end());
  const bool made = hmac_sha256(point, std::as_bytes(std::span(pairs)), key);
  wipe(point);
  if (!made) return tl::unexpected(failed("agree on a key"));
  return key;
}

}  // namespace sumac
