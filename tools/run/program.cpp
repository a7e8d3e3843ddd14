#include "tools/run/program.hpp"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/run/ask.hpp"
#include "tools/run/shell_script.hpp"
#include "tools/run/wrapper_words.hpp"

namespace sumac::tools {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

/// Wrappers, scripts and launchers that start each other: a script that starts itself ends here.
constexpr int kDepthMax = 8;
constexpr Duration kAnswerWithin = Seconds(10);

/// Prints the file of mpi4py's extension and the MPI library that finding it has loaded: mpi4py 4.1 looks for a library to
/// choose among its extensions. MPI itself is not initialised.
constexpr const char* kAskMpi4py = R"(
import importlib.util
try:
    spec = importlib.util.find_spec("mpi4py.MPI")
    print("sumac-extension", spec.origin if spec else "")
except Exception as error:
    print("sumac-refused", type(error).__name__ + ":", str(error).split("\n")[0])
with open("/proc/self/maps") as maps:
    for line in maps:
        path = line.rstrip("\n").split(" ", 5)[-1].strip()
        if path.rsplit("/", 1)[-1].startswith(("libmpi.so", "libmpich.so", "libmpi_abi.so")):
            print("sumac-library", path)
            break
)";

bool is_python(const std::string& name) {
  return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string::npos;
}

bool is_shell(const std::string& name) {
  return name == "sh" || name == "bash" || name == "dash" || name == "ksh" || name == "zsh";
}

