#include "lab/daemon.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "lab/channel.hpp"
#include "lab/client.hpp"
#include "launch/log_file.hpp"

namespace sumac::lab {

std::string log_directory(const std::string& lab_name) {
  return fmt::format("/tmp/sumac-lab-{}-{}", ::geteuid(), lab_name);
}

Result<std::string> make_log_directory(const std::string& lab_name) {
  auto path = log_directory(lab_name);
  if (::mkdir(path.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno(fmt::format("make {}", path));
  struct stat info {};
  if (::lstat(path.c_str(), &info) < 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) {
    return fail(Errc::denied, "{} is no directory of this user: remove it", path);
  }
  return path;
}

Result<Daemon> Daemon::launch(const DaemonSpec& spec, int place_channel, const std::string& log_directory,
                              int log_flag) {
  auto pair = make_pair();
  if (!pair) return tl::unexpected(pair.error());
  if (auto ok = want_sender(pair->ours.get()); !ok) return tl::unexpected(ok.error());
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) < 0) return fail_errno("make a pipe");
  Daemon daemon;
  daemon.ready_pipe_ = UniqueFd{ready[0]};
  const UniqueFd ready_write{ready[1]};
  daemon.status_ = {spec.name, spec.place, 0, true, 0, log_directory + "/" + spec.log_name};
  constexpr int kLogFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  const UniqueFd log{::open(daemon.status_.log.c_str(), kLogFlags | log_flag, 0600)};
  if (!log) return fail_errno(fmt::format("open {}", daemon.status_.log));
  const UniqueFd nothing{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  if (!nothing) return fail_errno("open /dev/null");
  auto command = command_from_here(spec.arguments);
  command.directory.assign(1, '/');  // the one directory that is the same everywhere
  auto packed = pack(command);
  if (!packed) return tl::unexpected(packed.error());
  if (auto ok =
          send_message(place_channel, "exec",
                       {pair->theirs.get(), packed->get(), nothing.get(), log.get(), log.get(), ready_write.get()});
      !ok) {
    return tl::unexpected(ok.error());
  }
  daemon.connection_ = std::move(pair->ours);
  return daemon;
}

void Daemon::hear_ready() {
  char line[256];
  ready_ = ::read(ready_pipe_.get(), line, sizeof line) > 0;
  ready_pipe_.reset();  // closed without a message: the daemon is ending, and its connection will report that
}

void Daemon::hear() {
  auto message = receive_message(connection_.get());
  if (!message) {
    status_.alive = false;
  } else if (message->text == "started") {
    status_.pid = message->sender;
  } else if (message->text.starts_with("exited ")) {
    status_.alive = false;
    status_.wait_status = std::atoi(message->text.c_str() + 7);
  } else if (message->text.starts_with("failed ")) {
    std::ofstream(status_.log, std::ios::app) << message->text.substr(7) << '\n';
  }
  if (!status_.alive) connection_.reset();
}

void Daemon::signal(int number) {
  if (connection_) (void)send_message(connection_.get(), fmt::format("signal {}", number));
}

tl::unexpected<Error> Daemon::blame(const std::string& what) const {
  const auto lines = launch::last_lines(status_.log, 5);
  return fail(Errc::lost, "{} on {} {}; its last words:{}{}", status_.name, status_.place, what,
              lines.empty() ? " none" : "\n    ", fmt::join(lines, "\n    "));
}

}  // namespace sumac::lab
