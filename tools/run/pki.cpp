#include "tools/run/pki.hpp"

#include <sys/stat.h>

#include "tools/new_file.hpp"

namespace sumac::tools {
namespace {

constexpr std::time_t kDay = 86400;
constexpr std::time_t kClocksDiffer = kDay;         ///< Between hosts whose clocks are not maintained.
constexpr std::time_t kRunAtMost = 2 * 366 * kDay;  ///< Longer than any batch system allows.

}  // namespace

Result<RunAuthority> RunAuthority::make() {
  const auto now = std::time(nullptr);
  const control::Validity when{now - kClocksDiffer, now + kRunAtMost};
  auto pair = control::make_authority("run", when);
  if (!pair) return tl::unexpected(pair.error());
  return RunAuthority(*std::move(pair), when);
}

Result<TlsTexts> RunAuthority::issue(const std::vector<control::Identity>& holders) const {
  TlsTexts texts{{"ca.crt", pair_.certificate}};
  for (const auto& who : holders) {
    auto pair = control::issue_certificate(pair_, who, when_);
    if (!pair) return tl::unexpected(pair.error());
    const auto stem = stem_of(who);
    texts[stem + ".crt"] = std::move(pair->certificate);
    texts[stem + ".key"] = std::move(pair->key);
  }
  return texts;
}

Result<TlsTexts> RunAuthority::certify(const std::vector<control::Identity>& holders, const TlsTexts& requests) const {
  TlsTexts texts{{"ca.crt", pair_.certificate}};
  for (const auto& who : holders) {
    const auto request = requests.find(stem_of(who) + ".csr");
    if (request == requests.end()) return fail(Errc::invalid, "{} asks for no certificate", describe(who));
    auto certificate = control::certify(pair_, request->second, who, when_);
    if (!certificate) return tl::unexpected(certificate.error());
    texts[stem_of(who) + ".crt"] = *std::move(certificate);
  }
  return texts;
}

std::string stem_of(const control::Identity& who) { return fmt::format("{}-{}", to_string(who.role), who.name); }

Result<> write_tls(const std::string& directory, const TlsTexts& texts) {
  const auto folder = directory + kTlsSuffix;
  if (::mkdir(folder.c_str(), 0700) < 0) return fail_errno(folder);
  for (const auto& [name, text] : texts)
    if (auto written = create_file(folder + "/" + name, text, 0600); !written) return written;
  return {};
}

std::vector<std::string> tls_options(const std::string& directory) { return {"--tls-dir", directory + kTlsSuffix}; }

}  // namespace sumac::tools
