// Collects the resources that the machine itself provides.
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "machine/cma.hpp"
#include "machine/cpu_share.hpp"
#include "machine/dev_shm.hpp"
#include "tools/doctor/collect.hpp"

namespace sumac::tools::doctor {
namespace {

/// Reads a child's word, as one rank would read another's, because settings alone do not show whether it works.
SingleCopy single_copy() {
  static constexpr std::uint64_t kWord = 0x53756d6163202121;
  SingleCopy result;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> result.yama;
  static std::uint64_t word = 0;
  int gate[2], hold[2];
  if (::pipe(gate) != 0 || ::pipe(hold) != 0) {
    result.why = "no pipe for the trial";
    return result;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    word = kWord;
    machine::allow_cma();
    char go = 1;
    ::close(gate[0]), ::close(hold[1]);
    (void)!::write(gate[1], &go, 1);
    (void)!::read(hold[0], &go, 1);  // It ends when the parent closes its end.
    ::_exit(0);
  }
  ::close(gate[1]), ::close(hold[0]);
  char go = 0;
  const bool ready = child > 0 && ::read(gate[0], &go, 1) == 1;
  const auto answer = ready ? machine::probe_cma(child, &word, kWord) : machine::Cma::gone;
  ::close(gate[0]), ::close(hold[1]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  result.works = answer == machine::Cma::works;
  if (!result.works) result.why = machine::why(answer);
  return result;
}

OpenFiles open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto number = [](rlim_t value) { return value == RLIM_INFINITY ? -1 : static_cast<std::int64_t>(value); };
  return {number(limit.rlim_cur), number(limit.rlim_max)};
}

/// A container's own memory file system can be small, however much memory the machine has.
SharedMemory shared_memory() {
  const auto bytes = machine::free_bytes();
  if (!bytes) return {bytes.error().context, 0};
  return {"", static_cast<std::int64_t>(*bytes)};
}

Memory memory() {
  struct sysinfo info {};
  ::sysinfo(&info);
  Memory result{.total_bytes = static_cast<std::int64_t>(info.totalram) * info.mem_unit};
  if (const auto limit = machine::read_memory_limit();
      limit && limit->bytes < static_cast<std::uint64_t>(result.total_bytes)) {
    result.limit_bytes = static_cast<std::int64_t>(limit->bytes);
    result.used_bytes = static_cast<std::int64_t>(limit->used_bytes);
  }
  return result;
}

Clock clock_facts() {
  Clock result;
  std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> result.source;
  timex now{};
  result.synchronised = ::adjtimex(&now) != TIME_ERROR;
  return result;
}

}  // namespace

void collect_machine(Facts& facts) {
  const auto share = machine::own_cpu_share();
  facts.processors = {.online = ::sysconf(_SC_NPROCESSORS_ONLN),
                      .allowed = share.allowed.count(),
                      .quota = share.quota_cpus == machine::kNoQuota ? 0 : share.quota_cpus};
  facts.memory = memory();
  facts.open_files = open_files();
  facts.shared_memory = shared_memory();
  facts.single_copy = single_copy();
  facts.clock = clock_facts();
}

void collect_settings(Facts& facts) {
  for (const std::string name : kSettingNames) {
    std::string path = "/proc/sys/" + name;
    for (auto& c : path)
      if (c == '.') c = '/';
    std::ifstream file(path);
    std::string value;
    for (std::string each; file >> each;) value += (value.empty() ? "" : " ") + each;
    if (!value.empty()) facts.settings.push_back({name, value});
  }
}

}  // namespace sumac::tools::doctor
