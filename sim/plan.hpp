#pragma once
// What happens in one seed: the tree, who sits where, which groups are made of whom, what they compute, and what goes
// wrong. Everything follows from the seed, so a failing one can be run again anywhere.
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "base/types.hpp"
#include "proto/client_link.hpp"
#include "proto/node.hpp"
#include "wire/agg.hpp"

namespace sumac::sim {

enum class Scenario : std::uint8_t {
  clean,          ///< Only the network misbehaves.
  disagree,       ///< One or more members post something else than the others.
  lost_joining,   ///< A member's connection closes while its group forms.
  lost_standing,  ///< The same in mid-operation.
  hasty_leave,    ///< A member closes its connection without waiting for the answer to its Leave.
  bad_join,       ///< A member tells another group size.
  few_groups,     ///< The job has fewer group ids than are wanted at once.
  few_osts,       ///< The job has OSTs for fewer groups than are wanted at once.
  revoked,        ///< The job ends in the middle.
  stranger,       ///< A client that is no member contributes to a group.
  false_parent,   ///< A client says Result.
  false_join,     ///< A client joins as somebody else.
  far_number,     ///< A member contributes a number far beyond its window.
  garbage,        ///< A client sends bytes that are no message.
  lost_link,      ///< A node loses its parent and finds it again later.
  count
};
const char* to_string(Scenario scenario) noexcept;

struct OpPlan {
  wire::Coll coll = wire::Coll::barrier;
  Op op = Op::null;
  Dtype dtype = Dtype::null;
  Dtype tag = Dtype::null;
  std::uint64_t count = 0;  ///< Elements; reduce_scatter, allgather: of one member.
  std::uint32_t root = 0;   ///< reduce, bcast: group rank, modulo the group's size.
  bool streaming = false;
  bool reproducible = false;  ///< Of floats whose sum or product shows in its last bits who was added to whom.
};

struct SessionPlan {                   ///< One group, from Open to Leave.
  std::vector<std::uint32_t> members;  ///< World ranks; group rank = index.
  std::vector<OpPlan> ops;
};

struct Faults {
  double loss = 0, duplicate = 0, reorder = 0;
  double late_copy = 0;  ///< A copy that comes when its group may be long gone.
  double ghost = 0;      ///< A message of an older epoch, with other data.
  Duration delay_max{0};
  /// Of multicasts; they also come late, twice and out of order, and none of it is made good.
  double datagram_loss = 0;
};

struct Plan {
  std::uint64_t seed = 0;
  Scenario scenario = Scenario::clean;
  std::vector<std::uint32_t> parent;  ///< [node]: index of its parent; 0 is the root, its own parent.
  std::vector<std::uint32_t> leaf;    ///< [world rank]: node.
  std::uint32_t depth = 1;
  proto::JobGrant grant{};
  proto::NodeLimits limits{};
  Faults faults{};
  std::vector<std::vector<SessionPlan>> tracks;  ///< Tracks run beside each other, the sessions of one in turn.
  bool multicast = false;                        ///< The tree's nodes offer it, and most members listen.
  bool eager = false;  ///< A track's next session begins while some members of the former still leave.
  // The special session, where the scenario has one.
  std::uint32_t victim_session = 0;  ///< In track 0.
  std::uint32_t victim = 0;          ///< Group rank.
  std::uint32_t victim_op = 0;
  bool more_victims = false;  ///< Every third rank differs as well.

  proto::ClientLinkConfig link_config(std::uint32_t world_rank, std::uint32_t tree_id) const {
    proto::ClientLinkConfig config{.job_id = grant.job_id, .world_rank = world_rank, .tree_id = tree_id};
    config.message_max = grant.chunk;
    config.resend_after = limits.resend_after;
    return config;
  }
  std::uint32_t operations() const;
  std::string describe() const;
};

inline constexpr std::uint32_t kOperationsMin = 200;  ///< Of a seed; fewer come to an end where groups are refused.

Plan make_plan(std::uint64_t seed);
/// An operation that differs from `op` in something that all members must agree on.
OpPlan another(const OpPlan& op, Random& random, const Plan& plan);

}  // namespace sumac::sim