/// In secure mode the dynamic loader ignores LD_PRELOAD (ld.so(8), AT_SECURE).
bool runs_in_secure_mode(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) < 0) return false;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != ::getuid()) return true;
  if ((status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 && status.st_gid != ::getgid()) return true;
  return ::getuid() != 0 && ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

/// Returns the interpreter's words of a "#!" line; empty: the file has none.
Words shebang(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  line.resize(256);
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  if (!line.starts_with("#!")) return {};
  std::istringstream words(line.substr(2, line.find('\n') - 2));
  Words found;
  for (std::string word; words >> word;)
    if (word != "-S" || found.empty() || file_name_of(found[0]) != "env") found.push_back(word);
  return found;
}

class Looker {
 public:
  explicit Looker(std::vector<std::string> environment) : environment_(std::move(environment)) {}

  LookedAt look(const Words& command) {
    look_at_words(command, 0, 0);
    if (!found_.launcher && unreadable_script_) guess_launcher();
    return std::move(found_);
  }

 private:
  std::string variable(std::string_view name) const { return value_of(environment_, name).value_or(""); }
  std::string find(const std::string& name) const {
    return find_program(name, value_of(environment_, "PATH").value_or("/bin:/usr/bin"), directory_);
  }

  void unclear(const std::string& name, std::string why) {
    found_.programs.push_back({.name = name, .unclear = std::move(why)});
  }

  /// Settings hold for what the command starts, so the search for it already follows them.
  void add(Setting setting, std::size_t first) {
    if (setting.word != kNoWord) setting.word = first == kNoWord ? kNoWord : setting.word + first;
    if (setting.value) {
      const std::string begin = setting.name + "=";
      std::erase_if(environment_, [&](const auto& each) { return each.starts_with(begin); });
      environment_.push_back(begin + *setting.value);
    }
    found_.settings.push_back(std::move(setting));
  }

  void withhold(const std::string& option) {
    if (!option.empty() && found_.withheld.empty()) found_.withheld = option;
  }

  /// `first` is the index of words[0] in the user's command; kNoWord: the words stand in a script.
  void look_at_words(const Words& words, std::size_t first, int depth) {
    if (depth > kDepthMax) return unclear(words[0], "hides its program behind too many wrappers and scripts");
    const auto& name = words[0];
    if (name.find_first_of("$`") != std::string::npos) return unclear(name, "is a variable that only a shell knows");
    if (const auto wrapped = unwrap(words)) {
      for (const auto& setting : wrapped->settings) add(setting, first);
      withhold(wrapped->withheld);
      return look_at_words({words.begin() + static_cast<std::ptrdiff_t>(wrapped->first), words.end()},
                           first == kNoWord ? kNoWord : first + wrapped->first, depth + 1);
    }
    const auto file_name = file_name_of(name);
    if (const auto family = launcher_by_name(file_name); family && !found_.launcher)
      return look_at_launcher(words, *family, first, depth);
    const auto path = find(name);
    if (path.empty()) return unclear(name, "is not found, or is no executable file");
    if (is_python(file_name)) return look_at_python(name, path);
    if (is_shell(file_name)) return look_at_shell(words, depth);
    look_at_file(words, path, depth);
  }

  void look_at_launcher(const Words& words, LauncherFamily family, std::size_t first, int depth) {
    found_.launcher = launcher_of(words[0], family, first);
    auto read = read_launcher_words(found_.launcher->family, std::span(words).subspan(1), 1);
    if (found_.launcher->family == LauncherFamily::slurm) add_slurm_export(read, variable("SLURM_EXPORT_ENV"));
    for (auto& setting : read.settings) add(std::move(setting), first);
    withhold(read.withheld);
    found_.unknown_option = read.unknown_option;
    found_.hosts_named = read.hosts_named;
    if (!read.directory.empty()) directory_ = read.directory;
    if (!read.file.empty()) return unclear(words[0], "takes its programs from the file of " + read.file);
    if (read.programs.empty()) return unclear(words[0], "has no program among its words");
    for (const auto& program : read.programs)
      look_at_words(program.words, first == kNoWord ? kNoWord : first + program.first, depth + 1);
  }

  Launcher launcher_of(const std::string& name, LauncherFamily family, std::size_t word) const {
    Launcher launcher{.name = name, .family = family, .word = word};
    const auto path = find(name);
    if (path.empty()) return launcher;
    std::error_code failed;
    const auto real = fs::canonical(path, failed);
    launcher.path = failed ? path : real.string();
    if (launcher.family != LauncherFamily::unknown) return launcher;
    launcher.family = launcher_by_name(real.filename().string()).value_or(LauncherFamily::unknown);
    if (launcher.family != LauncherFamily::unknown) return launcher;
    if (const auto said = ask({path, "--version"}, environment_, kAnswerWithin))
      launcher.family = launcher_by_version(*said);
    return launcher;
  }

  /// A script whose command needs a shell to know probably starts the mpirun of the PATH.
  void guess_launcher() {
    auto launcher = launcher_of("mpirun", LauncherFamily::unknown, kNoWord);
    launcher.guessed = true;
    if (!launcher.path.empty()) found_.launcher = std::move(launcher);
  }

  void look_at_python(const std::string& name, const std::string& path) {
    const auto said = ask({path, "-c", kAskMpi4py}, environment_, kAnswerWithin);
    if (!said) return unclear(name, "can't be asked for its mpi4py (" + said.error().context + ")");
    std::istringstream lines(*said);
    std::string extension, library, refused;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("sumac-extension ")) extension = line.substr(16);
      if (line.starts_with("sumac-library ")) library = line.substr(14);
      if (line.starts_with("sumac-refused ")) refused = line.substr(14);
    }
    if (extension.empty())
      return unclear(name, "has no mpi4py that can be used" + (refused.empty() ? "" : " (" + refused + ")"));
    Program program{.name = name};
    if (auto linked = linked_mpi(extension, variable("LD_LIBRARY_PATH"))) program.mpi = *std::move(linked);
    // The library that is loaded already is the one that the extension gets, wherever the loader would look.
    if (auto loaded = library.empty() ? fail(Errc::not_found, "none") : mpi_of_library(library);
        loaded && (!program.mpi || program.mpi->abi == loaded->abi))
      program.mpi = *std::move(loaded);
    if (!program.mpi) program.unclear = "has an mpi4py that needs no MPI library";
    found_.programs.push_back(std::move(program));
  }

  /// `sh -c TEXT [NAME ARGUMENTS]` or `sh FILE [ARGUMENTS]`.
  void look_at_shell(const Words& words, int depth) {
    std::size_t at = 1;
    bool text = false;
    for (; at < words.size() && words[at].size() > 1 && (words[at][0] == '-' || words[at][0] == '+'); ++at) {
      if (words[at].starts_with("--")) continue;
      text = text || words[at].find('c') != std::string::npos;
      if (words[at] == "-o" || words[at] == "+o") ++at;
    }
    if (at >= words.size()) return unclear(words[0], "has no script among its words");
    if (text) {
      const auto begin = std::min(at + 2, words.size());
      return look_at_script(words[0] + " -c", words[at],
                            {words.begin() + static_cast<std::ptrdiff_t>(begin), words.end()}, depth);
    }
    std::ifstream file(fs::path(directory_) / words[at]);
    std::string script(kScriptBytesMax, '\0');
    file.read(script.data(), static_cast<std::streamsize>(script.size()));
    script.resize(static_cast<std::size_t>(file.gcount()));
    if (script.empty()) return unclear(words[at], "can't be read");
    look_at_script(words[at], script, {words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end()}, depth);
  }

  void look_at_script(const std::string& name, const std::string& script, const Words& arguments, int depth) {
    auto command = last_command(script, arguments);
    if (!command) {
      unreadable_script_ = true;
      return unclear(name, "is a script: " + command.error().context);
    }
    for (auto& setting : command->settings) add(std::move(setting), kNoWord);
    look_at_words(command->words, kNoWord, depth + 1);
  }

  void look_at_file(const Words& words, const std::string& path, int depth) {
    const auto bytes = open_elf(path);
    if (!bytes) return unclear(words[0], "can't be read (" + bytes.error().context + ")");
    if (is_elf(*bytes)) return look_at_elf(words[0], path, *bytes);
    auto next = shebang(path);
    if (next.empty()) return unclear(words[0], "is neither an ELF file nor a script with a #! line");
    next.push_back(path);
    next.insert(next.end(), words.begin() + 1, words.end());
    const auto before = found_.programs.size();
    look_at_words(next, kNoWord, depth + 1);
    // A Python script is known by its own name, not by its interpreter's.
    if (found_.programs.size() == before + 1 && is_python(file_name_of(found_.programs.back().name)))
      found_.programs.back().name = words[0];
  }

  void look_at_elf(const std::string& name, const std::string& path, const ElfBytes& bytes) {
    Program program{.name = name, .ignores_preload = runs_in_secure_mode(path)};
    const auto elf = read_elf(bytes);
    if (!elf) return unclear(name, "is an ELF file that can't be read: " + elf.error().context);
    if (auto linked = linked_mpi(path, variable("LD_LIBRARY_PATH"))) program.mpi = *std::move(linked);
    program.is_sharp_client = needs_sharp_coll(path, variable("LD_LIBRARY_PATH"));
    program.address_sanitizer = needs_address_sanitizer(path, variable("LD_LIBRARY_PATH"));
    const auto own_bytes = open_elf("/proc/self/exe");
    const auto own = own_bytes ? read_elf(*own_bytes) : tl::unexpected(own_bytes.error());
    if (!elf->is_64)
      program.foreign = "a 32-bit program";
    else if (own && own->machine != elf->machine)
      program.foreign = "a program for another machine";
    program.is_static = elf->interpreter.empty() && elf->needed.empty();
    if (!program.mpi) {
      program.has_own_mpi = elf_defines(bytes, "MPI_Init").value_or(false);
      program.unclear = "needs no MPI library";
    }
    found_.programs.push_back(std::move(program));
  }

  std::vector<std::string> environment_;
  std::string directory_;  ///< The folder in which programs start; empty: ours.
  LookedAt found_;
  bool unreadable_script_ = false;
};

}  // namespace

