// `sumac lab up`: forks the lab's parent, prints its report, and returns when it is ready.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include "fabricfile/fabricfile.hpp"
#include "lab/client.hpp"
#include "lab/holder.hpp"
#include "tools/lab/lab.hpp"
#include "tools/run/pki.hpp"
#include "topo/validate.hpp"

namespace sumac::tools {

namespace {

/// Programs and the working directory must be visible in the namespaces, even if they lie below a path that each
/// namespace has for itself.
void share_if_hidden(std::vector<std::string>& shared, const std::filesystem::path& path) {
  for (const auto* hidden : {"/tmp/", "/run/", "/dev/shm/"}) {
    const auto text = path.string();
    if (text.starts_with(hidden) && std::find(shared.begin(), shared.end(), text) == shared.end())
      shared.push_back(text);
  }
}

/// The lab has an authority of its own, whose key is in no file and vanishes with the lab's parent.
Result<std::function<Result<lab::PlaceFiles>(const lab::Identities&)>> lab_authority() {
  auto made = RunAuthority::make();
  if (!made) return tl::unexpected(made.error());
  return [authority = *std::move(made)](const lab::Identities& all) -> Result<lab::PlaceFiles> {
    std::vector<control::Identity> holders;
    for (const auto& [role, name] : all) {
      auto known = control::parse_role(role);
      if (!known) return tl::unexpected(known.error());
      holders.push_back({*known, name});
    }
    return authority.issue(holders);
  };
}

Result<lab::LabOptions> parse(const Arguments& arguments) {
  lab::LabOptions options;
  bool certificates = true;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& word = arguments[i];
    const auto value = [&]() -> Result<std::string> {
      if (i + 1 == arguments.size()) return fail(Errc::invalid, "lab up: {} needs a value", word);
      return arguments[++i];
    };
    if (word == "--bare") {
      options.daemons = false;
    } else if (word == "--allow-insecure") {
      certificates = false;
    } else if (word == "--foreground") {
      options.foreground = true;
    } else if (word == "--name" || word == "--share" || word == "--transport") {
      auto text = value();
      if (!text) return tl::unexpected(text.error());
      if (word == "--name") {
        // It becomes the name of a directory.
        if (text->empty() || text->starts_with('.') || text->find('/') != std::string::npos)
          return fail(Errc::invalid, "lab up: --name '{}': choose a name without '/' that does not begin with '.'",
                      *text);
        options.name = *text;
      } else if (word == "--transport") {
        if (*text != "tcp" && *text != "ucx") return fail(Errc::invalid, "lab up: --transport {}: tcp or ucx", *text);
        options.transport = *text;
      } else {
        options.shared_directories.push_back(std::filesystem::absolute(*text).lexically_normal().string());
      }
    } else if (word.starts_with("-") || !options.fabric_file.empty()) {
      return fail(Errc::invalid, "lab up: '{}' is not understood: see `sumac lab help`", word);
    } else {
      options.fabric_file = std::filesystem::absolute(word).string();
    }
  }
  if (options.fabric_file.empty()) return fail(Errc::invalid, "lab up: name a fabric file, like fabric.yaml");
  options.bin_directory = bin_directory();
  if (certificates) {
    auto certify = lab_authority();
    if (!certify) return tl::unexpected(certify.error());
    options.certify = *std::move(certify);
  }
  std::error_code error;
  share_if_hidden(options.shared_directories, std::filesystem::path(options.bin_directory).parent_path());
  share_if_hidden(options.shared_directories, std::filesystem::path(options.fabric_file).parent_path());
  share_if_hidden(options.shared_directories, std::filesystem::current_path(error));
  return options;
}

/// Runs in the forked process: it keeps nothing of the terminal, so that the lab outlives it.
[[noreturn]] void become_holder(const topo::Fabric& fabric, const lab::LabOptions& options, UniqueFd report) {
  if (!options.foreground) ::setsid();
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) ::dup2(nothing, fd);
  const int status = lab::hold_lab(fabric, options, std::move(report));
  ::_exit(status);
}

}  // namespace

int lab_up(const Arguments& arguments) {
  auto options = parse(arguments);
  if (!options) return complain(options.error().context, 2);
  const auto fabric = load_fabric(options->fabric_file);
  if (!fabric) return complain(fabric.error().context);
  if (auto ok = topo::validate_for_lab(*fabric); !ok)
    return complain(within(options->fabric_file, ok.error()).value().context);
  if (options->name.empty()) options->name = fabric->name;
  options->daemons = options->daemons && fabric->daemons;
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) < 0) return complain(fail_errno("make a pipe").value().context);
  const pid_t pid = ::fork();
  if (pid < 0) return complain(fail_errno("fork").value().context);
  if (pid == 0) {
    ::close(fds[0]);
    become_holder(*fabric, *options, UniqueFd{fds[1]});
  }
  ::close(fds[1]);
  std::FILE* report = ::fdopen(fds[0], "r");
  char line[4096];
  bool ready = false;
  std::string trouble;
  while (std::fgets(line, sizeof line, report) != nullptr) {
    const std::string_view text = line;
    if (text.starts_with("+ ")) {
      fmt::print("{}", text.substr(2));
    } else if (text.starts_with("ready")) {
      ready = true;
      fmt::print("lab {} is up: `sumac lab exec HOST -- COMMAND`, `sumac lab mpirun ...`, `sumac lab down`\n",
                 options->name);
      std::fflush(stdout);
      if (!options->foreground) return 0;
    } else {
      trouble += text.starts_with("! ") ? text.substr(2) : text;
    }
  }
  while (!trouble.empty() && trouble.back() == '\n') trouble.pop_back();
  if (!trouble.empty()) return complain(trouble);
  return ready ? 0 : complain("the lab's parent process ended without a word");
}

}  // namespace sumac::tools
