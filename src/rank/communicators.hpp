#pragma once
// One object holds what all communicators of a rank share: a process that is to hold several ranks hands each its own. The job
// (job.cpp), the thread that moves operations (progress.cpp) and the name in lines for users (say.c) are the process's.
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "rank/record.h"

namespace sumac::rank {

/// Why communicators have no team; `more` counts those behind the first.
struct Reason {
  std::string why;
  std::uint64_t more = 0;
};

struct Communicators {
  std::mutex records_lock;  ///< Guards the list of communicators, and what those that are gone have counted.
  sumac_record* living = nullptr;
  sumac_tally gone{};

  /// Guards the error codes and the reasons; one thread at a time adds to what is left to the MPI.
  std::mutex words_lock;
  std::map<std::string, int> codes;
  std::vector<Reason> reasons;
  std::vector<sumac_left_calls_t> left;

  /// A thread looks at limits. Another one, or the same one further down its stack, leaves that to it.
  std::atomic<bool> is_looking{false};
};

/// Never destroyed: a program may end without MPI_Finalize, and ask for an error's text at its very end.
inline Communicators& communicators() {
  static Communicators& own = *new Communicators;
  return own;
}

}  // namespace sumac::rank
