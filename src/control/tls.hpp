#pragma once
// Mutual TLS between daemons. Each machine has three files (PEM) made by `sumac pki`, normally in one directory under
// the names that it chooses. Errors that can be found in the files are reported at the start, in one line with the
// remedy. The identity of the other side is checked at each connection.
#include <grpcpp/grpcpp.h>
#include <openssl/ssl.h>

#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "control/identity.hpp"

namespace sumac::control {

struct SslDelete {
  void operator()(SSL* p) const noexcept { SSL_free(p); }
  void operator()(SSL_CTX* p) const noexcept { SSL_CTX_free(p); }
};

/// The files as the options name them: tls_dir alone; or tls_ca, tls_cert and tls_key; or nothing.
struct TlsFiles {
  std::string ca, cert, key;
  /// The directory holds ca.crt, ROLE-NAME.crt and ROLE-NAME.key, the names that `sumac pki` chooses.
  std::string directory{};
  bool none() const noexcept { return ca.empty() && cert.empty() && key.empty() && directory.empty(); }
};

class Tls {
 public:
  /// Reads and checks the files. The certificate must be for `role`, and for `name` unless that is empty. Returns null
  /// if no file is named.
  static Result<std::shared_ptr<Tls>> load(const TlsFiles& files, CertRole role, std::string_view name);
  /// Loads a person's files: the admin's certificate in SUMAC_TLS_DIR, or a certificate of any role in SUMAC_TLS_CA,
  /// SUMAC_TLS_CERT and SUMAC_TLS_KEY.
  static Result<std::shared_ptr<Tls>> of_environment();

  /// Demands a certificate of the authority, and speaks HTTP/2.
  Result<std::unique_ptr<SSL_CTX, SslDelete>> for_server() const;
  /// Reads the files again, so that a new certificate needs no restart. If they cannot be used, the last good ones stay
  /// in force.
  std::shared_ptr<grpc::ChannelCredentials> for_client();

  const Identity& self() const noexcept { return self_; }
  /// When the certificate that is in force ends.
  std::optional<std::time_t> end() const;

 private:
  struct Texts {
    std::string ca, cert, key;
  };
  Tls(TlsFiles files, Texts texts, Identity self)
      : files_(std::move(files)), texts_(std::move(texts)), self_(std::move(self)) {}
  static Result<std::pair<Texts, Identity>> read(const TlsFiles& files, std::optional<CertRole> role,
                                                 std::string_view name);

  TlsFiles files_;
  mutable std::mutex mutex_;
  Texts texts_;
  Identity self_;
};

}  // namespace sumac::control
