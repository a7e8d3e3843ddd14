#pragma once
// One of our programs as a child of the test: it is started, awaited until it writes "ready", and ends with the test,
// even if that crashes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"

namespace sumac::tests {

/// A directory for one test's sockets, logs and files.
struct Scratch {
  std::string path = testing::TempDir() + "sumac-daemons-XXXXXX";
  Scratch() { EXPECT_NE(::mkdtemp(path.data()), nullptr); }
  ~Scratch() { EXPECT_EQ(std::system(("rm -r '" + path + "'").c_str()), 0); }
  std::string file(const std::string& name, const std::string& text = {}) const {
    if (!text.empty()) std::ofstream(path + "/" + name) << text;
    return path + "/" + name;
  }
};

class DaemonProcess {
 public:
  /// Both kinds of output go to `log`. `ready`: --ready-fd 3 is passed, and the constructor waits for it.
  DaemonProcess(const std::string& program, std::vector<std::string> arguments, const std::string& log,
                bool ready = true)
      : log_(log) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    UniqueFd heard(ends[0]), said(ends[1]);
    arguments.insert(arguments.begin(), std::string(SUMAC_BINARY_DIR) + "/bin/" + program);
    if (ready) arguments.insert(arguments.end(), {"--ready-fd", "3"});
    std::vector<char*> words;
    for (auto& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      const int moved = ::fcntl(said.get(), F_DUPFD, 10);
      ::dup2(out, 1);
      ::dup2(out, 2);
      ::dup2(moved, 3);
      ::close_range(4, ~0u, 0);
      ::execv(words[0], words.data());
      ::_exit(126);
    }
    said.reset();
    if (!ready) return;
    pollfd wait{heard.get(), POLLIN, 0};
    char text[16]{};
    EXPECT_EQ(::poll(&wait, 1, 30'000), 1) << program << " is not ready: " << output();
    EXPECT_EQ(::read(heard.get(), text, sizeof text), 6) << program << " ended: " << output();
    EXPECT_STREQ(text, "ready\n");
  }
  ~DaemonProcess() { stop(); }
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  /// Returns the exit status, 128 + number after a signal.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  int stop(int number = SIGTERM) {
    if (pid_ <= 0) return -1;
    signal(number);
    return wait();
  }
  std::string output() const {
    std::ifstream file(log_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
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
  pid_t pid_ = -1;
};

}  // namespace sumac::tests
