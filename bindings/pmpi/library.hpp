#pragma once
// The state of this library in its process: whether it serves at all, its settings, and the places of the world's ranks.
#include <cstdint>
#include <vector>

#include "bindings/pmpi/functions.hpp"
#include "rank/start.h"
#include "team/team.h"

namespace sumac::pmpi {

struct Library {
  /// True between MPI_Init and MPI_Finalize if every rank has this library with the same settings. Otherwise each call
  /// is passed on as it came.
  bool on = false;
  bool watches = false;  ///< It is on, and each call is measured (watch.hpp).
  bool plain = false;    ///< It is on, and no call is measured.
  bool direct = false;   ///< `plain`, and no other profiling library stands behind us: the flag of every blocking call.
  bool threads = false;  ///< MPI_THREAD_MULTIPLE.
  int rank = -1, size = 0, local_rank = 0, hosts = 1;
  std::uint64_t job_id = 0;           ///< The number of the tree's job; 0: rank 0 could draw none.
  MPI_Group group{};                  ///< The world's.
  std::vector<sumac_place_t> places;  ///< [size]
  sumac_process process{};

  bool explains() const { return process.options != nullptr && sumac_team_options_explain(process.options) != 0; }
};
extern Library library;

/// Reads the settings and agrees with all ranks on whether the library serves. Collective over MPI_COMM_WORLD.
void begin();
/// Prints the job's last line and gives everything back. Collective over MPI_COMM_WORLD.
void end();

}  // namespace sumac::pmpi
