// Judges the resources that the machine itself provides.
#include <fmt/format.h>

#include "tools/doctor/judge.hpp"

namespace sumac::tools::doctor {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20, kGiB = std::int64_t{1} << 30;

std::string size_text(std::int64_t bytes) {
  return bytes < 10 * kGiB ? fmt::format("{} MiB", bytes / kMiB) : fmt::format("{} GiB", bytes / kGiB);
}

}  // namespace

Finding judge_processors(const Facts& facts) {
  const auto& p = facts.processors;
  if (p.quota > 0 && p.quota + 0.01 < static_cast<double>(p.allowed))
    return {"processors", Health::note,
            fmt::format("{} visible, but the cgroup's quota grants {:.1f}", p.allowed, p.quota),
            "start no more ranks than that, or raise the quota: `docker run --cpus N`, in Kubernetes "
            "`resources.limits.cpu`, in systemd `CPUQuota=`"};
  if (p.allowed < p.online)
    return {"processors", Health::note, fmt::format("{} of {} online", p.allowed, p.online),
            "the affinity mask hides the rest: see `taskset -p $$`, or ask the batch system for more"};
  return {"processors", Health::well, fmt::format("{}", p.allowed), ""};
}

Finding judge_memory(const Facts& facts) {
  constexpr std::int64_t kEnough = 256 * kMiB;
  const auto& m = facts.memory;
  if (m.limit_bytes == 0) return {"memory", Health::well, size_text(m.total_bytes), ""};
  const auto left = std::max<std::int64_t>(m.limit_bytes - m.used_bytes, 0);
  const auto text = fmt::format("the cgroup grants {} of {}, {} of it are free", size_text(m.limit_bytes),
                                size_text(m.total_bytes), size_text(left));
  if (left >= kEnough) return {"memory", Health::well, text, ""};
  return {"memory", Health::note, text,
          "ranks that need more are killed; raise the limit: `docker run --memory 8g`, in Kubernetes "
          "`resources.limits.memory`, in systemd `MemoryMax=`"};
}

Finding judge_open_files(const Facts& facts) {
  constexpr std::int64_t kEnough = 4096;
  const auto& limit = facts.open_files;
  const auto number = [](std::int64_t value) {
    return value < 0 ? std::string("unlimited") : fmt::format("{}", value);
  };
  const auto text = fmt::format("limit {} (at most {})", number(limit.soft), number(limit.hard));
  if (limit.soft < 0 || limit.hard < 0 || limit.hard >= kEnough) return {"open files", Health::well, text, ""};
  return {"open files", Health::note, text,
          "a node or manager of a large cluster needs one for each neighbour: a line `* hard nofile 65536` in "
          "/etc/security/limits.conf"};
}

Finding judge_shared_memory(const Facts& facts) {
  constexpr std::int64_t kEnough = 64 * kMiB;
  const auto& shm = facts.shared_memory;
  if (!shm.error.empty())
    return {"/dev/shm", Health::note, shm.error,
            "Sumac uses unnamed memory instead; Open MPI may need it: `mount -t tmpfs -o mode=1777 tmpfs /dev/shm`"};
  const auto text = fmt::format("{} MiB free", shm.free_bytes / kMiB);
  if (shm.free_bytes >= kEnough) return {"/dev/shm", Health::well, text, ""};
  return {"/dev/shm", Health::note, text,
          "Sumac uses unnamed memory first; Open MPI and others need more: `mount -o remount,size=1g /dev/shm`, for a "
          "container `docker run --shm-size 1g`"};
}

Finding judge_single_copy(const Facts& facts) {
  const auto& copy = facts.single_copy;
  if (copy.works) return {"single copy (CMA)", Health::well, "works between processes of this user", ""};
  if (copy.yama >= 3)
    return {
        "single copy (CMA)", Health::note, "Yama forbids it (kernel.yama.ptrace_scope is 3)",
        "large messages inside the host are copied twice; set kernel.yama.ptrace_scope=1 in /etc/sysctl.d and start "
        "the machine again, since 3 can't be lowered"};
  if (copy.yama == 2)
    return {"single copy (CMA)", Health::note, "Yama forbids it (kernel.yama.ptrace_scope is 2)",
            "large messages inside the host are copied twice; `sysctl -w kernel.yama.ptrace_scope=1`"};
  return {"single copy (CMA)", Health::note, copy.why,
          "large messages inside the host are copied twice; in a container: `docker run --cap-add SYS_PTRACE`"};
}

/// It is off by default, so its lack is no fault.
Finding judge_hop(const Facts& facts) {
  if (facts.hop == "allowed")
    return {"hop", Health::well, "this kernel takes the program of SUMAC_NODE_HOP=auto from this user", ""};
  return {"hop", Health::well, "not from this user: " + facts.hop, ""};
}

Finding judge_clock(const Facts& facts) {
  const auto& clock = facts.clock;
  if (clock.source.empty()) return {"clock", Health::note, "its source can't be read", "see whether /sys is mounted"};
  if (clock.source == "hpet" || clock.source == "acpi_pm" || clock.source == "jiffies")
    return {"clock", Health::note, clock.source + ", slow to read",
            "see in `dmesg` why the processor's own counter (tsc) is not used; the kernel's option clocksource=tsc "
            "asks for "
            "it"};
  if (!clock.synchronised)
    return {"clock", Health::note, clock.source + ", not synchronised",
            "log times of hosts will not line up: `apt-get install chrony`, or `timedatectl set-ntp true`"};
  return {"clock", Health::well, clock.source + ", synchronised", ""};
}

}  // namespace sumac::tools::doctor
