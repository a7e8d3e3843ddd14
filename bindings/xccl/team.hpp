#pragma once
// A context and its teams. Each is one of libucc, whose public interface does all the work; what XCCL has beside it is an OOB that
// takes a range of ranks, and memory that the others fetch from (memory.cpp).
#include <atomic>
#include <deque>
#include <mutex>
#include <vector>

#include "bindings/xccl/library.hpp"

namespace sumac::xccl {

/// The program's allgather in libucc's form.
struct Oob {
  xccl_oob_collectives_t program{};
  xccl_ep_range_t range{};
  int rank = 0, size = 1;  ///< In the range.

  /// Null, or what the program's structure lacks.
  static const char* flaw(const xccl_oob_collectives_t& oob) noexcept;
  ucc_oob_coll_t as_ucc();
};

}  // namespace sumac::xccl

struct xccl_context {
  sumac::xccl::Oob oob;
  bool has_oob = false, meets = false;  ///< It meets: its ranks know each other.
  ucc_lib_h library = nullptr;
  ucc_context_h context = nullptr;
  std::atomic<bool> is_closed{false};

  std::mutex lock;  ///< Guards the list, and is held while its teams' queues move.
  std::vector<xccl_team_h> teams;

  /// Moves everything once.
  xccl_status_t progress();
};

struct xccl_team {
  std::shared_ptr<xccl_context> context;
  sumac::xccl::Oob oob;
  std::vector<int> ranks;  ///< Those of a range, which the OOB refers to.
  ucc_team_h team = nullptr;
  int rank = 0, size = 1;
  std::atomic<bool> is_active{false};

  std::mutex
      lock;  ///< Guards what follows. A thread that has the context's lock may take it, never the other way round.
  std::vector<xccl_coll_req*> requests;  ///< All that are not finalized.
  std::deque<xccl_coll_req*> waiting;    ///< A fetch in its first step, and the requests that were posted after it.
  std::uint32_t mapped = 0;              ///< Memory that was ever mapped.

  /// Starts what waits, as far as it can, under the lock.
  void step();
};
