#include "topo/place.hpp"

#include <algorithm>
#include <set>

namespace sumac::topo {
namespace {

template <auto Member>
std::uint32_t distinct(const std::vector<Cpu>& cpus) {
  std::set<std::int32_t> seen;
  for (const auto& cpu : cpus)
    if (cpu.*Member != kUnknown) seen.insert(cpu.*Member);
  return static_cast<std::uint32_t>(seen.size());
}

}  // namespace

std::uint32_t Machine::socket_count() const { return distinct<&Cpu::socket>(cpus); }
std::uint32_t Machine::numa_count() const { return distinct<&Cpu::numa>(cpus); }
std::uint32_t Machine::core_count() const { return distinct<&Cpu::core>(cpus); }

Place place_on(const Machine& machine, std::span<const std::int32_t> allowed, std::int32_t host) {
  Place place{.host = host};
  bool is_first = true;
  for (const auto os_index : allowed) {
    const auto found = std::find_if(machine.cpus.begin(), machine.cpus.end(),
                                    [&](const Cpu& cpu) { return cpu.os_index == os_index; });
    if (found == machine.cpus.end()) return {.host = host};
    if (is_first) {
      place = {host, found->socket, found->numa, found->core};
      is_first = false;
      continue;
    }
    if (place.socket != found->socket) place.socket = kUnknown;
    if (place.numa != found->numa) place.numa = kUnknown;
    if (place.core != found->core) place.core = kUnknown;
  }
  return place;
}

Place place_by_turn(const Machine& machine, std::uint32_t local_rank, std::int32_t host) {
  // Takes one processor of each core, socket after socket, as `--map-by core` does on the described machine.
  std::vector<const Cpu*> cores;
  std::set<std::int32_t> seen;
  for (const auto& cpu : machine.cpus)
    if (cpu.core != kUnknown && seen.insert(cpu.core).second) cores.push_back(&cpu);
  if (cores.empty()) return {.host = host};
  std::sort(cores.begin(), cores.end(), [](const Cpu* a, const Cpu* b) {
    return a->socket != b->socket ? a->socket < b->socket : a->core < b->core;
  });
  const Cpu& cpu = *cores[local_rank % cores.size()];
  return {host, cpu.socket, cpu.numa, cpu.core};
}

}  // namespace sumac::topo
