#pragma once
// The course of one seed: the tree, the leaf of each rank, the members of each group, their operations, and the faults.
// Everything follows from the seed, so a failing one can be run again anywhere.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "base/secret.hpp"
#include "base/types.hpp"
#include "proto/client_link.hpp"
#include "proto/node.hpp"
#include "wire/agg.hpp"

namespace sumac::sim {

inline std::uint32_t pick(Random& r, std::uint32_t low, std::uint32_t high) {
  return static_cast<std::uint32_t>(r.between(low, high));
}

enum class Scenario : std::uint8_t {
  clean,          ///< Only the network misbehaves.
  disagree,       ///< One or more members post a different operation than the others.
  lost_joining,   ///< A member's connection closes while its group forms.
  lost_standing,  ///< The same in the middle of an operation.
  hasty_leave,    ///< A member closes its connection without waiting for the answer to its Leave.
  bad_join,       ///< A member states another group size.
  few_groups,     ///< The job has fewer group ids than are wanted at once.
  few_osts,       ///< The job has OSTs for fewer groups than are wanted at once.
  revoked,        ///< The job ends in the middle.
  stranger,       ///< A client that is no member contributes to a group.
  false_parent,   ///< A client sends Result.
  false_join,     ///< A client joins under another rank.
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
  std::uint64_t count = 0;  ///< In elements; reduce_scatter, allgather: of one member.
  std::uint32_t root = 0;   ///< reduce, bcast: group rank, modulo the group's size.
  bool streaming = false;
  bool reproducible = false;  ///< The values are floats whose sum or product shows the order of adding in its last
                              ///< bits.
};

struct SessionPlan {                   ///< One group, from Open to Leave.
  std::vector<std::uint32_t> members;  ///< World ranks; group rank = index.
  std::vector<OpPlan> ops;
};

struct Faults {
  double loss = 0, duplicate = 0, reorder = 0;
  double late_copy = 0;  ///< A copy that comes when its group may be long gone.
  double ghost = 0;      ///< A message of the former group with that number, with other data.
  Duration delay_max{0};
  /// Loss of multicasts and of the datagram way's frames; they also come late, twice and out of order. Nothing repeats multicasts.
  double datagram_loss = 0;
  double frame_copies = 0;  ///< Copies of frames, and a tenth of that comes very late.
};

struct Plan {
  std::uint64_t seed = 0;
  Scenario scenario = Scenario::clean;
  std::vector<std::uint32_t> parent;  ///< [node]: index of its parent; 0 is the root, its own parent.
  std::vector<std::uint32_t> leaf;    ///< [world rank]: its leaf node.
  std::uint32_t depth = 1;
  proto::JobGrant grant{};
  proto::NodeLimits limits{};
  Faults faults{};
  /// Tracks run side by side, the sessions of one track one after the other.
  std::vector<std::vector<SessionPlan>> tracks;
  bool multicast = false;  ///< The tree's nodes offer it, and most members listen.
  /// The hops lose nothing and keep the order, as tcp does, and no timer repeats anything: bcasts are answered early.
  bool ordered = false;
  bool eager = false;  ///< A track's next session begins while some members of the former still leave.
  // The special session, if the scenario has one.
  std::uint32_t victim_session = 0;  ///< Index of the special session in track 0.
  std::uint32_t victim = 0;          ///< Group rank of the special member.
  std::uint32_t victim_op = 0;
  bool more_victims = false;  ///< Every third rank differs as well.

  proto::ClientLinkConfig link_config(WorldRank world_rank, TreeId tree_id) const {
    proto::ClientLinkConfig config{.job_id = grant.job_id, .world_rank = world_rank, .tree_id = tree_id};
    config.message_max = std::max(grant.quota.chunk_bytes, grant.quota.payload_per_ost);
    config.resend_after = limits.resend_after;
    return config;
  }
  std::uint32_t operations() const;
  std::string describe() const;
};

inline constexpr std::uint32_t kOperationsMin = 200;  ///< Operations of a seed; fewer complete when groups are refused.

/// The bytes of the number, as a key.
constexpr Secret key_of_seed(std::uint64_t number) {
  Secret made{};
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::uint8_t>(number >> i % 8 * 8 ^ i);
  return made;
}

Plan make_plan(std::uint64_t seed);
/// Makes any operation that a group of this plan can do.
OpPlan make_op(Random& r, const Plan& plan);
/// Makes an operation that differs from `op` in something that all members must agree on.
OpPlan another(const OpPlan& op, Random& random, const Plan& plan);

}  // namespace sumac::sim
