#include "base/thread.hpp"

#include <gtest/gtest.h>

namespace sumac {
namespace {

bool takes(int signal) {
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return ::sigismember(&blocked, signal) == 0;
}

TEST(Thread, TakesNoSignalsAndLeavesThoseOfItsMakerAlone) {
  const bool took_before = takes(SIGTERM);
  bool takes_there = true;
  start_thread([&] { takes_there = takes(SIGTERM); }).join();
  EXPECT_FALSE(takes_there);
  EXPECT_EQ(takes(SIGTERM), took_before);
}

}  // namespace
}  // namespace sumac
