#include "base/log.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>

#include "base/fd.hpp"
#include "base/log_file.hpp"

namespace sumac {
namespace {

void write_line(int fd, std::string_view line) {
  const int saved = errno;  // a log line must not change what the caller is about to look at
  while (!line.empty()) {
    const ssize_t written = ::write(fd, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;  // a log that can't be written has nowhere to say so
    line.remove_prefix(static_cast<std::size_t>(written));
  }
  errno = saved;
}

std::string_view basename_of(const char* path) {
  const std::string_view text(path);
  return text.substr(text.rfind('/') + 1);  // npos + 1 is 0
}

/// Returns the length of the UTF-8 character beyond ASCII at the start of `text`; 0: there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Longer than needed, a half of a surrogate pair, or beyond the last character.
  const unsigned second = byte(1);
  const bool wrong = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                     (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return wrong ? 0 : length;
}

/// A line is a line: what came from a peer or a file must not forge a second one nor reach a terminal as an escape. U+0080 to U+009F are
/// controls like those below space (U+009B begins an escape sequence), and a terminal without UTF-8 takes bytes of that value for them.
std::string one_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80 ? 1 : utf8_length(text.substr(i));
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
  // Not strftime's %b: a daemon's log keeps English months whatever the locale.
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
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
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
  // The kernel exchanges the file behind the number in one step: a thread that writes at this moment needs no lock.
  if (::dup3(again->get(), file->file->get(), O_CLOEXEC) < 0) return fail_errno(fmt::format("reopen {}", file->path));
  return {};
}

Logger::Logger(Form form, LogLevel level, LogSink sink) : form_(form), level_(level), sink_(std::move(sink)) {
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  host_ = name;
  host_ = host_.substr(0, host_.find('.'));
}

std::string Logger::format(LogLevel level, const char* file, int line, std::string_view category,
                           std::string_view text) const {
  const std::string body = one_line(text);
  const int rank = rank_.load(std::memory_order_relaxed);
  switch (form_) {
    case Form::library:  // getpid() each time: a forked child is another process
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
