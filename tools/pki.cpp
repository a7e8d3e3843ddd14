// `sumac pki`: a private authority in a directory, and the certificates of the daemons that communicate over a network
// (docs/security.md).
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "control/pki.hpp"
#include "fabricfile/fabricfile.hpp"
#include "tools/commands.hpp"
#include "tools/new_file.hpp"

namespace sumac::tools {
namespace {

namespace fs = std::filesystem;
using control::CertAndKey;
using control::CertRole;
using control::Identity;

constexpr const char* kUsage =
    "usage: sumac pki init DIR [--fabric FILE] [--cluster NAME] [--days N]\n"
    "       sumac pki issue [--renew] [--days N] DIR ROLE NAME...\n"
    "       sumac pki show DIR\n\n"
    "  init    makes a private certificate authority in DIR, a manager's and an administrator's certificate, and with "
    "--fabric\n"
    "          those of all nodes and hosts that the file names\n"
    "  issue   makes certificates of that authority; ROLE is manager, node, host or admin, NAME as in the fabric file\n"
    "  show    lists the certificates in DIR: for whom, until when\n\n"
    "  --cluster NAME  what the authority is called (sumac)\n"
    "  --days N        how long it is valid (init: 3650; issue: 825)\n"
    "  --renew         put a new certificate in place of one that exists\n\n"
    "What exists is never overwritten without --renew. Keys are readable for their owner only. docs/security.md says "
    "who needs what.\n";

constexpr int kAuthorityDays = 3650, kDays = 825;

struct Command {
  std::string verb, fabric, cluster = "sumac";
  int days = 0;
  bool renew = false;
  std::vector<std::string> words;
};

Result<Command> parse(const Arguments& arguments) {
  Command command;
  command.verb = arguments[0];
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const auto& word = arguments[i];
    if (word == "--renew" && command.verb == "issue") {
      command.renew = true;
    } else if (word == "--days" || ((word == "--fabric" || word == "--cluster") && command.verb == "init")) {
      if (++i == arguments.size()) return fail(Errc::invalid, "{} needs a value", word);
      const auto& value = arguments[i];
      if (word == "--fabric") command.fabric = value;
      if (word == "--cluster") command.cluster = value;
      if (word != "--days") continue;
      const char* const value_end = value.data() + value.size();
      const auto read = std::from_chars(value.data(), value_end, command.days);
      if (read.ec != std::errc{} || read.ptr != value_end || command.days < 1 || command.days > 36500)
        return fail(Errc::invalid, "--days {}: a number of 1 to 36500", value);
    } else if (word.starts_with("-")) {
      return fail(Errc::invalid, "{}: no such option of `pki {}`: see `sumac pki --help`", word, command.verb);
    } else {
      command.words.push_back(word);
    }
  }
  return command;
}

Result<> create(const std::string& path, const std::string& text, mode_t mode) {
  auto made = create_file(path, text, mode);
  if (!made && made.error().code == Errc::exists)
    return fail(Errc::exists, "{}; --renew replaces a certificate and its key", made.error().context);
  return made;
}

Result<> replace(const std::string& path, const std::string& text, mode_t mode) {
  const auto fresh = path + ".new";
  ::unlink(fresh.c_str());  // Left by a run that was killed.
  if (auto made = create(fresh, text, mode); !made) return made;
  if (::rename(fresh.c_str(), path.c_str()) != 0) return within(path, fail_errno("rename").value());
  return {};
}

Result<std::string> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Errc::not_found, "{}: {}", path, ::strerror(errno));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string stem_of(const std::string& directory, const Identity& who) {
  return fmt::format("{}/{}-{}", directory, to_string(who.role), who.name);
}

Result<> issue(const std::string& directory, const CertAndKey& authority, const Identity& who, int days, bool renew) {
  const auto stem = stem_of(directory, who);
  for (const char* end : {".crt", ".key"})
    if (!renew && fs::exists(stem + end))
      return fail(Errc::exists, "{}{} exists: it is left as it is; `sumac pki issue --renew` replaces it", stem, end);
  auto pair = control::issue_certificate(authority, who, control::Validity::days(days));
  if (!pair) return tl::unexpected(pair.error());
  const auto put = renew ? replace : create;
  if (auto made = put(stem + ".key", pair->key, 0600); !made) return made;
  if (auto made = put(stem + ".crt", pair->certificate, 0644); !made) {
    if (!renew) ::unlink((stem + ".key").c_str());
    return made;
  }
  return {};
}

/// Checks that the directory is ours; makes it if it does not exist.
Result<> own_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  if (errno != EEXIST) return within(path, fail_errno("mkdir").value());
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return within(path, fail_errno("stat").value());
  if (!S_ISDIR(info.st_mode)) return fail(Errc::invalid, "{}: it is a file: name a directory", path);
  if ((info.st_mode & 022) != 0)
    return fail(Errc::denied, "{}: others may write to it (mode {:04o}): chmod 700 {}", path, info.st_mode & 07777,
                path);
  return {};
}

