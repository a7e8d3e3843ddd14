#pragma once
// What a node is given (its limits, its place in the tree, the grants of jobs) and what it tells of itself.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.hpp"
#include "base/clock.hpp"
#include "base/secret.hpp"
#include "proto/link.hpp"
#include "wire/agg.hpp"

namespace sumac::proto {

inline constexpr std::uint32_t kChildrenMax = 256;  ///< Of one group at one node.

struct NodeLimits {
  std::uint32_t osts = 512;    ///< Granted to all jobs together, never twice.
  std::uint32_t groups = 512;  ///< Same; at most 65535.
  std::uint32_t payload_max = 1024;
  std::uint32_t chunk_max = 64 * 1024;
  std::uint32_t stream_window_max = 16;
  /// Memory that the windows of all groups together may need, and what streaming ones may take of it. A group that finds less gets
  /// smaller windows, or no streaming; without room for a single OST it is refused.
  std::size_t window_bytes = static_cast<std::size_t>(-1), stream_bytes = static_cast<std::size_t>(-1);
  /// Groups that may hold the streaming lock at once; the others' large operations go without.
  std::uint32_t streams = 64;
  std::uint32_t links = 4096;  ///< Connections that the shell takes at once.
  /// Time that members of a job that is over have to leave.
  Duration leave_after_end = Seconds(30);
  Duration resend_after{0};  ///< 0: never repeat by timer (tcp, ucx). Else repeat what is unanswered for so long.
  std::uint32_t first_sequence = 0;  ///< First number of a new group; tests start just before the wrap.
};

struct NodeConfig {
  std::uint32_t node_id = 0;
  std::uint32_t tree_id = 0;
  bool root = false;  ///< Of the tree: it hands out group ids. Others get a parent by set_parent_link().
  NodeLimits limits{};
  Secret node_key{};      ///< This node's own: it makes the keys of itself and each child node (wire::make_pair_key).
  std::string address{};  ///< At which it listens, as children are told: proofs are about it.
  std::string name{};     ///< For people; told to the parent.
  /// Multicast also for groups whose members are all at this node: the links' copies leave in the same moment, so it rarely pays.
  bool multicast_to_one_level = false;
};

/// What each number of a window may hold, of this payload: a sum, or as many as wait for their sibling in reproducible mode, and the
/// result until every child has shown that it has it.
constexpr std::size_t number_bytes(std::uint32_t payload, std::uint32_t sums = 1) noexcept {
  // In reproducible mode also what says where its sums are: 33 bytes each in at most 4 slots for each number of the window.
  const std::size_t notes = sums > 1 ? std::size_t{sums} * 4 * 33 : 0;
  return (std::size_t{sums} + 1) * BufferPool::footprint(sizeof(wire::AggHeader) + payload) + notes;
}
/// Reproducible: most sums of so many members below a node that can't be added to one another yet. Of two siblings that are both there
/// only their sum is left, so of all ranks of the group it is never more than half.
constexpr std::uint32_t sums_max(std::uint32_t members, std::uint32_t group_size) noexcept {
  const std::uint32_t half = group_size / 2 + group_size % 2;
  return members < half ? members : half;
}
/// Of the tables, not of the messages: groups with their numbers, and what `links` connections may be children of.
std::size_t table_bytes(const NodeLimits& limits, std::size_t links) noexcept;

struct NumberRange {
  std::uint32_t first = 0, count = 0;
  friend bool operator==(const NumberRange&, const NumberRange&) = default;
};

/// What the manager gave a job on this tree.
struct JobGrant {
  std::uint64_t job_id = 0;
  std::uint32_t osts = 0;
  std::uint32_t max_groups = 0;
  std::uint32_t payload = 0;        ///< Bytes of one OST.
  std::uint32_t stream_window = 0;  ///< 0: no streaming.
  std::uint32_t chunk = 0;
  std::uint32_t user = 0;           ///< Whose job it is.
  std::uint32_t links_percent = 0;  ///< Of `links`, for the ranks of all jobs of this user; 0: no limit.
  Secret key{};                     ///< Members prove that they know it.
  /// Its groups have ids of these numbers and no other job's have, so that each node knows by itself whose an id can be. Empty: not said.
  std::vector<NumberRange> numbers{};
  bool may_be_its(std::uint32_t number) const noexcept {
    return numbers.empty() || std::any_of(numbers.begin(), numbers.end(), [&](const NumberRange& range) {
             return number >= range.first && number - range.first < range.count;
           });
  }
  /// Child nodes below which ranks of the job sit, and whether some sit at this node: nobody else opens or joins its groups here. None: not
  /// said, everybody with a key may.
  struct Below {
    std::vector<std::uint32_t> nodes{};
    bool ranks = false;
    friend bool operator==(const Below&, const Below&) = default;
  };
  std::optional<Below> below{};
  bool may_speak(wire::Role role, std::uint32_t peer) const noexcept {
    if (!below) return true;
    return role == wire::Role::client ? below->ranks
                                      : std::find(below->nodes.begin(), below->nodes.end(), peer) != below->nodes.end();
  }
  friend bool operator==(const JobGrant&, const JobGrant&) = default;
};

struct NodeStats {
  std::uint64_t messages_in = 0, bytes_in = 0;    ///< Data messages: contributions and results that came.
  std::uint64_t messages_out = 0, bytes_out = 0;  ///< And went.
  std::uint64_t answered = 0;                     ///< Numbers of which this node was the group's root.
  std::uint64_t late_copies = 0;                  ///< Ignored: repeated, of an old epoch, of a group that has left.
  std::uint64_t resends = 0;                      ///< By timer, and kept results given again.
  std::uint64_t offences = 0;                     ///< Links dropped for what they sent.
  std::uint64_t verdicts = 0;                     ///< Given here as a group's root.
  std::uint64_t groups_formed = 0, groups_refused = 0, groups_left = 0;
  std::uint64_t streams_held = 0,
                streams_denied = 0;                   ///< Groups with the streaming lock now; locks denied here so far.
  std::uint64_t multicasts = 0, multicast_bytes = 0;  ///< Results that also went to a multicast address.
  std::uint64_t window_bytes = 0;                     ///< Memory that the windows of all groups may need now: reserved.
  std::uint64_t buffer_copies = 0;  ///< Accumulators whose frame somebody else held as well: 0 in the product.
};

/// For people and tests.
struct ChildView {
  LinkId link{};
  wire::Role role = wire::Role::client;
  std::uint32_t peer = 0;  ///< World rank of a client, node id of a node.
  std::string name{};      ///< Of its host, or of the node itself; empty: it did not say.
  std::uint32_t lowest_rank = 0, members = 0;
  std::uint64_t messages = 0, bytes = 0;  ///< Contributions that came.
  std::uint64_t came_last = 0;            ///< Numbers that had waited for this child alone.
  Duration kept_waiting{0};               ///< From the first contribution to such a number to this child's.
  bool closed = false, left = false;
};
/// As Node::who().
std::string who(wire::Role role, std::uint32_t peer, std::string_view name);
struct GroupView {
  enum class Phase : std::uint8_t { collecting_joins, awaiting_joined, standing, condemned, refusing, passing_leave };
  std::uint32_t group_id = 0;
  std::uint64_t job_id = 0;
  Phase phase = Phase::collecting_joins;
  bool root = false;  ///< This node answers.
  std::uint32_t group_size = 0, expected = 0, members = 0, osts = 0, stream_window = 0;
  std::uint32_t first_unanswered = 0;
  std::uint64_t answered = 0;              ///< Numbers that this node answered as the group's root.
  std::uint64_t operations = 0;            ///< Of them last fragments, so whole operations; Leave is not counted.
  std::uint64_t streaming_operations = 0;  ///< The same of streaming ones.
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
  std::string name{};   ///< Of the peer; empty: what it called itself.
  std::string where{};  ///< Its address or host.
  Millis silence{0};    ///< It stopped answering for so long; 0: the connection ended.
};

}  // namespace sumac::proto
