// The quick reader, which reads lists of cpus from a few files of /sys. It uses the kernel's numbers, so that processes
// that read different cpus of one host still give the same socket the same number.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/fd.hpp"
#include "machine/discover.hpp"

namespace sumac::machine {
namespace {

std::optional<std::string> read_text(const std::string& path) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return std::nullopt;
  std::string text;
  char part[4096];
  for (ssize_t got = 0; (got = ::read(file.get(), part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

/// Parses "0-3,8,10-11" into a mask; returns nothing for any other text.
std::optional<CpuMask> parse_list(std::string_view text) {
  CpuMask mask;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::size_t first = 0, last = 0;
    auto [after, error] = std::from_chars(at, end, first);
    if (error != std::errc()) return std::nullopt;
    last = first;
    if (after < end && *after == '-') {
      const auto range = std::from_chars(after + 1, end, last);
      if (range.ec != std::errc()) return std::nullopt;
      after = range.ptr;
    }
    if (last < first || last >= CpuMask::kCpusMax) return std::nullopt;
    for (std::size_t cpu = first; cpu <= last; ++cpu) mask.set(cpu);
    if (after < end && *after != ',') return std::nullopt;
    at = after + 1;
  }
  return mask;
}

std::optional<CpuMask> read_list(const std::string& path) {
  const auto text = read_text(path);
  return text ? parse_list(*text) : std::nullopt;
}

std::optional<std::int32_t> read_number(const std::string& path) {
  const auto text = read_text(path);
  std::int32_t value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

class Sysfs {
 public:
  explicit Sysfs(const std::string& root) : cpu_root_(root + "/cpu"), node_root_(root + "/node") {}

  Result<topo::Machine> read(const CpuMask& allowed) {
    const auto online = read_list(cpu_root_ + "/online");
    if (!online || online->empty()) return fail(Errc::io, "{}/online: no list of cpus there", cpu_root_);
    topo::Machine machine;
    for (const auto number : online->numbers())
      if (allowed.empty() || allowed.has(static_cast<std::size_t>(number)))
        machine.cpus.push_back({.os_index = number});
    if (machine.cpus.empty())
      return fail(Errc::not_found, "{}/online: none of the cpus we may use is online", cpu_root_);
    read_nodes(machine);
    read_packages(machine);
    read_caches(machine);
    return machine;
  }

 private:
  std::string topology(std::int32_t cpu, std::string_view file) const {
    return fmt::format("{}/cpu{}/topology/{}", cpu_root_, cpu, file);
  }

  /// The file has a new name since Linux 5.3; older kernels know only the other name.
  std::optional<CpuMask> siblings(std::int32_t cpu, std::string_view name, std::string_view old_name) const {
    auto list = read_list(topology(cpu, name));
    return list ? list : read_list(topology(cpu, old_name));
  }

  template <auto Member>
  static void give(topo::Machine& machine, const CpuMask& cpus, std::int32_t number) {
    for (auto& cpu : machine.cpus)
      if (cpus.has(static_cast<std::size_t>(cpu.os_index))) cpu.*Member = number;
  }

  void read_nodes(topo::Machine& machine) const {
    const auto nodes = read_list(node_root_ + "/online");
    if (!nodes) {  // A kernel without NUMA support has one node.
      for (auto& cpu : machine.cpus) cpu.numa = 0;
      return;
    }
    for (const auto node : nodes->numbers())  // A memory-only node has an empty list.
      if (const auto cpus = read_list(fmt::format("{}/node{}/cpulist", node_root_, node)))
        give<&topo::Cpu::numa>(machine, *cpus, node);
  }

  /// Reads the files once per socket and per core, not once per cpu.
  void read_packages(topo::Machine& machine) const {
    for (auto& cpu : machine.cpus) {
      if (cpu.socket == topo::kUnknown) {
        // The number is -1 if the firmware does not report it; then it is unknown to us as well.
        const auto package = read_number(topology(cpu.os_index, "physical_package_id"));
        const auto cpus = siblings(cpu.os_index, "package_cpus_list", "core_siblings_list");
        if (package && *package >= 0) {
          cpu.socket = *package;
          if (cpus) give<&topo::Cpu::socket>(machine, *cpus, *package);
        }
      }
      if (cpu.core == topo::kUnknown) {
        // A core gets the number of its lowest thread, because core_id is unique only within a socket.
        const auto threads = siblings(cpu.os_index, "core_cpus_list", "thread_siblings_list");
        cpu.core = cpu.os_index;
        if (threads && !threads->empty()) give<&topo::Cpu::core>(machine, *threads, threads->numbers().front());
      }
    }
  }

  void read_caches(topo::Machine& machine) const {
    for (int index = 0; index < 8; ++index) {
      const auto folder = fmt::format("{}/cpu{}/cache/index{}", cpu_root_, machine.cpus.front().os_index, index);
      const auto level = read_number(folder + "/level");
      if (!level) return;
      if (read_text(folder + "/type").value_or("") == "Instruction") continue;
      const std::string size = read_text(folder + "/size").value_or("");  // The size reads "48K" or "32M", for example.
      std::uint64_t bytes = 0;
      const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), bytes);
      if (error != std::errc()) continue;
      if (end < size.data() + size.size()) bytes <<= *end == 'M' ? 20 : *end == 'K' ? 10 : 0;
      if (*level == 1) machine.l1d_bytes = bytes;
      if (*level == 2) machine.l2_bytes = bytes;
      if (*level == 3) machine.l3_bytes = bytes;
      if (const auto line = read_number(folder + "/coherency_line_size"); line && *line > 0)
        machine.line_bytes = static_cast<std::uint32_t>(*line);
    }
  }

  std::string cpu_root_, node_root_;
};

}  // namespace

Result<topo::Machine> read_sysfs(const std::string& root, const CpuMask& allowed) { return Sysfs(root).read(allowed); }

}  // namespace sumac::machine
