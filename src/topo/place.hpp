#pragma once
// The position of a rank on its host, and the host's machine. Numbers are unique on one host and compared for equality
// only (those of sockets and NUMA nodes need not begin at 0). -1: unknown, since a process that is bound to nothing may
// be anywhere a moment later.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sumac::topo {

inline constexpr int kUnknown = -1;

/// One rank's place. `host` is one node in the MPI's terms; ranks of an unknown host share memory with no other rank.
struct Place {
  std::int32_t host = kUnknown;
  std::int32_t socket = kUnknown;
  std::int32_t numa = kUnknown;
  std::int32_t core = kUnknown;

  bool operator==(const Place&) const = default;
};

/// One logical processor of a host.
struct Cpu {
  std::int32_t os_index = kUnknown;  ///< The number that the kernel's affinity masks use.
  std::int32_t socket = kUnknown;
  std::int32_t numa = kUnknown;
  std::int32_t core = kUnknown;  ///< Unique in the host; hardware threads of one core share it.

  bool operator==(const Cpu&) const = default;
};

/// One host's processors, as a reader outside this folder found them; cache sizes are those that one core sees (0:
/// unknown).
struct Machine {
  std::vector<Cpu> cpus;  ///< The online processors, by rising os_index.
  std::uint64_t l1d_bytes = 0;
  std::uint64_t l2_bytes = 0;
  std::uint64_t l3_bytes = 0;
  std::uint32_t line_bytes = 64;
  bool is_described =
      false;  ///< The machine comes from a description (synthetic, XML): this process cannot be bound to its
              ///< processors.

  /// These count distinct values; cpus of an unknown socket (NUMA node, core) do not count.
  std::uint32_t socket_count() const;
  std::uint32_t numa_count() const;
  std::uint32_t core_count() const;
};

/// Returns the place of a process that may run on these cpus (kernel numbers): the values that they have in common, -1
/// where they differ or where one of them is not in the machine. A core is known only if all of them are threads of it.
Place place_on(const Machine& machine, std::span<const std::int32_t> allowed, std::int32_t host);

/// Returns the place of the n-th process of a host on a machine that is only described: core after core, beginning
/// again after the last one. It gives tests the sockets and NUMA nodes that their machine lacks.
Place place_by_turn(const Machine& machine, std::uint32_t local_rank, std::int32_t host);

}  // namespace sumac::topo
