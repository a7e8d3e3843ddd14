#include "base/log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>

#include "base/fd.hpp"
#include "base/host_name.hpp"
#include "base/log_file.hpp"
#include "base/utf8.hpp"

namespace sumac {
namespace {

void write_line(int fd, std::string_view line) {
  const int saved = errno;  // A log line must not change the errno that the caller is about to examine.
  while (!line.empty()) {
    const ssize_t written = ::write(fd, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;  // A log that cannot be written cannot report that either.
    line.remove_prefix(static_cast<std::size_t>(written));
  }
  errno = saved;
}

std::string_view basename_of(const char* path) {
  const std::string_view text(path);
  return text.substr(text.rfind('/') + 1);  // If there is no slash, npos + 1 is 0.
}

/// Makes one line of any text: bytes from a peer or a file must neither forge a second line nor reach a terminal as an
/// escape sequence. U+0080 to U+009F are control characters like those below space (U+009B begins an escape sequence),
/// and a terminal without UTF-8 treats the bytes of that value as such.
std::string one_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = utf8_length(text.substr(i));
    const bool is_control = (byte < ' ' && byte != '\t') || byte == 0x7f ||
                            (length == 2 && byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0);
    if (length == 0 || is_control)
      result += byte == '\n' ? ' ' : '?';
    else
      result += text.substr(i, length);
    i += std::max<std::size_t>(length, 1);
  }
  return result;
}

std::string timestamp() {
  timeval now{};
  ::gettimeofday(&now, nullptr);
  tm parts{};
  ::localtime_r(&now.tv_sec, &parts);
  // strftime's %b follows the locale; a daemon's log keeps English months.
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{} {:02} {:02}:{:02}:{:02} {:06}", kMonths[parts.tm_mon], parts.tm_mday, parts.tm_hour,
                     parts.tm_min, parts.tm_sec, static_cast<long>(now.tv_usec));
}

std::string_view daemon_name(LogLevel level) {
  switch (level) {
    case LogLevel::fatal: return "fatal";
    case LogLevel::error: return "error";
    case LogLevel::warn: return "warn ";
    case LogLevel::info: return "info ";
    case LogLevel::debug: return "debug";
    case LogLevel::trace: return "trace";
  }
  return "?    ";
}

}  // namespace

std::string_view to_string(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::fatal: return "FATAL";
    case LogLevel::error: return "ERROR";
    case LogLevel::warn: return "WARN";
    case LogLevel::info: return "INFO";
    case LogLevel::debug: return "DEBUG";
    case LogLevel::trace: return "TRACE";
  }
  return "?";
}

LogLevel log_level_from(std::int64_t number) noexcept {
  return static_cast<LogLevel>(std::clamp<std::int64_t>(number, 0, 5));
}

LogSink descriptor_sink(int fd) {
  return [fd](std::string_view line) { write_line(fd, line); };
}

namespace {
Result<UniqueFd> open_log(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
  UniqueFd file(::open(path.c_str(), kFlags | O_NOFOLLOW, 0644));
  // A link of another user would lead our lines into a file of his choice. One of root's is like /dev/stderr.
  struct stat link {};
  if (!file && errno == ELOOP && ::lstat(path.c_str(), &link) == 0 && (link.st_uid == 0 || link.st_uid == ::geteuid()))
    file = UniqueFd(::open(path.c_str(), kFlags, 0644));
  if (!file && errno == ELOOP)
    return fail(Errc::denied, "log file {} is a link of another user: remove it, or name another file", path);
  if (!file) return fail_errno(fmt::format("cannot open log file {}", path));
  return file;
}
}  // namespace

void FileSink::operator()(std::string_view line) const { write_line(file->get(), line); }

Result<LogSink> file_sink(const std::string& path) {
  auto file = open_log(path);
  if (!file) return tl::unexpected(file.error());
  return LogSink(FileSink{path, std::make_shared<const UniqueFd>(*std::move(file))});
}

Result<> reopen(const LogSink& sink) {
  const auto* file = sink.target<FileSink>();
  if (file == nullptr) return {};
  auto again = open_log(file->path);
  if (!again) return tl::unexpected(again.error());
  // dup3 replaces the open file behind the descriptor number in one step, so a thread that writes at this moment needs
  // no lock.
  if (::dup3(again->get(), file->file->get(), O_CLOEXEC) < 0) return fail_errno(fmt::format("reopen {}", file->path));
  return {};
}

Logger::Logger(Form form, LogLevel level, LogSink sink) : form_(form), level_(level), sink_(std::move(sink)) {
  host_ = host_name();
  host_ = host_.substr(0, host_.find('.'));
}

std::string Logger::format(LogLevel level, const char* file, int line, std::string_view category,
                           std::string_view text) const {
  const std::string body = one_line(text);
  const int rank = rank_.load(std::memory_order_relaxed);
  switch (form_) {
    case Form::library:  // getpid() is called each time, because a forked child is another process.
      return fmt::format("[{}:{}:{} - {}:{}] {} {}\n", host_, rank, ::getpid(), basename_of(file), line,
                         to_string(level), body);
    case Form::low_level:
      return fmt::format("[{}:{}:{} unique id {}] {} {}\n", host_, rank, ::getpid(),
                         job_id_.load(std::memory_order_relaxed), to_string(level), body);
    case Form::daemon:
      return fmt::format("[{}][{}][{}][{}] - {}\n", timestamp(), category, static_cast<long>(::syscall(SYS_gettid)),
                         daemon_name(level), body);
  }
  return body;
}

void Logger::write(LogLevel level, const char* file, int line, std::string_view category, std::string_view text) const {
  sink_(format(level, file, line, category, text));
}

}  // namespace sumac
