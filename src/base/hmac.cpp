#include "base/hmac.hpp"

#include <openssl/evp.h>

#include "base/libcrypto.hpp"

namespace sumac {
namespace {

struct Macs {
  decltype(&EVP_Q_mac) make = nullptr;
  OSSL_LIB_CTX* context = nullptr;
};

const Result<Macs>& macs() noexcept {
  static const Result<Macs> found = []() -> Result<Macs> {
    const auto library = Libcrypto::load();
    if (!library) return tl::unexpected(library.error());
    Macs macs{.context = (*library)->context()};
    (*library)->find("EVP_Q_mac", macs.make);
    if (macs.make == nullptr)
      return fail(Errc::unsupported, "libcrypto.so.3 has no EVP_Q_mac: install OpenSSL 3 (libssl3)");
    return macs;
  }();
  return found;
}

}  // namespace

Result<> prepare_hmac() {
  if (!macs()) return tl::unexpected(macs().error());
  return {};
}

bool hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::byte> message, Mac& mac) noexcept {
  mac = {};
  const auto& by = macs();
  std::size_t bytes = 0;
  return by &&
         by->make(by->context, "HMAC", nullptr, "SHA256", nullptr, key.data(), key.size(),
                  reinterpret_cast<const unsigned char*>(message.data()), message.size(), mac.data(), mac.size(),
                  &bytes) != nullptr &&
         bytes == mac.size();
}

}  // namespace sumac
