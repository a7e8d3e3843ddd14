#pragma once
// The certificates of one `sumac run` over several hosts. An authority is made for it and forgotten as soon as everybody has his own: its key
// is never in a file, nothing of it in words of a command or in an environment, and what daemons read lies in the run's private directory.
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "control/pki.hpp"

namespace sumac::tools {

/// Folder in a run's directory: gone with it, and before it where the logs are kept.
inline constexpr char kTlsSuffix[] = "/tls";

/// Texts (PEM) by the names of their files.
using TlsTexts = std::map<std::string, std::string>;

class RunAuthority {
 public:
  static Result<RunAuthority> make();

  /// ca.crt, and ROLE-NAME.crt with ROLE-NAME.key for each.
  Result<TlsTexts> issue(const std::vector<control::Identity>& holders) const;

 private:
  RunAuthority(control::CertAndKey pair, control::Validity when) : pair_(std::move(pair)), when_(when) {}
  control::CertAndKey pair_;
  control::Validity when_;
};

/// Into `directory`/tls, modes 0700 and 0600.
Result<> write_tls(const std::string& directory, const TlsTexts& texts);

/// How a daemon is shown the files that write_tls() has written.
std::vector<std::string> tls_options(const std::string& directory);

}  // namespace sumac::tools
