#pragma once
// A team of the program, and its requests. It has the team of src/team and messages among its ranks (rank/peers.hpp).
#include <deque>
#include <memory>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
#include <sumac/team.h>
#pragma GCC visibility pop

#include "base/clock.hpp"
#include "base/result.hpp"
#include "rank/guarded.hpp"
#include "rank/peers.hpp"
#include "team/team.h"

/// One operation: of src/team, or a message.
struct sumac_team_request {
  sumac_open_team* team = nullptr;
  sumac_fold_t fold{};
  sumac_call_t call{};
  sumac_op_t* op = nullptr;  ///< Null and no message: it is done.
  std::shared_ptr<sumac::p2p::Message> message;
  int* from = nullptr;  ///< Gets the sender.
  sumac::Time until = sumac::Time::max(), looked{};
};

struct sumac_open_team {
  ~sumac_open_team();

  int rank = 0, size = 1;
  std::string name;
  sumac::Duration limit = sumac::Duration::max();
  unsigned long mark = 0;                     ///< It marks the process that made the team.
  std::shared_ptr<sumac::rank::Peers> peers;  ///< Null: a team of one, like `team`.
  sumac_team_t* team = nullptr;
  std::string why;

  /// Fails with a reason for people.
  int fail(int status, std::string reason);
  int fail(const sumac::Error& error);
  /// Why `team` is broken.
  int broken();
  bool is_usable();
  /// Runs the call that `request` has, or posts it.
  int run(sumac_team_request& request, sumac_team_request_t** request_p);
  int send_or_receive(sumac_team_request& request, sumac_team_request_t** request_p);
  /// Moves all, and returns SUMAC_IN_PROGRESS or the outcome.
  int test(sumac_team_request& request);
  int wait(sumac_team_request& request);
  sumac_team_request* take();
  void give_back(sumac_team_request& request);

  /// Called by src/team while a blocking call waits there.
  static void look(void* self);

 private:
  int after_message(sumac_team_request& request);
  int look_at(sumac_team_request& request);
  /// Breaks the team, since the others are late.
  void give_up();
  sumac::Time deadline() const;
  void move();

  sumac::Time until_ = sumac::Time::max();  ///< The end of the blocking call under way.
  std::deque<sumac_team_request> requests_;
  std::vector<sumac_team_request*> spare_;
};

namespace sumac::c {

/// Collective. The ranks meet by the program's allgather.
Result<std::unique_ptr<sumac_open_team>> open(const sumac_team_params& params);

int status_of(Errc code) noexcept;

template <class Use>
int guarded(Use use) noexcept {
  return rank::guarded<int>(use, SUMAC_ERR_NO_MEMORY, SUMAC_ERR_BROKEN);
}

}  // namespace sumac::c
