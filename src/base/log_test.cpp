#include "base/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

namespace sumac {
namespace {

using testing::MatchesRegex;

struct Captured {
  std::vector<std::string> lines;
  LogSink sink() {
    return [this](std::string_view line) { lines.emplace_back(line); };
  }
};

TEST(Log, TheThreeForms) {
  Captured out;
  Logger library(Logger::Form::library, LogLevel::info, out.sink());
  library.set_rank(3);
  SUMAC_INFO(library, "job (ID: {})", 7);
  Logger low(Logger::Form::low_level, LogLevel::info, out.sink());
  low.set_job_id(99);
  SUMAC_ERROR(low, "sharp_create_job failed");
  Logger daemon(Logger::Form::daemon, LogLevel::info, out.sink());
  SUMAC_WARN(daemon, "text");
  SUMAC_LOG_IN(daemon, LogLevel::info, "JOBS", "begin");
  ASSERT_EQ(out.lines.size(), 4U);
  EXPECT_THAT(out.lines[0], MatchesRegex("\\[[^:]+:3:[0-9]+ - log_test.cpp:[0-9]+\\] INFO job \\(ID: 7\\)\n"));
  EXPECT_THAT(out.lines[1], MatchesRegex("\\[[^:]+:0:[0-9]+ unique id 99\\] ERROR sharp_create_job failed\n"));
  EXPECT_THAT(
      out.lines[2],
      MatchesRegex("\\[[A-Z][a-z][a-z] [0-9][0-9] [0-9:]+ [0-9]+\\]\\[GENERAL\\]\\[[0-9]+\\]\\[warn \\] - text\n"));
  EXPECT_THAT(out.lines[3], MatchesRegex(".*\\[JOBS\\]\\[[0-9]+\\]\\[info \\] - begin\n"));
}

TEST(Log, WhatIsNotPrintedIsNotEvaluated) {
  Captured out;
  Logger log(Logger::Form::library, LogLevel::warn, out.sink());
  int evaluated = 0;
  SUMAC_DEBUG(log, "{}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
  log.set_level(LogLevel::debug);
  SUMAC_DEBUG(log, "{}", ++evaluated);
  SUMAC_TRACE(log, "{}", ++evaluated);
  EXPECT_EQ(evaluated, 1);
  EXPECT_EQ(log_level_from(-1), LogLevel::fatal);
  EXPECT_EQ(log_level_from(3), LogLevel::info);
  EXPECT_EQ(log_level_from(9), LogLevel::trace);
}

TEST(Log, ATextCannotForgeASecondLine) {
  Captured out;
  Logger log(Logger::Form::library, LogLevel::info, out.sink());
  SUMAC_WARN(log, "peer said {}", "x\n[host:0:1] FATAL y\x1b[2J");
  ASSERT_EQ(out.lines.size(), 1U);
  EXPECT_EQ(std::count(out.lines[0].begin(), out.lines[0].end(), '\n'), 1);
  EXPECT_EQ(out.lines[0].find('\x1b'), std::string::npos);
}

TEST(Log, TwoLoggersDoNotShareAnything) {
  Captured one, two;
  Logger a(Logger::Form::library, LogLevel::trace, one.sink()), b(Logger::Form::library, LogLevel::fatal, two.sink());
  a.set_rank(1);
  SUMAC_TRACE(a, "a");
  SUMAC_TRACE(b, "b");
  EXPECT_EQ(one.lines.size(), 1U);
  EXPECT_TRUE(two.lines.empty());
}

TEST(Log, LinesOfThreadsStayWholeInAFile) {
  char path[] = "/tmp/sumac_log_test_XXXXXX";
  const int fd = ::mkstemp(path);
  ASSERT_GE(fd, 0);
  ::close(fd);
  {
    auto sink = file_sink(path);
    ASSERT_TRUE(sink);
    Logger log(Logger::Form::library, LogLevel::info, *sink);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&log] {
        for (int i = 0; i < 200; ++i) SUMAC_INFO(log, "{}", std::string(100, 'x'));
      });
    for (auto& thread : threads) thread.join();
  }
  std::ifstream file(path);
  int count = 0;
  for (std::string line; std::getline(file, line); ++count)
    EXPECT_TRUE(line.starts_with("[") && line.ends_with("] INFO " + std::string(100, 'x'))) << line;
  EXPECT_EQ(count, 800);
  ::unlink(path);
}

TEST(Log, AFileThatCannotBeOpenedIsAnError) {
  auto sink = file_sink("/nonexistent/dir/log");
  ASSERT_FALSE(sink);
  EXPECT_EQ(sink.error().context, "cannot open log file /nonexistent/dir/log: No such file or directory");
}

}  // namespace
}  // namespace sumac
