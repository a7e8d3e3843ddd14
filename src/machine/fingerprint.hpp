#pragma once
// One line that tells this kind of machine from another, for files of measurements (`sumac tune`): what was measured on
// one must not steer the other. The kernel is not in it: an update does not make measurements void.
#include <string>

#include "topo/place.hpp"

namespace sumac::machine {

/// "AuthenticAMD AMD EPYC 26 2 1, 1 socket, 1 numa, 2 cores, 2 cpus, l1d 48K, l2 1M, l3 32M". Needs a machine read with
/// all its processors (discover() without `allowed`), or ranks that are bound differently would differ.
std::string fingerprint(const topo::Machine& machine);

/// The same of a given /proc/cpuinfo text, for tests.
std::string fingerprint(const topo::Machine& machine, const std::string& cpuinfo);

}  // namespace sumac::machine