std::optional<std::string> value_of(const std::vector<std::string>& environment, std::string_view name) {
  for (const auto& each : environment)
    if (each.size() > name.size() && each[name.size()] == '=' && each.starts_with(name))
      return each.substr(name.size() + 1);
  return std::nullopt;
}

std::string find_program(const std::string& name, std::string_view path, const std::string& directory) {
  const auto is_there = [](const std::string& file) {
    std::error_code none;
    return ::access(file.c_str(), X_OK) == 0 && !fs::is_directory(file, none);
  };
  if (name.find('/') != std::string::npos) {
    // Launchers start a relative name from the folder of -wdir; one that only our folder has is still worth a look.
    if (const auto there = (fs::path(directory) / name).string(); is_there(there)) return there;
    return is_there(name) ? name : "";
  }
  while (!path.empty()) {
    const auto colon = path.find(':');
    const std::string folder(path.substr(0, colon));
    path = colon == std::string_view::npos ? std::string_view{} : path.substr(colon + 1);
    if (const auto there = (folder.empty() ? "." : folder) + "/" + name; is_there(there)) return there;
  }
  // Open MPI and hydra take a plain name from the current folder, too.
  const auto here = (fs::path(directory.empty() ? "." : directory) / name).string();
  return is_there(here) ? here : "";
}

bool is_mpi_command(const LookedAt& looked) {
  return looked.launcher && !looked.launcher->guessed && looked.launcher->word != kNoWord;
}

bool needs_daemons(const LookedAt& looked) {
  return !is_mpi_command(looked) || std::ranges::any_of(looked.programs, &Program::is_sharp_client);
}

bool needs_address_sanitizer(const LookedAt& looked) {
  return std::ranges::any_of(looked.programs, &Program::address_sanitizer);
}

LookedAt look_at(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  return Looker(environment).look(command);
}

}  // namespace sumac::tools
