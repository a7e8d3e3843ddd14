#pragma once
// The settings of an operator (config.hpp), as the machines of the manager use them.
#include <functional>

#include "base/clock.hpp"
#include "base/secret.hpp"
#include "manager/policy.hpp"
#include "manager/quota.hpp"

namespace sumac::manager {

struct Rules {
  QuotaRules quota;
  UserLimits user;
  /// A node that has not acknowledged a grant by then makes the job's begin fail.
  Duration grant_timeout = Seconds(5);
  Duration lease = Seconds(8), renew_every = Seconds(2);
  std::function<Result<Secret>()> draw_secret = sumac::draw_secret;  ///< Draws the keys of jobs and of nodes.
  /// After this time nodes release whatever an ended job still holds (proto::NodeLimits).
  Duration leave_after_end = Seconds(30);
  /// Nodes are expected within this time after a start; after a restart a begin waits for them.
  Duration settle = Seconds(5);
  /// A node whose stream ended and that is not back by then is down; one that a neighbour has not heard for so long
  /// gets no new jobs.
  Duration node_away = Seconds(3);
  /// A job that outlives its trees may be given trees again so often; 0: never.
  std::uint32_t trees_again_max = 1000;
  /// True if no fabric was described: it then consists of the nodes and hosts that register.
  bool open = false;
};

}  // namespace sumac::manager
