#pragma once
// For tests: an authority and certificates in a directory, laid out as by `sumac pki`, including some that it would
// never make.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/test_folder.hpp"
#include "control/pki.hpp"
#include "control/tls.hpp"

namespace sumac::control {

/// The validity period of a certificate, and whether such a certificate may be accepted now.
struct CertificateTime {
  const char* name;
  Validity when;
  bool is_good;
};
inline std::array<CertificateTime, 5> certificate_times() {
  constexpr std::time_t kHour = 3600, kDay = 24 * kHour;
  const auto now = std::time(nullptr);
  return {{
      {"in its time", {now - kHour, now + kHour}, true},
      {"expired", {now - 2 * kHour, now - kHour}, false},
      {"not yet valid", {now + kHour, now + 2 * kHour}, false},
      {"made where the clock is a day ahead", {now + kDay, now + 10 * kDay}, false},
      {"still valid where the clock is a day behind", {now - 10 * kDay, now - kDay}, false},
  }};
}

struct TestPki : TestFolder {
  CertAndKey authority;

  explicit TestPki(const Validity& when = Validity::days(2)) : TestFolder("pki") {
    authority = make_authority("test", when).value();
    file("ca.crt", authority.certificate);
  }

  std::string file(const std::string& name, const std::string& text, unsigned mode = 0600) const {
    return write(name, text, mode);
  }
  /// Returns the files of a daemon or person with a certificate of this authority.
  TlsFiles files(CertRole role, const std::string& name, const Validity& when = Validity::days(1),
                 const std::string& file_name = {}) const {
    const auto pair = issue_certificate(authority, {role, name}, when).value();
    const auto stem = file_name.empty() ? std::string(to_string(role)) + "-" + name : file_name;
    return {path + "/ca.crt", file(stem + ".crt", pair.certificate), file(stem + ".key", pair.key)};
  }
  std::shared_ptr<Tls> tls(CertRole role, const std::string& name) const {
    auto loaded = Tls::load(files(role, name), role, name);
    EXPECT_TRUE(loaded) << loaded.error().context;
    return loaded ? *loaded : nullptr;
  }
};

}  // namespace sumac::control
