#pragma once
// A team: ranks of a context, and the team of src/team that runs their collectives.
//
// Making one blocks in src/team and src/p2p, and the interface must not. So a thread of its own makes it, and ends with that;
// the program's thread calls the program's functions for it (oob.hpp). Another one ends a team over several hosts.
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "bindings/ucc/context.hpp"
#include "bindings/ucc/oob.hpp"
#include "bindings/ucc/request.hpp"
#include "rank/members.hpp"
#include "rank/message_exchange.hpp"
#include "team/team.h"

struct ucc_team {
  enum class State : std::uint8_t { making, active, outside, failed, ending, aside };

  /// Describes how its ranks meet.
  struct Making {
    std::unique_ptr<sumac::ucc::OobExchange> oob;  ///< They know each other by the program's allgather,
    std::uint64_t ep = 0;                          ///< in which each gives its rank;
    std::shared_ptr<ucc_team> parent;              ///< or are those of a team's ranks that want to;
    bool is_included = true;
    std::uint32_t name = 0, attempt = 0;  ///< or each knows `ranks`.
    bool has_list_alone = false;          ///< Ranks that differ on `ranks` never meet.
  };

  explicit ucc_team(std::shared_ptr<ucc_context> of) : context(std::move(of)) { context->team_count.fetch_add(1); }
  ~ucc_team();

  std::shared_ptr<ucc_context> context;
  std::atomic<State> state{State::making};
  int rank = 0, size = 1;
  std::vector<int> ranks{0};                  ///< The ranks that the team's have among the peers.
  std::shared_ptr<sumac::rank::Peers> peers;  ///< The context's, or its own where that has none. Null: a team of one.
  sumac::rank::Members members;               ///< The ways between hosts refer to it.
  std::uint32_t number = 0;                   ///< Tells the messages of teams apart.
  std::uint32_t splits = 0;                   ///< Teams that were made of it.
  sumac_team_t* team = nullptr;               ///< Null: a team of one.
  sumac::ucc::Requests requests{context->has_threads};
  sumac::ucc::LastPlan last_plan;  ///< It is used if one thread alone uses the team.

  std::unique_ptr<Making> making;
  std::thread thread;  ///< That makes it or ends it.
  std::atomic<bool> thread_is_done{false};
  std::optional<sumac::Error> failure;  ///< Written by the thread before it is done.

  /// Runs `body` in a thread of its own, in which no signal of the program is handled.
  sumac::Result<> start(void (ucc_team::*body)());
  void make();
  void end();
  /// Gives up all that it holds. Its handle stays readable for a while, so that a later use is refused.
  void close();
  void progress();
  const char* error() const noexcept { return team == nullptr ? "" : sumac_team_error(team); }

 private:
  sumac::Result<> meet();
  sumac::Result<> meet_by_oob(sumac::ucc::OobExchange& oob);
  sumac::Result<> meet_in_parent(ucc_team& parent);
  sumac::Result<> create(sumac::rank::Exchange& exchange);

  bool is_closed_ = false;
};

namespace sumac::ucc {

/// Null, and a line, if there is none.
std::shared_ptr<ucc_team> find(ucc_team_h handle);

}  // namespace sumac::ucc
