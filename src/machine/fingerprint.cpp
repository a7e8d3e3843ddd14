#include "machine/fingerprint.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <string_view>

#include "base/fd.hpp"

namespace sumac::machine {
namespace {

/// Returns the value of the first line `key : value`, or an empty text if there is none.
std::string_view value_of(std::string_view cpuinfo, std::string_view key) {
  for (std::size_t at = 0; at < cpuinfo.size();) {
    auto end = cpuinfo.find('\n', at);
    if (end == std::string_view::npos) end = cpuinfo.size();
    const auto line = cpuinfo.substr(at, end - at);
    at = end + 1;
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto name = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    if (colon == 0 || name != key) continue;
    const auto first = line.find_first_not_of(" \t", colon + 1);
    return first == std::string_view::npos ? std::string_view{} : line.substr(first);
  }
  return {};
}

/// The first processor's block is enough; printing all of them takes milliseconds on a machine with 200 processors.
std::string read_cpuinfo() {
  std::string text(4096, '\0');
  const UniqueFd file{::open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC)};
  const auto got = file ? ::read(file.get(), text.data(), text.size()) : 0;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::string size_text(std::uint64_t bytes) {
  if (bytes == 0) return "?";
  if (bytes % (1U << 20) == 0) return fmt::format("{}M", bytes >> 20);
  return fmt::format("{}K", bytes >> 10);
}

std::string counted(std::uint32_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

}  // namespace

std::string fingerprint(const topo::Machine& machine, const std::string& cpuinfo) {
  std::string text;
  // x86 has the first five keys, ARM the last three.
  for (const std::string_view key :
       {"vendor_id", "model name", "cpu family", "model", "stepping", "CPU implementer", "CPU part", "CPU revision"})
    if (const auto value = value_of(cpuinfo, key); !value.empty())
      text += fmt::format("{}{}", text.empty() ? "" : " ", value);
  if (text.empty()) text = "unknown cpu";
  return fmt::format("{}, {}, {} numa, {}, {}, l1d {}, l2 {}, l3 {}", text, counted(machine.socket_count(), "socket"),
                     machine.numa_count(), counted(machine.core_count(), "core"),
                     counted(static_cast<std::uint32_t>(machine.cpus.size()), "cpu"), size_text(machine.l1d_bytes),
                     size_text(machine.l2_bytes), size_text(machine.l3_bytes));
}

std::string fingerprint(const topo::Machine& machine) { return fingerprint(machine, read_cpuinfo()); }

}  // namespace sumac::machine
