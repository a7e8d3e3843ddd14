// Collects the certificates, keys and tokens that the environment and the daemons of this host name.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "control/pki.hpp"
#include "tools/doctor/collect.hpp"
#include "tools/doctor/regular_file.hpp"

namespace sumac::tools::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFilesMax = 256, kEntriesMax = 65536;

std::string set_in_environment(const char* name) {
  const char* set = std::getenv(name);
  return set == nullptr ? "" : set;
}

class Collector {
 public:
  explicit Collector(std::vector<SecretFile>& to) : to_(to) {}

  void add(const std::string& path, const std::string& kind, const std::string& belongs_to,
           const std::string& authority) {
    if (path.empty() || to_.size() >= kFilesMax || !seen_.insert(path).second) return;
    SecretFile file{.path = path, .kind = kind, .belongs_to = belongs_to};
    struct stat info {};
    // Another user's files show nothing about themselves.
    if (::access(path.c_str(), R_OK) != 0 && errno == EACCES && kind.ends_with("certificate")) return;
    if (::stat(path.c_str(), &info) != 0) {
      if (errno == EACCES) return;
      file.error = std::strerror(errno);
    } else {
      file.mode = info.st_mode & 07777;
      if (kind.ends_with("certificate")) look_into(file, authority);
    }
    to_.push_back(std::move(file));
  }

  /// A directory has ca.crt and pairs ROLE-NAME.crt, ROLE-NAME.key. `belongs_to`: the pair that its daemon needs.
  void add_directory(const std::string& directory, const std::string& belongs_to) {
    if (directory.empty()) return;
    const auto authority = directory + "/ca.crt";
    add(authority, "certificate", "", authority);
    if (!belongs_to.empty()) {
      auto stem = directory + "/" + belongs_to;
      stem[directory.size() + 1 + belongs_to.find(' ')] = '-';
      add(stem + ".crt", "certificate", belongs_to, authority);
      add(stem + ".key", "key", belongs_to, authority);
    }
    std::error_code error;
    std::set<std::string> paths;
    for (const auto& entry : fs::directory_iterator(directory, error))
      if (paths.size() < kEntriesMax) paths.insert(entry.path().string());
    for (const auto& path : paths) {
      if (path.ends_with(".crt")) add(path, "certificate", "", authority);
      if (path.ends_with(".key")) add(path, "key", "", authority);
    }
  }

 private:
  static void look_into(SecretFile& file, const std::string& authority) {
    const auto text = read_regular_file(file.path);
    if (text.empty()) {
      file.error = "it can't be read, is empty, or is no regular file";
      return;
    }
    const auto validity = control::validity_of(text);
    if (!validity) {
      file.error = validity.error().context;
      return;
    }
    file.from_s = validity->from;
    file.until_s = validity->until;
    if (file.kind != "certificate") return;
    const auto view = control::view_certificate(text);
    if (!view) {
      file.error = view.error().context;
      return;
    }
    file.holder = view->who;
    if (authority.empty() || authority == file.path) return;
    if (const auto issued = control::check_issuer(text, read_regular_file(authority)); !issued)
      file.error = issued.error().context;
  }

  std::vector<SecretFile>& to_;
  std::set<std::string> seen_;
};

}  // namespace

void collect_secrets(Facts& facts, const std::vector<DaemonOptions>& daemons) {
  Collector collector(facts.secrets);
  for (const auto& each : daemons) {
    std::map<std::string, std::string> files;
    for (const auto& word : each.tls_files) files[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    // The names under which daemons register: sharpd's default is the host's own.
    std::string belongs_to;
    if (each.daemon.program == "sharp_an" && !each.daemon.name.empty()) belongs_to = "node " + each.daemon.name;
    if (each.daemon.program == "sharpd")
      belongs_to = "host " + (each.daemon.name.empty() ? facts.host : each.daemon.name);
    collector.add_directory(files["tls-dir"], belongs_to);
    collector.add(files["tls-ca"], "certificate", "", "");
    collector.add(files["tls-cert"], "certificate", belongs_to, files["tls-ca"]);
    collector.add(files["tls-key"], "key", belongs_to, "");
    collector.add(files["metrics-cert"], "web certificate", "", "");
    collector.add(files["metrics-key"], "key", "", "");
    collector.add(files["metrics-token"], "token", "", "");
  }
  collector.add_directory(set_in_environment("SUMAC_TLS_DIR"), "");
  collector.add(set_in_environment("SUMAC_TLS_CA"), "certificate", "", "");
  collector.add(set_in_environment("SUMAC_TLS_CERT"), "certificate", "", set_in_environment("SUMAC_TLS_CA"));
  collector.add(set_in_environment("SUMAC_TLS_KEY"), "key", "", "");
}

}  // namespace sumac::tools::doctor
