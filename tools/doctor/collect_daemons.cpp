// Finds Sumac's daemons that run on this host, with their options: those of their command line, their environment and
// their configuration file, as far as this user may read them.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "base/text.hpp"
#include "control/places.hpp"
#include "tools/doctor/collect.hpp"
#include "tools/doctor/regular_file.hpp"

namespace sumac::tools::doctor {
namespace {

namespace fs = std::filesystem;
using Options = std::map<std::string, std::string>;

struct Program {
  const char* name;
  const char* variables;  ///< The beginning of its variables.
  const char* own_name;   ///< The option that names the daemon.
};
constexpr Program kPrograms[] = {
    {"sharp_am", "SUMAC_AM_", ""}, {"sharp_an", "SUMAC_NODE_", "name"}, {"sharpd", "SUMAC_HOSTD_", "host"}};
constexpr std::size_t kDaemonsMax = 64;

std::string read(const fs::path& path) { return read_regular_file(path.string()); }

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find(by, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Options are written with dashes on the command line, and with underscores elsewhere.
std::string dashed(std::string name) {
  for (auto& c : name) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

/// A configuration file has one "NAME VALUE" a line; # begins a comment.
void add_file(Options& options, const std::string& path) {
  for (const auto& each : split(read(path), '\n')) {
    const auto line = trimmed(each);
    const auto blank = line.find_first_of(" \t");
    if (line.empty() || line.starts_with('#') || blank == line.npos) continue;
    options[dashed(std::string(line.substr(0, blank)))] = trimmed(line.substr(blank));
  }
}

Options options_of(const fs::path& process, const Program& program, const std::vector<std::string>& words) {
  Options options;
  Options typed;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-O" && i + 1 < words.size()) add_file(options, words[i + 1]);
    if (!words[i].starts_with("--")) continue;
    const auto equals = words[i].find('=');
    if (equals != std::string::npos)
      typed[dashed(words[i].substr(2, equals - 2))] = words[i].substr(equals + 1);
    else if (i + 1 < words.size())
      typed[dashed(words[i].substr(2))] = words[i + 1];
  }
  const std::string prefix = program.variables;
  for (const auto& variable : split(read(process / "environ"), '\0'))
    if (const auto equals = variable.find('='); variable.starts_with(prefix) && equals != std::string::npos)
      options[dashed(variable.substr(prefix.size(), equals - prefix.size()))] = variable.substr(equals + 1);
  for (auto& [name, value] : typed) options[name] = value;
  return options;
}

/// The user who started a process: a setuid program, such as `su` by a link with a daemon's name, has root as its
/// effective user only.
std::optional<uid_t> starter_of(const fs::path& process) {
  struct stat program {};
  if (::stat((process / "exe").c_str(), &program) == 0 && (program.st_mode & (S_ISUID | S_ISGID)) != 0)
    return std::nullopt;
  for (const auto& line : split(read(process / "status"), '\n')) {
    uid_t real = 0;
    if (line.starts_with("Uid:\t") &&
        std::from_chars(line.data() + 5, line.data() + line.size(), real).ec == std::errc{})
      return real;
  }
  return std::nullopt;
}

/// Any user may give a process the name of a daemon and options of his choice, and the findings would be about those.
/// Daemons run as root, as this user, or as the user who may put a socket where a host's daemons have theirs.
bool is_trusted(const fs::path& process) {
  const auto starter = starter_of(process);
  if (!starter) return false;
  if (*starter == 0 || *starter == ::geteuid()) return true;
  struct stat socket {};
  for (const auto& path : {std::string(std::strchr(control::kManagerDefault, ':') + 1), own_sharpd_socket()})
    if (::stat(path.c_str(), &socket) == 0 && socket.st_uid == *starter) return true;
  return false;
}

/// Daemons in containers and in a lab have another view of the network and of files: they belong to another host.
bool is_of_this_host(const fs::path& process) {
  for (const char* kind : {"net", "mnt"}) {
    std::error_code error, own_error;
    const auto theirs = fs::read_symlink(process / "ns" / kind, error);
    const auto ours = fs::read_symlink(fs::path("/proc/self/ns") / kind, own_error);
    if (!error && !own_error && theirs != ours) return false;
    if (!error) continue;
    // Another user's namespaces can not be read. The process ids that it has say whether it is in a namespace of its
    // own.
    for (const auto& line : split(read(process / "status"), '\n'))
      if (line.starts_with("NSpid:")) return std::ranges::count(line, '\t') == 1;
  }
  return true;
}

}  // namespace

std::vector<DaemonOptions> find_daemons() {
  std::vector<DaemonOptions> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const auto pid_text = entry.path().filename().string();
    std::int64_t pid = 0;
    if (std::from_chars(pid_text.data(), pid_text.data() + pid_text.size(), pid).ec != std::errc{}) continue;
    const auto text = read(entry.path() / "comm");
    const auto comm = std::string_view(text).substr(0, text.find('\n'));
    for (const auto& program : kPrograms) {
      if (comm != program.name || found.size() >= kDaemonsMax || !is_trusted(entry.path()) ||
          !is_of_this_host(entry.path()))
        continue;
      const auto options = options_of(entry.path(), program, split(read(entry.path() / "cmdline"), '\0'));
      const auto get = [&](const char* name) {
        const auto at = options.find(name);
        return at == options.end() ? std::string() : at->second;
      };
      DaemonOptions one{{program.name, get(program.own_name), get("manager"), pid}, get("socket"), {}};
      if (one.daemon.manager.empty()) one.daemon.manager = control::kManagerDefault;
      if (one.socket.empty()) one.socket = own_sharpd_socket();
      for (const char* name :
           {"tls-dir", "tls-ca", "tls-cert", "tls-key", "metrics-cert", "metrics-key", "metrics-token"})
        if (!get(name).empty()) one.tls_files.push_back(std::string(name) + "=" + get(name));
      found.push_back(std::move(one));
    }
  }
  std::ranges::sort(found, {}, [](const DaemonOptions& each) { return each.daemon.pid; });
  return found;
}

}  // namespace sumac::tools::doctor
