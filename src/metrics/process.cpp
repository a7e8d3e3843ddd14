#include "metrics/process.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace sumac::metrics {
namespace {

/// The fields of proc_pid_stat(5) that are read, by their numbers there.
enum Field { utime = 14, stime = 15, starttime = 22, vsize = 23, rss = 24 };
constexpr int kFirstBehindName = 3;

using Fields = std::array<std::uint64_t, rss + 1>;

std::optional<Fields> own_stat() {
  std::string text;
  std::getline(std::ifstream("/proc/self/stat"), text);
  // A name may hold spaces and brackets of its own.
  const auto end = text.rfind(')');
  if (end == text.npos) return std::nullopt;
  std::istringstream rest(text.substr(end + 1));
  Fields fields{};
  std::string word;
  for (std::size_t at = kFirstBehindName; at < fields.size(); ++at) {
    if (!(rest >> word)) return std::nullopt;
    fields[at] = std::strtoull(word.c_str(), nullptr, 10);  // Words such as the state and -1 are not asked for.
  }
  return fields;
}

/// When the machine started, in seconds since 1970.
std::optional<std::uint64_t> boot_time() {
  std::ifstream file("/proc/stat");
  std::uint64_t seconds = 0;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("btime ") && std::istringstream(line.substr(6)) >> seconds) return seconds;
  return std::nullopt;
}

std::optional<std::uint64_t> open_descriptors() {
  std::error_code error;
  std::uint64_t count = 0;
  for (std::filesystem::directory_iterator each("/proc/self/fd", error), end; !error && each != end;
       each.increment(error))
    ++count;
  if (error || count == 0) return std::nullopt;
  return count - 1;  // The one that reads the directory.
}

}  // namespace

void add_process(Page& page, std::optional<std::time_t> certificate_end) {
  page.gauge("sumac_certificate_end_seconds",
             "When this daemon's certificate for other daemons ends, in seconds since 1970; absent without one.");
  if (certificate_end) page.value(static_cast<std::uint64_t>(*certificate_end));
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (const auto stat = own_stat()) {
    const auto& of = *stat;
    page.counter("process_cpu_seconds_total", "Processor time of this process, user's and system's, in seconds.")
        .seconds(static_cast<double>(of[utime] + of[stime]) / ticks);
    page.gauge("process_virtual_memory_bytes", "Virtual memory of this process.").value(of[vsize]);
    page.gauge("process_resident_memory_bytes", "Memory of this process that lies in RAM.")
        .value(of[rss] * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
    if (const auto booted = boot_time())
      page.gauge("process_start_time_seconds", "When this process started, in seconds since 1970.")
          .seconds(static_cast<double>(*booted) + static_cast<double>(of[starttime]) / ticks);
  }
  if (const auto open = open_descriptors())
    page.gauge("process_open_fds", "Descriptors that this process has open.").value(*open);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    page.gauge("process_max_fds", "Descriptors that this process may have open.").value(limit.rlim_cur);
}

}  // namespace sumac::metrics
