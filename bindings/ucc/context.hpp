#pragma once
// A context: this process (or thread) among those of the job, with the messages among them and the teams that progress
// moves. With an OOB its ranks meet when it is made, and teams are made of them later by their messages alone.
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "bindings/ucc/library.hpp"
#include "rank/peers.hpp"
#include "rank/tally.h"

namespace sumac::ucc {

struct Request;

/// Requests that have ended, from any thread; a thread of the program's own takes them.
class Ended {
 public:
  void push(Request& request) noexcept;
  Request* take() noexcept;  ///< The oldest first, linked by `next_ended`.

 private:
  std::atomic<Request*> newest_{nullptr};
};

}  // namespace sumac::ucc

struct ucc_context {
  std::shared_ptr<ucc_lib_info> library;
  ucc_context_type_t type = UCC_CONTEXT_EXCLUSIVE;
  ucc_coll_sync_type_t sync_type = UCC_NO_SYNC_COLLECTIVES;
  bool has_threads = false;
  /// Its teams do nothing, and leave each collective to the caller.
  bool stands_aside = false;
  unsigned long mark = 0;                     ///< It marks the process that made the context.
  std::shared_ptr<sumac::rank::Peers> peers;  ///< Null: it was made without an OOB.
  /// Equal at all ranks of the context, and at no others; the address that ucc_context_get_attr() returns.
  struct Address {
    std::uint64_t job = 0;
    std::int64_t rank = 0;
  } address;

  sumac::ucc::Ended ended;
  std::mutex lock;  ///< Guards the list, and is held by the thread that moves its teams.
  std::vector<ucc_team*> teams;
  /// The lock guards the teams that a thread ends. Some programs (Open MPI 4.1) call ucc_team_destroy() only once for each.
  std::vector<ucc_team*> ending;
  std::atomic<int> team_count{0};
  std::atomic<bool> is_closed{false};
  std::atomic<std::uint32_t> next_number{0};  ///< Larger than that of any team of this process.
  sumac_tally tally{};                        ///< Guarded by the lock.
  std::uint64_t job_id = 0;                   ///< The lock guards the number of the tree's job that a team had.

  /// Returns how often a team of these ranks was begun under this name: the same at all of them.
  std::uint32_t attempt(std::uint64_t team);
  /// Moves everything once, and ends requests.
  void progress();
  /// Ends the threads that have ended a team.
  void join_ended();
  /// Waits for the teams that are being ended.
  void end_teams();

 private:
  std::map<std::uint64_t, std::uint32_t> attempts_;  ///< Guarded by the lock.
};

namespace sumac::ucc {

/// Null, and a line, if there is none, it was destroyed, or this process is a fork's child.
std::shared_ptr<ucc_context> find(ucc_context_h handle);

/// The time limit of SUMAC_TIMEOUT.
Duration time_limit();

}  // namespace sumac::ucc
