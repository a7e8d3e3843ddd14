#include "base/libcrypto.hpp"

#include <dlfcn.h>
#include <openssl/crypto.h>

namespace sumac {
namespace {

constexpr const char* kLibrary = "libcrypto.so.3";

Error failed(const char* what) {
  return {Errc::unsupported, fmt::format("{}: {}: install OpenSSL 3 (libssl3)", kLibrary, what)};
}

}  // namespace

Error Libcrypto::lacks(const char* what) { return failed(fmt::format("it has no {}", what).c_str()); }

void* Libcrypto::symbol(const char* name) const noexcept { return ::dlsym(library_, name); }

Result<const Libcrypto*> Libcrypto::load() {
  static const Result<Libcrypto> loaded = []() -> Result<Libcrypto> {
    Libcrypto library;
    // The library is never closed, because libcrypto has handlers that run when the process ends.
    library.library_ = ::dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL);
    if (library.library_ == nullptr) return tl::unexpected(failed(::dlerror()));
    return library;
  }();
  if (!loaded) return tl::unexpected(loaded.error());
  return &*loaded;
}

OSSL_LIB_CTX* Libcrypto::context() const noexcept {
  static OSSL_LIB_CTX* const made = [this]() -> OSSL_LIB_CTX* {
    decltype(&OSSL_LIB_CTX_new) make = nullptr;
    return find("OSSL_LIB_CTX_new", make) ? make() : nullptr;
  }();
  return made;
}

}  // namespace sumac