Result<> init(const Command& command) {
  if (command.words.size() != 1) return fail(Errc::invalid, "init takes one directory: see `sumac pki --help`");
  const auto& directory = command.words[0];
  // All errors are detected before anything is created.
  std::vector<Identity> all{{CertRole::manager, "am"}, {CertRole::admin, "admin"}};
  if (!command.fabric.empty()) {
    auto fabric = load_fabric(command.fabric);
    if (!fabric) return tl::unexpected(fabric.error());
    for (const auto& node : fabric->nodes) all.push_back({CertRole::node, node.name});
    for (const auto& host : fabric->hosts) all.push_back({CertRole::host, host.name});
  }
  for (const auto& who : all)
    if (!control::is_certificate_name(who.name))
      return fail(Errc::invalid, "{} '{}': a certificate's name has letters, digits, '.', '-' and '_', at most 63",
                  to_string(who.role), who.name);
  auto authority = control::make_authority(command.cluster,
                                           control::Validity::days(command.days != 0 ? command.days : kAuthorityDays));
  if (!authority) return tl::unexpected(authority.error());
  if (auto own = own_directory(directory); !own) return own;
  for (const char* name : {"/ca.crt", "/ca.key"})
    if (fs::exists(directory + name))
      return fail(
          Errc::exists,
          "{}{} exists: this authority is left as it is; `sumac pki issue` makes more certificates, and to begin "
          "anew move the directory away",
          directory, name);
  if (auto made = create(directory + "/ca.key", authority->key, 0600); !made) return made;
  if (auto made = create(directory + "/ca.crt", authority->certificate, 0644); !made) return made;
  std::size_t done = 0;
  for (const auto& who : all) {
    if (auto made = issue(directory, *authority, who, kDays, false); !made)
      return within(fmt::format("after the authority and {} certificates were made", done), made.error());
    if (++done % 1000 == 0) fmt::print(stderr, "sumac: pki: {} of {} certificates\n", done, all.size());
  }
  fmt::print(
      "made {0}/ca.crt, which every machine needs, and {0}/ca.key, which stays here: whoever has it makes "
      "certificates\n",
      directory);
  struct Kind {
    CertRole role;
    const char* word;
  };
  for (const Kind kind : {Kind{CertRole::manager, "manager"}, Kind{CertRole::admin, "administrator"},
                          Kind{CertRole::node, "nodes"}, Kind{CertRole::host, "hosts"}}) {
    const auto count = std::ranges::count(all, kind.role, &Identity::role);
    if (count > 0)
      fmt::print("made {0} of {1}: {2}-NAME.crt and {2}-NAME.key\n", count, kind.word, to_string(kind.role));
  }
  if (command.fabric.empty())
    fmt::print(
        "next: sumac pki issue {0} node NAME..., sumac pki issue {0} host NAME..., with names as in the fabric file\n",
        directory);
  fmt::print(
      "then: copy ca.crt and the two files of its own into one directory of each machine; start its daemon with "
      "--tls-dir DIRECTORY\n");
  return {};
}

Result<> issue_all(const Command& command) {
  if (command.words.size() < 3)
    return fail(Errc::invalid, "issue takes a directory, a role and names: see `sumac pki --help`");
  const auto& directory = command.words[0];
  auto role = control::parse_role(command.words[1]);
  if (!role) return tl::unexpected(role.error());
  auto certificate = read(directory + "/ca.crt"), key = read(directory + "/ca.key");
  for (const auto* text : {&certificate, &key})
    if (!*text)
      return fail(Errc::not_found, "{}: `sumac pki init {}` makes an authority", text->error().context, directory);
  const CertAndKey authority{*certificate, *key};
  for (std::size_t i = 2; i < command.words.size(); ++i) {
    const Identity who{*role, command.words[i]};
    if (auto made = issue(directory, authority, who, command.days != 0 ? command.days : kDays, command.renew); !made)
      return made;
    fmt::print("made {0}.crt and {0}.key\n", stem_of(directory, who));
  }
  fmt::print(
      "next: copy them and {}/ca.crt to that machine; its daemon takes --tls-dir with the directory where they lie\n",
      directory);
  return {};
}

Result<> show(const Command& command) {
  if (command.words.size() != 1) return fail(Errc::invalid, "show takes one directory: see `sumac pki --help`");
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(command.words[0], error))
    if (entry.path().extension() == ".crt") paths.push_back(entry.path().string());
  if (error) return fail(Errc::io, "{}: {}", command.words[0], error.message());
  if (paths.empty())
    return fail(Errc::not_found, "{}: no certificate here: `sumac pki init` makes some", command.words[0]);
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    const auto text = read(path);
    const auto view = text ? control::view_certificate(*text) : tl::unexpected(text.error());
    if (view)
      fmt::print("{:40} {:30} {} {}\n", path, view->who, view->over ? "EXPIRED" : "until", view->until);
    else
      fmt::print("{:40} {}\n", path, view.error().context);
  }
  return {};
}

}  // namespace

int pki_command(const Arguments& arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h") {
    fmt::print("{}", kUsage);
    return arguments.empty() ? 2 : 0;
  }
  const auto command = parse(arguments);
  if (!command) return complain("pki: " + command.error().context, 2);
  Result<> done;
  if (command->verb == "init")
    done = init(*command);
  else if (command->verb == "issue")
    done = issue_all(*command);
  else if (command->verb == "show")
    done = show(*command);
  else
    return complain(fmt::format("pki: no '{}': see `sumac pki --help`", command->verb), 2);
  return done ? 0 : complain("pki: " + done.error().context);
}

}  // namespace sumac::tools
