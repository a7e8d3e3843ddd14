// Starts real processes: a shell plays the daemon.
#include "launch/daemon.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.hpp"
#include "base/test_folder.hpp"
#include "launch/log_file.hpp"

namespace sumac::launch {
namespace {

class DaemonTest : public testing::Test {
 protected:
  std::string log() const { return folder_.file("log"); }
  /// The script reads its own arguments from $1 on: "--ready-fd 3".
  Launch script(const std::string& text) const {
    return {.name = "sharp_x", .command = {"/bin/sh", "-c", text, "sharp_x"}, .log = log()};
  }

 private:
  const TestFolder folder_{"launch"};
};

TEST_F(DaemonTest, IsThereOnceItIsReady) {
  auto daemon = Daemon::start(script("echo \"$1 $2\"; echo ready >&3; exec sleep 60"));
  ASSERT_TRUE(daemon) << daemon.error().context;
  EXPECT_EQ(whole_log(log()), "--ready-fd 3\n");
  EXPECT_FALSE(daemon->obituary());
  daemon->signal(SIGTERM);
  const int status = daemon->wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  EXPECT_EQ(daemon->pid(), -1);
}

TEST_F(DaemonTest, ADaemonThatEndsAtOnceIsBlamedWithItsLastWords) {
  const auto daemon = Daemon::start(script("echo first; echo the port is in use >&2; exit 3"));
  ASSERT_FALSE(daemon);
  EXPECT_EQ(daemon.error().code, Errc::lost);
  EXPECT_EQ(daemon.error().context, "sharp_x ended at once with status 3; its last words: the port is in use");
}

TEST_F(DaemonTest, AProgramThatIsNotThereIsNamed) {
  auto launch = script("");
  launch.command = {"/nonexistent/sharp_x"};
  const auto daemon = Daemon::start(launch);
  ASSERT_FALSE(daemon);
  EXPECT_EQ(daemon.error().context,
            "sharp_x ended at once with status 127; its last words: /nonexistent/sharp_x: No such file or directory");
}

TEST_F(DaemonTest, AnObituaryIsReadOnce) {
  auto daemon = Daemon::start(script("echo ready >&3; echo out of memory; kill -ABRT $$"));
  ASSERT_TRUE(daemon) << daemon.error().context;
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(daemon->pid()), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(daemon->obituary(), "sharp_x ended with signal 6 (Aborted); its last words: out of memory");
  EXPECT_FALSE(daemon->obituary());
}

TEST_F(DaemonTest, AnInterruptedStartLeavesNothing) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd heard(ends[0]), said(ends[1]);
  ASSERT_EQ(::write(said.get(), "x", 1), 1);
  auto launch = script("exec sleep 60");
  launch.interrupt_fd = heard.get();
  const auto daemon = Daemon::start(launch);
  ASSERT_FALSE(daemon);
  EXPECT_EQ(daemon.error().code, Errc::interrupted);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "there is a child";
}

TEST_F(DaemonTest, VariablesReplaceOurs) {
  ::setenv("SUMAC_LAUNCH_TEST", "ours", 1);
  auto launch = script("echo $SUMAC_LAUNCH_TEST; echo ready >&3; exec sleep 60");
  launch.environment = {{"SUMAC_LAUNCH_TEST", "its own"}};
  const auto daemon = Daemon::start(launch);
  ::unsetenv("SUMAC_LAUNCH_TEST");
  ASSERT_TRUE(daemon) << daemon.error().context;
  EXPECT_EQ(whole_log(log()), "its own\n");
}

TEST_F(DaemonTest, ALastingDaemonBeginsOnceItIsRecorded) {
  pid_t recorded = 0;
  const auto pid = start_lasting(script("echo begun; echo ready >&3; exec sleep 60"), [&](pid_t child) -> Result<> {
    recorded = child;
    EXPECT_EQ(whole_log(log()), "");
    return {};
  });
  ASSERT_TRUE(pid) << pid.error().context;
  EXPECT_EQ(*pid, recorded);
  EXPECT_EQ(::getsid(*pid), *pid);
  ::kill(*pid, SIGKILL);
  EXPECT_EQ(::waitpid(*pid, nullptr, 0), *pid);
}

TEST_F(DaemonTest, ALastingDaemonThatCannotBeRecordedEnds) {
  const auto pid = start_lasting(script("echo begun; echo ready >&3; exec sleep 60"),
                                 [](pid_t) -> Result<> { return fail(Errc::io, "the disk is full"); });
  ASSERT_FALSE(pid);
  EXPECT_EQ(pid.error().context, "the disk is full");
  EXPECT_EQ(whole_log(log()), "");
}

TEST_F(DaemonTest, ALastingDaemonThatCannotBeRecordedEndsAtOnceWhereSignalsAreBlocked) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  testing::internal::CaptureStderr();
  const auto pid = start_lasting(script("exec sleep 60"), [](pid_t) -> Result<> { return fail(Errc::io, "no room"); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "it had to be killed";
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_FALSE(pid);
}

TEST(LogFile, TheLastLinesAreThoseThatSaySomething) {
  EXPECT_EQ(last_words("/nonexistent"), "it said nothing");
  EXPECT_TRUE(last_lines("/nonexistent", 3).empty());
}

}  // namespace
}  // namespace sumac::launch
