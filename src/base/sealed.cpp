#include "base/sealed.hpp"

#include <openssl/evp.h>

#include <limits>
#include <memory>

#include "base/libcrypto.hpp"

namespace sumac {
namespace {

constexpr const char* kCipher = "AES-256-GCM";
constexpr std::array<std::uint8_t, 12> kNonce{};

struct Functions {
  decltype(&EVP_CIPHER_fetch) fetch = nullptr;
  decltype(&EVP_CIPHER_CTX_new) begin = nullptr;
  decltype(&EVP_CIPHER_CTX_free) end = nullptr;
  decltype(&EVP_CIPHER_CTX_ctrl) control = nullptr;
  decltype(&EVP_CipherInit_ex2) prepare = nullptr;
  decltype(&EVP_CipherUpdate) update = nullptr;
  decltype(&EVP_CipherFinal_ex) finish = nullptr;
  EVP_CIPHER* cipher = nullptr;  ///< Kept for the life of the process.
};

const Result<Functions>& functions() {
  static const Result<Functions> found = []() -> Result<Functions> {
    const auto library = Libcrypto::load();
    if (!library) return tl::unexpected(library.error());
    const Libcrypto& in = **library;
    Functions of;
    auto* const context = in.context();
    const bool is_whole = context != nullptr && in.find("EVP_CIPHER_fetch", of.fetch) &&
                          in.find("EVP_CIPHER_CTX_new", of.begin) && in.find("EVP_CIPHER_CTX_free", of.end) &&
                          in.find("EVP_CIPHER_CTX_ctrl", of.control) && in.find("EVP_CipherInit_ex2", of.prepare) &&
                          in.find("EVP_CipherUpdate", of.update) && in.find("EVP_CipherFinal_ex", of.finish);
    if (is_whole) of.cipher = of.fetch(context, kCipher, nullptr);
    if (of.cipher == nullptr) return tl::unexpected(Libcrypto::lacks(kCipher));
    return of;
  }();
  return found;
}

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

/// Begins to seal (`is_sealing`) or to open; returns nothing if there was no memory.
Context begin(const Functions& by, const SealKey& key, bool is_sealing) {
  Context context(by.begin(), by.end);
  if (context && by.prepare(context.get(), by.cipher, key.data(), kNonce.data(), is_sealing ? 1 : 0, nullptr) != 1)
    context.reset();
  return context;
}

/// Writes what `message` becomes to `out`, which has as many bytes.
bool run(const Functions& by, EVP_CIPHER_CTX* context, std::span<const std::uint8_t> message, std::uint8_t* out) {
  int written = 0, last = 0;
  return message.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()) &&
         by.update(context, out, &written, message.data(), static_cast<int>(message.size())) == 1 &&
         static_cast<std::size_t>(written) == message.size() && by.finish(context, out + written, &last) == 1 &&
         last == 0;
}

}  // namespace

Result<std::vector<std::uint8_t>> seal(const SealKey& key, std::span<const std::uint8_t> message) {
  if (!functions()) return tl::unexpected(functions().error());
  const Functions& by = *functions();
  std::vector<std::uint8_t> sealed(message.size() + kSealBytes);
  const Context context = begin(by, key, true);
  if (!context || !run(by, context.get(), message, sealed.data()) ||
      by.control(context.get(), EVP_CTRL_AEAD_GET_TAG, kSealBytes, sealed.data() + message.size()) != 1)
    return fail(Errc::unsupported, "libcrypto.so.3 could not seal {} B", message.size());
  return sealed;
}

std::optional<std::vector<std::uint8_t>> open_sealed(const SealKey& key, std::span<const std::uint8_t> sealed) {
  if (!functions() || sealed.size() < kSealBytes) return std::nullopt;
  const Functions& by = *functions();
  const auto message = sealed.first(sealed.size() - kSealBytes);
  std::array<std::uint8_t, kSealBytes> tag{};
  std::copy(sealed.end() - kSealBytes, sealed.end(), tag.begin());
  std::vector<std::uint8_t> opened(message.size());
  const Context context = begin(by, key, false);
  if (!context || by.control(context.get(), EVP_CTRL_AEAD_SET_TAG, kSealBytes, tag.data()) != 1 ||
      !run(by, context.get(), message, opened.data()))
    return std::nullopt;
  return opened;
}

}  // namespace sumac
