#include "base/hmac.hpp"

// SHA-256 of libcrypto by its oldest functions, which OpenSSL 3 calls deprecated: they alone work without a library context.
// Its newer ones load a provider, and for an HMAC also the configuration of the whole process.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <dlfcn.h>
#include <openssl/sha.h>
#include <strings.h>

#include <algorithm>

namespace sumac {
namespace {

constexpr const char* kLibrary = "libcrypto.so.3";

struct Sha256 {
  decltype(&SHA256_Init) begin = nullptr;
  decltype(&SHA256_Update) add = nullptr;
  decltype(&SHA256_Final) end = nullptr;
  Error why{Errc::ok, {}};
};

Sha256 load() noexcept {
  Sha256 sha;
  const auto failed = [&](const char* what) {
    sha.why = {Errc::unsupported, fmt::format("{}: {}: install OpenSSL 3 (libssl3)", kLibrary, what)};
    return sha;
  };
  // The library is never closed, because libcrypto has handlers that run when the process ends.
  void* library = ::dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return failed(::dlerror());
  sha.begin = reinterpret_cast<decltype(sha.begin)>(::dlsym(library, "SHA256_Init"));
  sha.add = reinterpret_cast<decltype(sha.add)>(::dlsym(library, "SHA256_Update"));
  const auto end = reinterpret_cast<decltype(sha.end)>(::dlsym(library, "SHA256_Final"));
  if (sha.begin == nullptr || sha.add == nullptr || end == nullptr) return failed("it has no SHA256_Init");
  sha.end = end;
  return sha;
}

const Sha256& sha() noexcept {
  static const Sha256 loaded = load();
  return loaded;
}

using Block = std::array<std::uint8_t, SHA256_CBLOCK>;

bool digest(std::span<const std::uint8_t> first, std::span<const std::byte> second, std::uint8_t* to) noexcept {
  const Sha256& by = sha();
  SHA256_CTX state;
  const bool done = by.begin(&state) == 1 && by.add(&state, first.data(), first.size()) == 1 &&
                    by.add(&state, second.data(), second.size()) == 1 && by.end(to, &state) == 1;
  ::explicit_bzero(&state, sizeof state);
  return done;
}

}  // namespace

Result<> prepare_hmac() {
  if (sha().end == nullptr) return tl::unexpected(sha().why);
  return {};
}

// RFC 2104: H((key ^ opad) || H((key ^ ipad) || message)), with a key longer than a block replaced by its digest.
bool hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::byte> message, Mac& mac) noexcept {
  mac = {};
  if (sha().end == nullptr) return false;
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
