#pragma once
// One of our programs as a child of the test: it is started, awaited until it writes "ready", and ends with the test,
// even if that crashes.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/test_folder.hpp"
#include "launch/daemon.hpp"
#include "launch/log_file.hpp"

namespace sumac::tests {

/// A directory for one test's sockets, logs and files.
struct Scratch : TestFolder {
  Scratch() : TestFolder("daemons") {}
  std::string file(const std::string& name, const std::string& text = {}) const {
    if (!text.empty()) std::ofstream(path + "/" + name) << text;
    return path + "/" + name;
  }
};

class DaemonProcess {
 public:
  /// Both kinds of output go to `log`. `ready`: --ready-fd 3 is passed, and the constructor waits for it.
  DaemonProcess(const std::string& program, const std::vector<std::string>& arguments, const std::string& log,
                bool ready = true)
      : log_(log) {
    launch::Launch launch{.name = program,
                          .command = {std::string(SUMAC_BINARY_DIR) + "/bin/" + program},
                          .log = log,
                          .reports_ready = ready};
    launch.command.insert(launch.command.end(), arguments.begin(), arguments.end());
    auto started = launch::Daemon::start(launch);
    EXPECT_TRUE(started) << started.error().context << "\n" << output();
    if (started) daemon_.emplace(*std::move(started));
  }
  ~DaemonProcess() { stop(); }
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  pid_t pid() const { return daemon_ ? daemon_->pid() : -1; }
  void signal(int number) const {
    if (daemon_) daemon_->signal(number);
  }
  /// Returns the exit status, 128 + number after a signal.
  int wait() {
    const int status = daemon_->wait();
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  int stop(int number = SIGTERM) {
    if (pid() <= 0) return -1;
    signal(number);
    return wait();
  }
  std::string output() const { return launch::whole_log(log_); }
  /// Waits until the log has these words; returns false after a time that only a failure reaches.
  bool says(const std::string& words) const {
    const Time end = monotonic_now() + Seconds(20);
    while (output().find(words) == std::string::npos) {
      if (monotonic_now() > end) return false;
      ::poll(nullptr, 0, 5);
    }
    return true;
  }

 private:
  std::string log_;
  std::optional<launch::Daemon> daemon_;
};

}  // namespace sumac::tests
