#include "machine/discover.hpp"

#include <cstdlib>

namespace sumac::machine {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

bool environment_describes_a_machine() {
  return is_set("HWLOC_SYNTHETIC") || is_set("HWLOC_XMLFILE") || is_set("HWLOC_FSROOT");
}

Result<topo::Machine> discover(Reader reader, const CpuMask& allowed) {
  if (reader == Reader::hwloc || (reader == Reader::automatic && environment_describes_a_machine()))
    return read_hwloc();
  return read_sysfs("/sys/devices/system", allowed);
}

topo::Place own_place(const topo::Machine& machine, std::int32_t host, std::uint32_t local_rank) {
  if (machine.is_described) return topo::place_by_turn(machine, local_rank, host);
  return topo::place_on(machine, own_affinity().numbers(), host);
}

}  // namespace sumac::machine
