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

void* Libcrypto::symbol(const char* name) const noexcept { return ::dlsym(library_, name); }

Result<const Libcrypto*> Libcrypto::load() {
  static const Result<Libcrypto> loaded = []() -> Result<Libcrypto> {
    Libcrypto library;
    // The library is never closed, because libcrypto has handlers that run when the process ends.
    library.library_ = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library.library_ == nullptr) return tl::unexpected(failed(::dlerror()));
    decltype(&OSSL_LIB_CTX_new) make = nullptr;
    library.find("OSSL_LIB_CTX_new", make);
    if (make == nullptr) return tl::unexpected(failed("it is older than OpenSSL 3"));
    library.context_ = make();
    if (library.context_ == nullptr) return tl::unexpected(failed("it could not start"));
    return library;
  }();
  if (!loaded) return tl::unexpected(loaded.error());
  return &*loaded;
}

}  // namespace sumac
