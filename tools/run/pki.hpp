#pragma once
// The certificates of one `sumac run` over several hosts. An authority is made for it and forgotten as soon as all have
// their certificates: its key is never in a file, no secret is in a command line or an environment, and the files that
// daemons read lie in the run's private directory.
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "control/pki.hpp"

namespace sumac::tools {

/// The directory inside a run's directory: removed with it, or before it if the logs are kept.
inline constexpr char kTlsSuffix[] = "/tls";

/// Texts (PEM), keyed by file name.
using TlsTexts = std::map<std::string, std::string>;

class RunAuthority {
 public:
  static Result<RunAuthority> make();

  /// Makes ca.crt, and ROLE-NAME.crt with ROLE-NAME.key for each holder.
  Result<TlsTexts> issue(const std::vector<control::Identity>& holders) const;
  /// Makes ca.crt, and ROLE-NAME.crt for each holder, of the key in its request (`requests`, by the name ROLE-NAME.csr).
  Result<TlsTexts> certify(const std::vector<control::Identity>& holders, const TlsTexts& requests) const;

 private:
  RunAuthority(control::CertAndKey pair, control::Validity when) : pair_(std::move(pair)), when_(when) {}
  control::CertAndKey pair_;
  control::Validity when_;
};

/// ROLE-NAME, the stem of a holder's files.
std::string stem_of(const control::Identity& who);

/// Writes into `directory`/tls, modes 0700 and 0600.
Result<> write_tls(const std::string& directory, const TlsTexts& texts);

/// Returns the daemon's options for the files that write_tls() has written.
std::vector<std::string> tls_options(const std::string& directory);

}  // namespace sumac::tools
