#include "base/hmac.hpp"

#include <dlfcn.h>
#include <openssl/evp.h>

namespace sumac {
namespace {

constexpr const char* kLibrary = "libcrypto.so.3";

struct Crypto {
  decltype(&EVP_Q_mac) mac = nullptr;
  OSSL_LIB_CTX* context = nullptr;
  Error why{Errc::ok, {}};
};

Crypto load() noexcept {
  Crypto crypto;
  const auto failed = [&](const char* what) {
    crypto.why = {Errc::unsupported, fmt::format("{}: {}: install OpenSSL 3 (libssl3)", kLibrary, what)};
    return crypto;
  };
  // The library is never closed, because libcrypto has handlers that run when the process ends.
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return failed(::dlerror());
  const auto make = reinterpret_cast<decltype(&OSSL_LIB_CTX_new)>(::dlsym(library, "OSSL_LIB_CTX_new"));
  const auto mac = reinterpret_cast<decltype(&EVP_Q_mac)>(::dlsym(library, "EVP_Q_mac"));
  if (make == nullptr || mac == nullptr) return failed("it has no EVP_Q_mac");
  crypto.context = make();
  if (crypto.context == nullptr) return failed("it could not start");
  crypto.mac = mac;
  return crypto;
}

const Crypto& crypto() noexcept {
  static const Crypto loaded = load();
  return loaded;
}

}  // namespace

Result<> prepare_hmac() {
  if (crypto().mac == nullptr) return tl::unexpected(crypto().why);
  return {};
}

bool hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::byte> message, Mac& mac) noexcept {
  mac = {};
  const Crypto& by = crypto();
  std::size_t bytes = 0;
  return by.mac != nullptr &&
         by.mac(by.context, "HMAC", nullptr, "SHA256", nullptr, key.data(), key.size(),
                reinterpret_cast<const unsigned char*>(message.data()), message.size(), mac.data(), mac.size(),
                &bytes) != nullptr &&
         bytes == mac.size();
}

}  // namespace sumac
