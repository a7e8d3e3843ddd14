#include "team/tuning_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/fd.hpp"
#include "base/fnv.hpp"
#include "base/write_all.hpp"

namespace sumac::team {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
/// More than any machine needs; a larger file is none of ours.
constexpr std::size_t kFileBytesMax = 4 << 20;
constexpr const char* kRemedy = "run `sumac tune` again";

Json content_of(const TuningFile& file) {
  Json choices = Json::array();
  for (const auto& choice : file.choices)
    choices.push_back({{"collective", choice.collective},
                       {"ranks", choice.ranks},
                       {"oversubscribed", choice.oversubscribed},
                       {"from_bytes", choice.from_bytes},
                       {"algorithm", choice.algorithm}});
  return {{"machine", file.machine}, {"choices", std::move(choices)}};
}

/// nlohmann keeps the keys of an object in alphabetical order, so equal content gives equal text.
std::string checksum_of(const Json& content) { return fmt::format("{:016x}", fnv1a(content.dump())); }

/// Finds members without exceptions, because a missing or mistyped one is an expected result.
const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

bool read(const Json& object, const char* key, std::string& out) {
  const Json* value = member(object, key);
  if (value == nullptr || !value->is_string()) return false;
  out = value->get<std::string>();
  return true;
}
bool read(const Json& object, const char* key, bool& out) {
  const Json* value = member(object, key);
  if (value == nullptr || !value->is_boolean()) return false;
  out = value->get<bool>();
  return true;
}
template <class Number>
bool read(const Json& object, const char* key, Number& out) {
  const Json* value = member(object, key);
  if (value == nullptr || !value->is_number_unsigned()) return false;
  const auto number = value->get<std::uint64_t>();
  if (number > std::numeric_limits<Number>::max()) return false;
  out = static_cast<Number>(number);
  return true;
}

Result<std::string> read_whole(const std::string& path) {
  // A pipe that nobody writes to must not stop a program in MPI_Init.
  const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return fail(Errc::not_found, "no such file");
    return fail_errno("open");
  }
  struct stat about {};
  if (::fstat(fd.get(), &about) != 0) return fail_errno("stat");
  if (!S_ISREG(about.st_mode)) return fail(Errc::invalid, "no regular file: {}", kRemedy);
  std::string text;
  char part[16384];
  for (;;) {
    const ssize_t got = ::read(fd.get(), part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("read");
    if (got == 0) return text;
    text.append(part, static_cast<std::size_t>(got));
    if (text.size() > kFileBytesMax)
      return fail(Errc::invalid, "larger than {} bytes: not a tuning file: {}", kFileBytesMax, kRemedy);
  }
}

Result<> make_folders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    if (::mkdir(path.substr(0, slash).c_str(), 0755) != 0 && errno != EEXIST)
      return within(path.substr(0, slash), fail_errno("mkdir").value());
  return {};
}

}  // namespace

std::string print_tuning(const TuningFile& file) {
  const Json content = content_of(file);
  // The file has one choice per line, because users read it and compare two of them.
  std::string text = fmt::format("{{\"sumac_tuning\": {},\n \"content\": {{\"machine\": {}, \"choices\": [", kVersion,
                                 content["machine"].dump());
  const char* separator = "\n  ";
  for (const auto& choice : content["choices"]) {
    text += separator + choice.dump();
    separator = ",\n  ";
  }
  return text + fmt::format("]}},\n \"checksum\": \"{}\"}}\n", checksum_of(content));
}

Result<TuningFile> parse_tuning(std::string_view text) {
  const Json whole = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (whole.is_discarded()) return fail(Errc::invalid, "half-written, or not JSON: {}", kRemedy);
  unsigned version = 0;
  const Json* content = member(whole, "content");
  std::string checksum;
  if (!read(whole, "sumac_tuning", version) || content == nullptr || !read(whole, "checksum", checksum))
    return fail(Errc::invalid, "not a tuning file: {}", kRemedy);
  if (version != kVersion)
    return fail(Errc::invalid, "version {}, but {} is known here: {}", version, kVersion, kRemedy);
  if (checksum != checksum_of(*content))
    return fail(Errc::invalid, "its checksum does not fit its content (edited or damaged): {}", kRemedy);
  TuningFile file;
  const Json* choices = member(*content, "choices");
  if (!read(*content, "machine", file.machine) || choices == nullptr || !choices->is_array())
    return fail(Errc::invalid, "no machine or no choices: {}", kRemedy);
  for (const auto& one : *choices) {
    TunedChoice choice;
    if (!read(one, "collective", choice.collective) || !read(one, "ranks", choice.ranks) ||
        !read(one, "oversubscribed", choice.oversubscribed) || !read(one, "from_bytes", choice.from_bytes) ||
        !read(one, "algorithm", choice.algorithm))
      return fail(Errc::invalid, "choice {} lacks a member: {}", file.choices.size(), kRemedy);
    file.choices.push_back(std::move(choice));
  }
  return file;
}

Result<TuningFile> load_tuning(const std::string& path, std::string_view machine) {
  const auto text = read_whole(path);
  if (!text) return within(path, text.error());
  auto file = parse_tuning(*text);
  if (!file) return within(path, file.error());
  if (file->machine != machine)
    return fail(Errc::refused, "{}: measured on another machine (\"{}\", this is \"{}\"): {}", path, file->machine,
                machine, kRemedy);
  return file;
}

Result<> save_tuning(const std::string& path, const TuningFile& file) {
  if (path.empty()) return fail(Errc::invalid, "no place for the tuning file: set SUMAC_TUNING_FILE or HOME");
  if (auto made = make_folders(path); !made) return made;
  std::string beside = path + ".XXXXXX";
  UniqueFd fd{::mkostemp(beside.data(), O_CLOEXEC)};
  if (!fd) return within(beside, fail_errno("create").value());
  auto written = write_all(fd.get(), print_tuning(file));
  // Without this fsync the renamed file could be empty after a power failure.
  if (written && ::fsync(fd.get()) != 0) written = fail_errno("fsync");
  if (written && ::fchmod(fd.get(), 0644) != 0) written = fail_errno("fchmod");
  if (written && ::rename(beside.c_str(), path.c_str()) != 0) written = fail_errno("rename");
  if (!written) {
    ::unlink(beside.c_str());
    return within(path, written.error());
  }
  return {};
}

std::string tuning_path(std::string_view variable) {
  if (variable == "none") return {};
  if (!variable.empty()) return std::string(variable);
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config != nullptr && config[0] == '/')
    return fmt::format("{}/sumac/tuning.json", config);
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return fmt::format("{}/.config/sumac/tuning.json", home);
  return {};
}

std::vector<TunedChoice> choices_for(const TuningFile& file, std::string_view collective, std::uint32_t ranks,
                                     bool oversubscribed) {
  std::uint32_t best = 0;
  const auto fits = [&](const TunedChoice& choice) {
    return choice.collective == collective && choice.oversubscribed == oversubscribed && choice.ranks <= ranks;
  };
  for (const auto& choice : file.choices)
    if (fits(choice)) best = std::max(best, choice.ranks);
  std::vector<TunedChoice> found;
  for (const auto& choice : file.choices)
    if (fits(choice) && choice.ranks == best) found.push_back(choice);
  std::stable_sort(found.begin(), found.end(),
                   [](const TunedChoice& a, const TunedChoice& b) { return a.from_bytes < b.from_bytes; });
  return found;
}

std::uint64_t digest(const TuningFile& file) {
  return file.choices.empty() ? 0 : std::max<std::uint64_t>(1, fnv1a(content_of(file)["choices"].dump()));
}

}  // namespace sumac::team
