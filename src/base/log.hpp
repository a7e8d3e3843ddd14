#pragma once
// Log lines in the forms that users of the stack know and grep for:
//
//   library    [host:rank:pid - file.cpp:line] LEVEL text
//   low level  [host:rank:pid unique id JOBID] LEVEL text
//   daemon     [Mon DD HH:MM:SS usec][CATEGORY][tid][level] - text
//
// A Logger is an object that its owner passes on: two contexts in one process have two loggers, each with its level and
// rank. A line is one write(2) to stderr (never to stdout, which belongs to the host program), so lines of threads and
// processes do not mix.
//
//   SUMAC_WARN(log, "tree {}: no answer in {} ms", tree_id, waited_ms);   // evaluated only if it is printed
#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace sumac {

enum class LogLevel : int { fatal = 0, error = 1, warn = 2, info = 3, debug = 4, trace = 5 };

/// Returns "WARN"; the daemon form uses "warn ".
std::string_view to_string(LogLevel level) noexcept;
/// Converts the number of SHARP_COLL_LOG_LEVEL into a level; a number beyond the ends gives the nearest level.
LogLevel log_level_from(std::int64_t number) noexcept;

/// Takes one finished line with its newline. Several threads may call it at once.
using LogSink = std::function<void(std::string_view line)>;

/// Writes to a descriptor, which the caller keeps open.
LogSink descriptor_sink(int fd);
/// Appends to a file. Every line is one O_APPEND write, so a rotated or shared file contains whole lines.
Result<LogSink> file_sink(const std::string& path);

class Logger {
 public:
  enum class Form { library, low_level, daemon };

  explicit Logger(Form form = Form::library, LogLevel level = LogLevel::warn,
                  LogSink sink = descriptor_sink(STDERR_FILENO));

  bool enabled(LogLevel level) const noexcept { return level <= level_.load(std::memory_order_relaxed); }
  LogLevel level() const noexcept { return level_.load(std::memory_order_relaxed); }
  // Relaxed order suffices: a level, rank or job id that is seen a line too late misleads no one and guards no other
  // data.
  void set_level(LogLevel level) noexcept { level_.store(level, std::memory_order_relaxed); }
  void set_rank(int rank) noexcept { rank_.store(rank, std::memory_order_relaxed); }
  void set_job_id(JobId id) noexcept { job_id_.store(id, std::memory_order_relaxed); }

  /// Prints at any level; use the macros below. Only the daemon form prints `category`.
  void write(LogLevel level, const char* file, int line, std::string_view category, std::string_view text) const;

  /// Returns the line that write() would print, for tests and other outputs.
  std::string format(LogLevel level, const char* file, int line, std::string_view category,
                     std::string_view text) const;

 private:
  Form form_;
  std::atomic<LogLevel> level_;
  std::atomic<int> rank_{0};
  std::atomic<JobId> job_id_{};
  LogSink sink_;
  std::string host_;
};

}  // namespace sumac

/// `logger` is a Logger&. `category` is one of the words of the daemon form: GENERAL, JOBS, ...
#define SUMAC_LOG_IN(logger, severity, category, ...)                                              \
  do {                                                                                             \
    const ::sumac::Logger& sumac_logger_ = (logger);                                               \
    if (sumac_logger_.enabled(severity))                                                           \
      sumac_logger_.write((severity), __FILE__, __LINE__, (category), ::fmt::format(__VA_ARGS__)); \
  } while (false)
#define SUMAC_LOG(logger, severity, ...) SUMAC_LOG_IN(logger, severity, "GENERAL", __VA_ARGS__)
#define SUMAC_FATAL(logger, ...) SUMAC_LOG(logger, ::sumac::LogLevel::fatal, __VA_ARGS__)
#define SUMAC_ERROR(logger, ...) SUMAC_LOG(logger, ::sumac::LogLevel::error, __VA_ARGS__)
#define SUMAC_WARN(logger, ...) SUMAC_LOG(logger, ::sumac::LogLevel::warn, __VA_ARGS__)
#define SUMAC_INFO(logger, ...) SUMAC_LOG(logger, ::sumac::LogLevel::info, __VA_ARGS__)
#define SUMAC_DEBUG(logger, ...) SUMAC_LOG(logger, ::sumac::LogLevel::debug, __VA_ARGS__)
#define SUMAC_TRACE(logger, ...) SUMAC_LOG(logger, ::sumac::LogLevel::trace, __VA_ARGS__)
