#pragma once
// One line that distinguishes kinds of machines, for files of measurements (`sumac tune`): the measurements of one kind
// must not steer another. The kernel version is not part of it, because an update does not invalidate measurements.
#include <string>

#include "topo/place.hpp"

namespace sumac::machine {

/// Returns "AuthenticAMD AMD EPYC 26 2 1, 1 socket, 1 numa, 2 cores, 2 cpus, l1d 48K, l2 1M, l3 32M". The machine must
/// have been read with all its processors (discover() without `allowed`); otherwise ranks with different bindings would
/// get different lines.
std::string fingerprint(const topo::Machine& machine);

/// The same for a given text of /proc/cpuinfo, for tests.
std::string fingerprint(const topo::Machine& machine, const std::string& cpuinfo);

}  // namespace sumac::machine
