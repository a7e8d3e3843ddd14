#pragma once
// Describes the host's processors as a topo::Machine. A job of 10,000 ranks does this in every MPI_Init, so the usual
// reader reads a few files of /sys, and only for the processors that this process may run on. hwloc examines
// everything; it is used only if the machine is described (HWLOC_SYNTHETIC, HWLOC_XMLFILE) or if the caller asks for
// it.
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "machine/cpu_share.hpp"
#include "topo/place.hpp"

namespace sumac::machine {

enum class Reader : std::uint8_t {
  automatic,  ///< Uses hwloc if the environment describes a machine, otherwise /sys.
  sysfs,      ///< Reads /sys/devices/system, for the processors of `allowed` only.
  hwloc,      ///< Reads everything that hwloc finds, including forbidden processors.
};

/// Returns the machine. `allowed` restricts the sysfs reader to these cpus (kernel numbers; an empty mask means all
/// online ones). Errors name the file, or the description that hwloc refused.
Result<topo::Machine> discover(Reader reader = Reader::automatic, const CpuMask& allowed = {});

/// True if the environment describes an artificial machine (HWLOC_SYNTHETIC, HWLOC_XMLFILE, HWLOC_FSROOT). A failure
/// then is an error in that description, not a property of this machine.
bool environment_describes_a_machine();

/// The same, read below another root than "/sys/devices/system"; tests pass a copy of some machine's files.
Result<topo::Machine> read_sysfs(const std::string& root, const CpuMask& allowed);
/// Reads the machine with hwloc, which uses the environment's HWLOC_* variables.
Result<topo::Machine> read_hwloc();

/// Returns the socket and NUMA position of this process: from its affinity mask, or, if the machine is only described,
/// by dealing out the processors in the order of `local_rank`.
topo::Place own_place(const topo::Machine& machine, std::int32_t host, std::uint32_t local_rank);

}  // namespace sumac::machine
