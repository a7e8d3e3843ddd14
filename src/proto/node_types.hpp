#pragma once
// The input of a node (its limits, its position in the tree, the grants of jobs) and the views of its state.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.hpp"
#include "base/clock.hpp"
#include "base/log2_histogram.hpp"
#include "base/secret.hpp"
#include "proto/link.hpp"
#include "wire/agg.hpp"
#include "wire/quota.hpp"

namespace sumac::proto {

inline constexpr std::uint32_t kChildrenMax = 256;  ///< The most children of one group at one node.

struct NodeLimits {
  std::uint32_t osts = 512;    ///< OSTs for all jobs together; each is granted to one job at a time.
  std::uint32_t groups = 512;  ///< Groups for all jobs together, under the same rule; at most 65535.
  std::uint32_t payload_max = 1024;
  std::uint32_t chunk_max = 64 * 1024;
  std::uint32_t stream_window_max = 16;
  /// Memory that the windows of all groups together may need, and the part of it that streaming windows may take. A
  /// group that finds less gets smaller windows, or no streaming; without room for a single OST it is refused.
  std::size_t window_bytes = static_cast<std::size_t>(-1), stream_bytes = static_cast<std::size_t>(-1);
  /// Groups that may hold the streaming lock at once; large operations of the others go without streaming.
  std::uint32_t streams = 64;
  std::uint32_t links = 4096;  ///< Connections that the shell accepts at once.
  /// The time that members have to leave after their job has ended.
  Duration leave_after_end = Seconds(30);
  Duration resend_after{0};  ///< 0: no timer repeats anything (tcp, ucx). Otherwise unanswered messages are repeated at
                             ///< this interval.
  /// A node asks its parent's kernel so often whether it still takes datagrams of a group, and after a lost answer sooner.
  Duration probe_every = Seconds(2), probe_again = Millis(250);
  Sequence first_sequence{};  ///< First number of a new group; tests start just before the wrap.
};

struct NodeConfig {
  NodeId node_id{};
  TreeId tree_id{};
  bool root = false;  ///< The root of the tree hands out group ids. Other nodes get a parent by set_parent_link().
  NodeLimits limits{};
  Secret node_key{};      ///< This node's own key; the keys between it and each child node are derived from it
                          ///< (wire::make_pair_key).
  std::string address{};  ///< The address at which it listens, as its children know it: proofs cover it.
  std::string name{};     ///< The name for people; it is sent to the parent.
  /// Offers multicast also to groups whose members are all at this node. It rarely pays: the links' copies leave at the
  /// same moment.
  bool multicast_to_one_level = false;
};

/// The most bytes that one number of a window may hold at this payload: one sum (in reproducible mode, one for each
/// block that waits for its sibling), and the result until every child has shown that it has it.
constexpr std::size_t number_bytes(std::uint32_t payload, std::uint32_t sums = 1) noexcept {
  // In reproducible mode the index of its sums counts too: 33 bytes each in at most 4 slots for each number of the
  // window.
  const std::size_t notes = sums > 1 ? std::size_t{sums} * 4 * 33 : 0;
  return (std::size_t{sums} + 1) * BufferPool::footprint(sizeof(wire::AggHeader) + payload) + notes;
}
/// Returns the largest number of partial sums that a node with `members` below it can hold at once in reproducible
/// mode. Two siblings that are both present become one sum, so it never exceeds half of the group's ranks.
constexpr std::uint32_t sums_max(std::uint32_t members, std::uint32_t group_size) noexcept {
  const std::uint32_t half = group_size / 2 + group_size % 2;
  return members < half ? members : half;
}
/// Returns the bytes of the tables, without the messages: groups with their numbers, and the groups that each of
/// `links` connections may be a child of.
std::size_t table_bytes(const NodeLimits& limits, std::size_t links) noexcept;

/// The manager's grant to a job on this tree.
struct JobGrant {
  JobId job_id{};
  wire::Quota quota{};
  std::uint32_t uid = 0;            ///< The user who owns the job.
  std::uint32_t links_percent = 0;  ///< The share of NodeLimits::links that ranks of all jobs of this user may use; 0:
                                    ///< no limit.
  Secret job_key{};                 ///< Members prove that they know it.
  /// Ids of its groups have these numbers, and those of no other job do, so that each node knows by itself to which job
  /// an id may belong. Empty: not stated.
  std::vector<wire::NumberRange> numbers{};
  bool may_be_its(std::uint32_t number) const noexcept {
    return numbers.empty() || std::ranges::any_of(numbers, [&](const auto& range) { return range.has(number); });
  }
  /// Child nodes below which ranks of the job run, and whether some connect to this node: other peers cannot open or
  /// join its groups here. Not set: every peer with a key may.
  struct Below {
    std::vector<NodeId> nodes{};
    bool ranks = false;
    friend bool operator==(const Below&, const Below&) = default;
  };
  std::optional<Below> below{};
  bool may_speak(wire::Role role, std::uint32_t peer) const noexcept {
    if (!below) return true;
    return role == wire::Role::client
               ? below->ranks
               : std::find(below->nodes.begin(), below->nodes.end(), NodeId{peer}) != below->nodes.end();
  }
  friend bool operator==(const JobGrant&, const JobGrant&) = default;
};

struct NodeStats {
  std::uint64_t messages_in = 0, bytes_in = 0;    ///< Data messages that came: contributions and results.
  std::uint64_t messages_out = 0, bytes_out = 0;  ///< Data messages that went.
  std::uint64_t answered = 0;                     ///< Numbers of which this node was the group's root.
  std::uint64_t operations = 0;                   ///< Those of them that were last fragments, as in GroupView.
  std::uint64_t streaming_operations = 0;
  std::uint64_t late_copies = 0;  ///< Ignored messages: repeated, or of a group that has left.
  std::uint64_t resends = 0;      ///< Messages repeated by timer, and kept results sent again.
  std::uint64_t offences = 0;     ///< Links dropped because their peer broke a rule.
  std::uint64_t verdicts = 0;     ///< Verdicts that this node gave as a group's root.
  std::uint64_t groups_formed = 0, groups_refused = 0, groups_left = 0;
  std::uint64_t streams_held = 0,
                streams_denied = 0;                   ///< Groups with the streaming lock now; locks denied here so far.
  std::uint64_t multicasts = 0, multicast_bytes = 0;  ///< Results that also went to a multicast address.
  std::uint64_t window_bytes = 0;                     ///< Memory reserved now for the windows of all groups.
  std::uint64_t buffer_copies = 0;  ///< Accumulators whose frame had another holder: 0 in the product.
  /// The times of numbers, from the first contribution here: until the last child's contribution, and until the result
  /// leaves for the children. Both are differences of the times that the caller passes.
  Log2Histogram slowest_child, operation;
};

/// Adds up what all jobs of a node hold.
struct NodeUsage {
  std::uint32_t jobs = 0, groups = 0;
  std::uint32_t osts_granted = 0, osts_in_use = 0;  ///< Granted to jobs; reserved by their groups.
};

/// A view for people and tests.
struct ChildView {
  LinkId link{};
  wire::Role role = wire::Role::client;
  std::uint32_t peer = 0;  ///< World rank of a client, node id of a node.
  std::string name{};      ///< Name of its host, or of the node itself; empty: the peer sent none.
  std::uint32_t lowest_rank = 0, members = 0;
  std::uint64_t messages = 0, bytes = 0;  ///< Contributions that came from this child.
  std::uint64_t came_last = 0;            ///< Numbers whose last missing contribution was this child's.
  Duration kept_waiting{0};               ///< Time from the first contribution to such a number until this child's.
  bool closed = false, left = false;
  bool missing = false;  ///< It has not contributed to the group's oldest number without a result.
};
/// Returns the text of Node::who().
std::string who(wire::Role role, std::uint32_t peer, std::string_view name);
struct GroupView {
  enum class Phase : std::uint8_t { collecting_joins, awaiting_joined, standing, condemned, refusing, passing_leave };
  GroupId group_id{};
  JobId job_id{};
  Phase phase = Phase::collecting_joins;
  bool root = false;  ///< This node is the group's root.
  std::uint32_t group_size = 0, expected = 0, members = 0, osts = 0, stream_window = 0;
  Sequence first_unanswered{};
  Time missing_since = kNever;             ///< The first contribution to the number that children are missing in.
  std::uint64_t answered = 0;              ///< Numbers that this node answered as the group's root.
  std::uint64_t operations = 0;            ///< Those of them that were last fragments, which counts whole operations;
                                           ///< Leave is not counted.
  std::uint64_t streaming_operations = 0;  ///< The streaming operations among `operations`.
  std::vector<ChildView> children;
};
struct JobView {
  JobGrant grant{};
  bool revoked = false;
  std::uint32_t osts_free = 0, groups_used = 0;
  std::uint64_t operations = 0, streaming_operations = 0;  ///< Sum over the job's groups so far, also those that left.
};

/// The end of a link, for people.
struct LinkEnd {
  std::string name{};   ///< The peer's name; empty: use the name that it sent.
  std::string where{};  ///< The peer's address or host.
  Millis silence{0};    ///< The peer's silence before the link was given up; 0: the connection ended.
};

}  // namespace sumac::proto
