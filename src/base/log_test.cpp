#include "base/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "base/log_file.hpp"
#include "base/test_folder.hpp"

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
  low.set_job_id(JobId{99});
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

TEST(Log, OnlyWholeCharactersOfUtf8ThatAreNoControlsPass) {
  const struct {
    const char* name;
    std::string_view text, becomes;
  } rows[] = {
      {"ASCII", "an-root ~\t!", "an-root ~\t!"},
      {"C0 and DEL", "a\x01\x1b\x7f", "a???"},
      {"a C1 control: the start of an escape sequence",
       "a\xc2\x9b"
       "2J",
       "a?2J"},
      {"the first and the last C1 control", "\xc2\x80\xc2\x9f", "??"},
      {"the first character behind them", "\xc2\xa0", "\xc2\xa0"},
      {"two, three and four bytes", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
      {"a raw C1 byte",
       "a\x9b"
       "2J",
       "a?2J"},
      {"raw Latin-1", "M\xe4rz", "M?rz"},
      {"a control written longer than needed", "\xe0\x82\x9b\xc1\x9b", "?????"},
      {"half a surrogate pair", "\xed\xa0\x80", "???"},
      {"beyond the last character", "\xf4\x90\x80\x80\xf5\x80\x80\x80", "????????"},
      {"cut off", "\xe2\x82", "??"},
      {"cut off by a newline inside", "\xe2\x82\nx", "?? x"},
      {"the last character", "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
  };
  const Logger log(Logger::Form::library, LogLevel::info, [](std::string_view) {});
  for (const auto& row : rows) {
    const auto line = log.format(LogLevel::warn, "x.cpp", 1, "", row.text);
    EXPECT_EQ(line.substr(line.find("WARN ") + 5), std::string(row.becomes) + "\n") << row.name;
  }
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

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(Log, AReopenedFileHasEveryLineOnceWhileThreadsWrite) {
  const TestFolder folder("log");
  const std::string path = folder.file("log"), moved = path + ".1";
  {
    auto sink = file_sink(path);
    ASSERT_TRUE(sink);
    Logger log(Logger::Form::library, LogLevel::info, *sink);
    std::atomic<int> written{0};
    std::thread writer([&] {
      for (int i = 0; i < 2000; ++i, ++written) SUMAC_INFO(log, "{}", i);
    });
    while (written < 500) std::this_thread::yield();
    EXPECT_EQ(::rename(path.c_str(), moved.c_str()), 0);
    EXPECT_TRUE(reopen(*sink));
    writer.join();
    SUMAC_INFO(log, "the last");
  }
  auto lines = lines_of(moved);
  EXPECT_GE(lines.size(), 500U);
  const auto now = lines_of(path);
  ASSERT_FALSE(now.empty());
  EXPECT_TRUE(now.back().ends_with(" the last"));
  lines.insert(lines.end(), now.begin(), now.end());
  ASSERT_EQ(lines.size(), 2001U);
  for (std::size_t i = 0; i < 2000; ++i) EXPECT_TRUE(lines[i].ends_with(fmt::format("INFO {}", i))) << lines[i];
}

TEST(Log, AFileThatCannotBeReopenedIsAnErrorAndTheOldOneIsWrittenOn) {
  const TestFolder own("log");
  const std::string folder = own.file("here"), away = own.file("away"), path = folder + "/log";
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  auto sink = file_sink(path);
  ASSERT_TRUE(sink);
  Logger log(Logger::Form::library, LogLevel::info, *sink);
  ASSERT_EQ(::rename(folder.c_str(), away.c_str()), 0);
  const auto done = reopen(*sink);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().context, "cannot open log file " + path + ": No such file or directory");
  SUMAC_INFO(log, "goes on");
  EXPECT_EQ(lines_of(away + "/log").size(), 1U);
  EXPECT_TRUE(reopen(descriptor_sink(STDERR_FILENO))) << "no file: nothing to open";
}

TEST(Log, AFileThatCannotBeOpenedIsAnError) {
  auto sink = file_sink("/nonexistent/dir/log");
  ASSERT_FALSE(sink);
  EXPECT_EQ(sink.error().context, "cannot open log file /nonexistent/dir/log: No such file or directory");
}

}  // namespace
}  // namespace sumac
