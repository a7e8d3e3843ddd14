#pragma once
// Mutual TLS between daemons: three files (PEM) on each machine, made by `sumac pki`, mostly in one directory by the names that it gives. What can be known to be wrong with them is said
// at the start, in one line with the remedy; whether the other side is who it should be is seen at each connection.
#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "control/identity.hpp"

namespace sumac::control {

/// As the options say: tls_dir alone, or tls_ca, tls_cert and tls_key, or nothing.
struct TlsFiles {
  std::string ca, cert, key;
  std::string directory{};  ///< With ca.crt and ROLE-NAME.crt, ROLE-NAME.key, as `sumac pki` names them.
  bool none() const noexcept { return ca.empty() && cert.empty() && key.empty() && directory.empty(); }
};

class Tls {
 public:
  /// Reads and checks. The certificate must be for `role`, and for `name` unless that is empty. None given: null.
  static Result<std::shared_ptr<Tls>> load(const TlsFiles& files, CertRole role, std::string_view name);
  /// A person's: the admin's certificate in SUMAC_TLS_DIR; or SUMAC_TLS_CA, SUMAC_TLS_CERT and SUMAC_TLS_KEY, whatever the certificate is for.
  static Result<std::shared_ptr<Tls>> of_environment();

  std::shared_ptr<grpc::ServerCredentials> for_server() const;
  /// Reads the files again, so that a new certificate needs no restart; what can't be used is left aside for what was good before.
  std::shared_ptr<grpc::ChannelCredentials> for_client();

  const Identity& self() const noexcept { return self_; }

 private:
  struct Texts {
    std::string ca, cert, key;
  };
  Tls(TlsFiles files, Texts texts, Identity self)
      : files_(std::move(files)), texts_(std::move(texts)), self_(std::move(self)) {}
  static Result<std::pair<Texts, Identity>> read(const TlsFiles& files, std::optional<CertRole> role,
                                                 std::string_view name);

  TlsFiles files_;
  std::mutex mutex_;
  Texts texts_;
  Identity self_;
};

/// Who the certificate of a call's other end is for. Errc::denied: it has none of Sumac's.
Result<Identity> identity_of(const grpc::AuthContext& context);

}  // namespace sumac::control
