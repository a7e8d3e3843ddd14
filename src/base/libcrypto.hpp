#pragma once
// libcrypto of OpenSSL 3. The client library is loaded into programs that may bring another OpenSSL, or none. So
// libcrypto is loaded on first use, and its symbols stay out of the program's namespace (docs/adr/0050).
#include <openssl/types.h>

#include "base/result.hpp"

namespace sumac {

class Libcrypto {
 public:
  /// Loads it, once per process. Returns Errc::unsupported if it is missing; the text says what to install.
  static Result<const Libcrypto*> load();
  /// The error of a library without something that is needed.
  static Error lacks(const char* what);

  /// Sets `function`, a pointer to a function, to the library's one of this name. Returns false if it has none.
  template <class Function>
  [[nodiscard]] bool find(const char* name, Function*& function) const noexcept {
    function = reinterpret_cast<Function*>(symbol(name));
    return function != nullptr;
  }
  /// Returns a context of our own, in which the program's OpenSSL settings stay unchanged. It is made at the first call and
  /// loads a provider when it is first used, so whoever can do without it saves the time. nullptr: it could not be made.
  OSSL_LIB_CTX* context() const noexcept;

 private:
  void* symbol(const char* name) const noexcept;

  void* library_ = nullptr;
};

}  // namespace sumac
