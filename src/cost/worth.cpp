// Between hosts delay decides, and the unit is a message from one far host to another. Making a team takes 12 of them,
// one behind the other: two exchanges among all, the tree's group, and its members' joining. A collective of the MPI
// takes the rounds of doubling, by the tree it takes as long as one. What the making took is not measured: ranks that
// decide by a time would have to agree on it, which costs another exchange.
#include "cost/worth.h"

#include <algorithm>

#include "coll/cut.hpp"
#include "cost/method.hpp"

namespace {
constexpr std::uint32_t kTripsOfMaking = 12;
}

std::uint32_t sumac_cost_calls_that_pay(std::uint32_t hosts) {
  const std::uint32_t gained = std::max(2u, sumac::cost::rounds(hosts)) - 1;
  return static_cast<std::uint32_t>(sumac::coll::divide_up(kTripsOfMaking, gained));
}
