#pragma once
// Whether every rank of MPI_COMM_WORLD has this library, and the same (docs/adr/0057).
#include <cstdint>
#include <string>

namespace sumac::pmpi {

/// A rank's part of the agreement. Version and settings must be the same at all ranks.
struct Presence {
  std::uint64_t version = 0;   ///< The version of this library.
  std::uint64_t settings = 0;  ///< A hash of all settings that ranks must share.
  bool usable = true;          ///< False if this rank can't serve: its settings are wrong.
  std::uint64_t job_id = 0;    ///< Rank 0's is the number of the tree's job.
};

/// Collective over MPI_COMM_WORLD. Returns "" if all ranks have the same and can serve, otherwise the reason, the same
/// at all ranks. If a rank does not have the library, it never answers: then the job ends, with one line that names the
/// rank and its host.
/// @param job_id  Set to rank 0's, at all ranks.
std::string agree_on_presence(const Presence& mine, std::uint64_t& job_id);

}  // namespace sumac::pmpi
