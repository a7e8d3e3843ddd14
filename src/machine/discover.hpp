#pragma once
// The host's processors as topo::Machine. A job of 10,000 ranks does this in every MPI_Init, so the usual way reads a
// few files of /sys for the processors that this process may run on, and nothing else; hwloc, which looks at everything,
// is asked only where the machine is described (HWLOC_SYNTHETIC, HWLOC_XMLFILE) or where a caller wants it.
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "machine/cpu_share.hpp"
#include "topo/place.hpp"

namespace sumac::machine {

enum class Reader : std::uint8_t {
  automatic,  ///< hwloc if the environment describes a machine, else /sys.
  sysfs,      ///< /sys/devices/system: processors of `allowed` only.
  hwloc,      ///< Everything that hwloc finds, disallowed processors too.
};

/// The machine. `allowed` restricts the sysfs reader to these cpus (kernel numbers; empty: all that are online). Errors
/// name the file, or what hwloc refused of a description.
Result<topo::Machine> discover(Reader reader = Reader::automatic, const CpuMask& allowed = {});

/// True if the environment has a machine of its own making (HWLOC_SYNTHETIC, HWLOC_XMLFILE, HWLOC_FSROOT): what is wrong then is
/// somebody's mistake, and no property of this one.
bool environment_describes_a_machine();

/// The same from another root than "/sys/devices/system": tests give a copy of somebody's.
Result<topo::Machine> read_sysfs(const std::string& root, const CpuMask& allowed);
/// By hwloc, with the environment's HWLOC_* variables.
Result<topo::Machine> read_hwloc();

/// This process's own place: from its affinity mask; by turn of `local_rank` where the machine is only described.
topo::Place own_place(const topo::Machine& machine, std::int32_t host, std::uint32_t local_rank);

}  // namespace sumac::machine
