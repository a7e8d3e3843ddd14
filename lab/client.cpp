#include "lab/client.hpp"

#include <fmt/ranges.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "lab/holder.hpp"
#include "lab/place.hpp"
#include "lab/plan.hpp"

extern char** environ;

namespace sumac::lab {

Result<UniqueFd> connect_lab(const std::optional<std::string>& name) {
  auto inside = connect_to(kInsideSocket);
  if (inside || inside.error().code != Errc::not_found) return inside;
  const auto labs = running_labs();
  const auto list = fmt::format("{}", fmt::join(labs, ", "));
  if (!name) {
    if (labs.empty()) return fail(Errc::not_found, "no lab is up: `sumac lab up FILE.yaml` first");
    if (labs.size() > 1) return fail(Errc::invalid, "several labs are up ({}): choose one with --name", list);
  }
  auto outside = connect_to(control_name(name ? *name : labs[0]));
  if (outside || outside.error().code != Errc::not_found) return outside;
  return fail(Errc::not_found, "no lab {} is up; up: {}", name ? *name : labs[0], labs.empty() ? "none" : list);
}

Result<std::string> ask_status(const std::optional<std::string>& name) {
  auto lab = connect_lab(name);
  if (!lab) return tl::unexpected(lab.error());
  if (auto ok = send_message(lab->get(), "status"); !ok) return tl::unexpected(ok.error());
  auto reply = receive_message(lab->get());
  if (!reply) return tl::unexpected(reply.error());
  if (reply->text != "ok" || reply->fds.size() != 1) return fail(Errc::refused, "{}", reply->text);
  struct stat info {};
  if (::fstat(reply->fds[0].get(), &info) < 0) return fail_errno("read the status");
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  if (::pread(reply->fds[0].get(), text.data(), text.size(), 0) != info.st_size) return fail_errno("read the status");
  return text;
}

Result<> request(const std::optional<std::string>& name, const std::string& text) {
  auto lab = connect_lab(name);
  if (!lab) return tl::unexpected(lab.error());
  if (auto ok = send_message(lab->get(), text); !ok) return ok;
  auto reply = receive_message(lab->get());
  if (!reply) return tl::unexpected(reply.error());
  if (reply->text == "ok") return {};
  constexpr std::string_view kFailed = "failed ";
  return fail(Errc::refused, "{}", reply->text.substr(reply->text.starts_with(kFailed) ? kFailed.size() : 0));
}

/// Returns whether the variable is a password or token of the caller's other programs: commands in the lab do not need
/// it, and each of them would pass it on. Sumac's and MPI's own names are not secret, nor is a variable that names a
/// file.
bool looks_secret(std::string_view variable) {
  const auto name = variable.substr(0, variable.find('='));
  const auto value = variable.substr(std::min(variable.size(), name.size() + 1));
  for (const std::string_view ours : {"SUMAC_", "SHARP_", "HCOLL_", "OMPI_", "UCX_", "MPI"})
    if (name.starts_with(ours)) return false;
  if (name == "SSH_AUTH_SOCK" || name == "DBUS_SESSION_BUS_ADDRESS") return true;
  if (value.starts_with('/')) return false;
  for (std::string_view rest = name; !rest.empty();) {
    auto word = std::string(rest.substr(0, rest.find('_')));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    for (auto& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    for (const std::string_view secret : {"TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "PWD",
                                          "PASS", "CREDENTIAL", "CREDENTIALS", "KEY", "APIKEY", "AUTH", "COOKIE"})
      if (word == secret && name != "PWD" && name != "OLDPWD") return true;
  }
  return false;
}

Command command_from_here(std::vector<std::string> arguments) {
  Command command;
  std::error_code error;
  command.directory = std::filesystem::current_path(error).string();
  if (error) command.directory.assign(1, '/');
  command.arguments = std::move(arguments);
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    // UCX_* devices differ in each namespace, which sets its own. The variables that an mpirun set for its own process
    // must not reach another start (rsh or ssh would not carry them): that process would believe itself a child of that
    // mpirun.
    if (text.starts_with("UCX_TLS=") || text.starts_with("UCX_NET_DEVICES=") || text.starts_with("PMIX_") ||
        text.starts_with("ORTE_") || text.starts_with("OMPI_MCA_ess_") || text.starts_with("OMPI_MCA_orte_")) {
      continue;
    }
    if (looks_secret(text)) continue;
    // These are directories of the real machine: a lab host either lacks them or would share them with other hosts. It
    // has a /tmp of its own.
    if (text.starts_with("TMPDIR=") || text.starts_with("TMP=") || text.starts_with("TEMP=") ||
        text.starts_with("XDG_RUNTIME_DIR=")) {
      continue;
    }
    command.environment.emplace_back(text);
  }
  command.environment.emplace_back("UCX_TLS=tcp");
  return command;
}

Result<int> run_in_place(const std::optional<std::string>& name, const std::string& place, const Command& command) {
  // This comes before the program runs, so that a signal in between is passed on instead of killing only this process.
  sigset_t set;
  ::sigemptyset(&set);
  for (const int n : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) ::sigaddset(&set, n);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  const UniqueFd signals{::signalfd(-1, &set, SFD_CLOEXEC)};
  if (!signals) return fail_errno("make a signalfd");
  auto lab = connect_lab(name);
  if (!lab) return tl::unexpected(lab.error());
  auto packed = pack(command);
  if (!packed) return tl::unexpected(packed.error());
  if (auto ok = send_message(lab->get(), fmt::format("exec {}", place),
                             {packed->get(), STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
      !ok) {
    return tl::unexpected(ok.error());
  }
  for (bool started = false;;) {
    pollfd fds[2] = {{lab->get(), POLLIN, 0}, {signals.get(), POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0 && errno != EINTR) return fail_errno("poll");
    if (fds[1].revents != 0) {
      signalfd_siginfo info{};
      if (::read(signals.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        if (auto ok = send_message(lab->get(), fmt::format("signal {}", info.ssi_signo)); !ok)
          return tl::unexpected(ok.error());
      }
    }
    if (fds[0].revents == 0) continue;
    auto message = receive_message(lab->get());
    if (!message) return fail(Errc::lost, "the lab went down while {} ran on {}", command.arguments[0], place);
    if (message->text == "started") {
      started = true;
    } else if (message->text.starts_with("failed ")) {
      const auto text = message->text.substr(7);
      if (!started && !text.starts_with("directory ")) return fail(Errc::refused, "{}", text);
      fmt::print(stderr, "sumac lab: {}: {}\n", place, text);
    } else if (message->text.starts_with("exited ")) {
      const int status = std::atoi(message->text.c_str() + 7);
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
  }
}

}  // namespace sumac::lab
