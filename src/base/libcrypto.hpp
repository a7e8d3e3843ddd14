#pragma once
// libcrypto of OpenSSL 3. The client library is loaded into programs that may bring another OpenSSL, or none. So
// libcrypto is loaded on first use, its symbols stay out of the program's namespace, and it works in a context of its
// own, so that the program's OpenSSL settings stay unchanged (docs/adr/0050).
#include <openssl/types.h>

#include "base/result.hpp"

namespace sumac {

class Libcrypto {
 public:
  /// Loads it, once per process. Returns Errc::unsupported if it is missing or too old; the text says what to install.
  static Result<const Libcrypto*> load();

  OSSL_LIB_CTX* context() const noexcept { return context_; }
  /// Sets `function`, a pointer to a function, to the library's one of this name, or to nullptr if it has none.
  template <class Function>
  void find(const char* name, Function*& function) const noexcept {
    function = reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const noexcept;

  void* library_ = nullptr;
  OSSL_LIB_CTX* context_ = nullptr;
};

}  // namespace sumac
