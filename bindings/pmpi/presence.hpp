#pragma once
// Whether every rank of MPI_COMM_WORLD has this library, and the same (docs/adr/0057).
#include <cstdint>
#include <string>

namespace sumac::pmpi {

/// What a rank brings into the agreement. Everything but `usable` must be the same at all ranks.
struct Presence {
  std::uint64_t version = 0;   ///< Of this library.
  std::uint64_t settings = 0;  ///< A hash of all settings that ranks must share.
  bool usable = true;          ///< False if this rank can't serve: its settings are wrong.
};

/// Collective over MPI_COMM_WORLD. Returns "" if all ranks have the same and can serve, otherwise the reason, the same
/// at all ranks. If a rank does not have the library, it never answers: then the job ends, with one line that names the
/// rank and its host.
std::string agree_on_presence(const Presence& mine);

}  // namespace sumac::pmpi
