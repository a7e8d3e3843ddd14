// Checks the resources that the machine itself provides.
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "machine/cma.hpp"
#include "machine/cpu_share.hpp"
#include "machine/dev_shm.hpp"
#include "tools/doctor/doctor.hpp"

namespace sumac::tools {
namespace {

Finding processors() {
  const auto share = machine::own_cpu_share();
  const double usable = machine::together({&share, 1});
  const auto allowed = share.allowed.count();
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (usable + 0.01 < static_cast<double>(allowed))
    return {"processors", Health::note, fmt::format("{} visible, but a quota grants {:.1f}", allowed, usable),
            "raise the container's or cgroup's cpu limit; ranks beyond it take turns"};
  if (allowed < static_cast<std::uint32_t>(online))
    return {"processors", Health::note, fmt::format("{} of {} online", allowed, online),
            "the affinity mask (taskset, a batch system) hides the rest"};
  return {"processors", Health::well, fmt::format("{}", allowed), ""};
}

Finding open_files() {
  constexpr rlim_t kEnough = 4096;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {"open files", Health::note, "the limit can't be read", ""};
  if (limit.rlim_cur >= kEnough || limit.rlim_max >= kEnough)
    return {"open files", Health::well, fmt::format("limit {} (at most {})", limit.rlim_cur, limit.rlim_max), ""};
  return {
      "open files", Health::note, fmt::format("limit {}, at most {}", limit.rlim_cur, limit.rlim_max),
      "a node or manager of a large cluster needs one for each neighbour: raise nofile in /etc/security/limits.conf"};
}

Finding shared_memory() {
  const auto bytes = machine::free_bytes();
  constexpr std::uint64_t kEnough = std::uint64_t{64} << 20;
  if (!bytes)
    return {"/dev/shm", Health::note, bytes.error().context,
            "Sumac uses unnamed memory instead; other programs (Open MPI) may need it"};
  const auto text = fmt::format("{} MiB free", *bytes >> 20);
  if (*bytes >= kEnough) return {"/dev/shm", Health::well, text, ""};
  return {"/dev/shm", Health::note, text,
          "Sumac uses unnamed memory first; for Open MPI and as its fallback make it larger (docker: --shm-size 1g)"};
}

/// Reads a child's word, as one rank would read another's, because settings alone do not show whether it works.
Finding single_copy() {
  static constexpr std::uint64_t kWord = 0x53756d6163202121;
  static std::uint64_t word = 0;
  int gate[2];
  if (::pipe(gate) != 0) return {"single copy (CMA)", Health::note, "no pipe for the trial", ""};
  const pid_t child = ::fork();
  if (child == 0) {
    word = kWord;
    machine::allow_cma();
    char go = 1;
    ::close(gate[0]);
    (void)!::write(gate[1], &go, 1);
    ::pause();
    ::_exit(0);
  }
  ::close(gate[1]);
  char go = 0;
  const bool ready = child > 0 && ::read(gate[0], &go, 1) == 1;
  const auto answer = ready ? machine::probe_cma(child, &word, kWord) : machine::Cma::gone;
  ::close(gate[0]);
  if (child > 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  if (answer == machine::Cma::works)
    return {"single copy (CMA)", Health::well, "works between processes of this user", ""};
  return {
      "single copy (CMA)", Health::note, machine::why(answer),
      "large messages inside the host are copied twice; docker: --cap-add SYS_PTRACE, or kernel.yama.ptrace_scope=0"};
}

Finding clock_source() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  if (!(file >> source)) return {"clock", Health::note, "its source can't be read", ""};
  if (source == "hpet" || source == "acpi_pm" || source == "jiffies")
    return {"clock", Health::note, source + ", slow to read",
            "see whether the processor's own counter can be used (clocksource=tsc)"};
  timex now{};
  if (::adjtimex(&now) == TIME_ERROR)
    return {"clock", Health::note, source + ", not synchronised",
            "run chrony or systemd-timesyncd, or log times of hosts will not line up"};
  return {"clock", Health::well, source + ", synchronised", ""};
}

}  // namespace

std::vector<Finding> examine_machine() {
  return {processors(), open_files(), shared_memory(), single_copy(), clock_source()};
}

}  // namespace sumac::tools
