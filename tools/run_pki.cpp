#include "tools/run_pki.hpp"

#include <sys/stat.h>

#include "tools/new_file.hpp"

namespace sumac::tools {
namespace {

constexpr std::time_t kDay = 86400;
constexpr std::time_t kClocksDiffer = kDay;         ///< Between hosts that nobody looks after.
constexpr std::time_t kRunAtMost = 2 * 366 * kDay;  ///< More than any batch system gives.

}  // namespace

Result<RunAuthority> RunAuthority::make() {
  const auto now = std::time(nullptr);
  const control::Validity when{now - kClocksDiffer, now + kRunAtMost};
  auto pair = control::make_authority("run", when);
  if (!pair) return tl::unexpected(pair.error());
  return RunAuthority(*std::move(pair), when);
}

Result<TlsTexts> RunAuthority::issue(const std::vector<Holder>& holders) const {
  TlsTexts texts{{"ca.crt", pair_.certificate}};
  for (const auto& [program, who] : holders) {
    auto pair = control::issue_certificate(pair_, who, when_);
    if (!pair) return tl::unexpected(pair.error());
    texts[program + ".crt"] = std::move(pair->certificate);
    texts[program + ".key"] = std::move(pair->key);
  }
  return texts;
}

Result<> write_tls(const std::string& directory, const TlsTexts& texts) {
  const auto folder = directory + kTlsSuffix;
  if (::mkdir(folder.c_str(), 0700) < 0) return fail_errno(folder);
  for (const auto& [name, text] : texts)
    if (auto written = create_file(folder + "/" + name, text, 0600); !written) return written;
  return {};
}

std::vector<std::string> tls_options(const std::string& directory, const std::string& program) {
  const auto folder = directory + kTlsSuffix;
  return {"--tls-ca",   folder + "/ca.crt",
          "--tls-cert", folder + "/" + program + ".crt",
          "--tls-key",  folder + "/" + program + ".key"};
}

}  // namespace sumac::tools
