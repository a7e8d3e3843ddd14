#pragma once
// The lanes that have posted operations. The program's threads (progress.cpp) and our own (thread.cpp) move them.
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "bindings/pmpi/communicator.hpp"

namespace sumac::pmpi {

struct Active {
  std::mutex lock;                   ///< Guards all members but `visits`.
  Lane* first = nullptr;             ///< The list.
  unsigned changes = 0;              ///< Counts the times that a lane left the list.
  unsigned posts = 0;                ///< Counts posted operations.
  std::condition_variable left;      ///< The thread has left a team.
  std::atomic<unsigned> visits = 0;  ///< Counts the times that the program's own threads moved the lanes.

  /// Returns the events that the teams of the list wait for (enum sumac_awaits). Called with the lock held.
  unsigned awaits() const {
    unsigned all = 0;
    for (const Lane* lane = first; lane != nullptr; lane = lane->next_active) all |= sumac_team_awaits(lane->team);
    return all;
  }
};

/// Never destroyed: a program may end without MPI_Finalize, with the thread still there.
extern Active& active;

}  // namespace sumac::pmpi
