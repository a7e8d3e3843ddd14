// Judges certificates, keys and tokens.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tools/doctor/judge.hpp"

namespace sumac::tools::doctor {
namespace {

constexpr std::int64_t kDay = 86400;
constexpr std::int64_t kSoon = 30 * kDay;

std::string date_text(std::int64_t seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

/// The command that makes the certificate anew.
std::string renewal(const SecretFile& file) {
  if (file.kind == "web certificate") return "put a new certificate in its place and start the daemon again";
  if (file.holder.starts_with("authority"))
    return "make a new authority with `sumac pki init DIR`, and new certificates for all daemons";
  const auto& who = file.belongs_to.empty() ? file.holder : file.belongs_to;
  return fmt::format("`sumac pki issue --renew DIR {}` where the authority is, then copy the two files here",
                     in_command(who, "ROLE NAME"));
}

void judge_certificate(const SecretFile& file, std::int64_t now_s, Findings& all) {
  const auto add = [&](Health health, const std::string& found, const std::string& remedy) {
    all.push_back({"certificates", health, fmt::format("{} {}", file.path, found), remedy});
  };
  if (now_s >= file.until_s)
    add(Health::bad, fmt::format("ended on {}", date_text(file.until_s)), renewal(file));
  else if (now_s < file.from_s)
    add(Health::bad, fmt::format("is valid from {} on only", date_text(file.from_s)),
        "set this host's clock (`date`, `timedatectl`); if it is right, " + renewal(file));
  else if (file.until_s - now_s < kSoon)
    add(Health::note, fmt::format("ends in {} days, on {}", (file.until_s - now_s) / kDay, date_text(file.until_s)),
        renewal(file));
  if (!file.belongs_to.empty() && !file.holder.empty() && file.holder != file.belongs_to) {
    add(Health::bad, fmt::format("is for {}, the daemon here is {}", file.holder, file.belongs_to),
        fmt::format("`sumac pki issue DIR {}` where the authority is, or start the daemon with the certificate's name",
                    in_command(file.belongs_to, "ROLE NAME")));
    return;
  }
  // `sumac pki` names files after their holder: another name is a copy that went astray.
  const auto stem = std::filesystem::path(file.path).stem().string();
  auto expected = file.holder;
  std::ranges::replace(expected, ' ', '-');
  const bool named_by_pki = std::ranges::any_of(Strings{"host-", "node-", "manager-", "admin-"},
                                                [&](const std::string& role) { return stem.starts_with(role); });
  if (file.belongs_to.empty() && named_by_pki && !file.holder.empty() && stem != expected)
    add(Health::bad, fmt::format("is for {}, whatever its name says", file.holder),
        fmt::format("copy {}.crt and its key here again", stem));
}

}  // namespace

Findings judge_secrets(const Facts& facts) {
  Findings all;
  std::int64_t first_end = INT64_MAX;
  for (const auto& file : facts.secrets) {
    const bool is_certificate = file.kind.ends_with("certificate");
    if (!file.error.empty()) {
      const bool is_missing = file.mode == 0;
      all.push_back({"certificates", Health::bad, fmt::format("{}: {}", file.path, file.error),
                     is_certificate && !file.belongs_to.empty()
                         ? fmt::format("`sumac pki issue DIR {}` where the authority is, then copy the two files here",
                                       in_command(file.belongs_to, "ROLE NAME"))
                     : is_missing ? "put the file there, or mend the option that names it"
                                  : "take certificate, key and ca.crt from one `sumac pki` directory"});
    }
    // A key may be read by its group; nobody else may read or change it.
    constexpr std::int64_t kOfOthers = 027;
    if (!is_certificate && (file.mode & kOfOthers) != 0)
      all.push_back({"certificates", Health::bad,
                     fmt::format("{} may be read or changed by others (mode {:04o})", file.path, file.mode),
                     is_plain(file.path)
                         ? fmt::format("`chmod 600 {}`, then make a new one, since others may have read it", file.path)
                         : "take its rights from others, then make a new one, since others may have read it"});
    if (!is_certificate || file.until_s == 0) continue;
    judge_certificate(file, facts.now_s, all);
    first_end = std::min(first_end, file.until_s);
  }
  if (all.empty() && first_end != INT64_MAX)
    all.push_back({"certificates", Health::well, fmt::format("the first one ends on {}", date_text(first_end)), ""});
  return all;
}

}  // namespace sumac::tools::doctor
