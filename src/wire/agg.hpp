#pragma once
// One hop of the aggregation tree: the messages from a child to its parent (up) and from a parent to its child (down).
// A message is an AggHeader of 64 bytes, little-endian, followed by `payload_bytes` of payload: user data of
// Contribute and Result, or one of the bodies below. The page wire.md (docs/reference.md) lists every byte; docs/protocol.md says when
// each message is sent.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/types.hpp"

namespace sumac::wire {

inline constexpr std::uint16_t kAggMagic = 0x4153;  // "SA"
/// The one version that this code speaks. It is raised when the meaning of any byte changes: peers of different
/// versions refuse each other (docs/upgrade.md).
inline constexpr std::uint8_t kAggVersion = 1;
inline constexpr std::uint32_t kPathMax = 8;            ///< Depth of a tree, in nodes, from a leaf to the root.
inline constexpr std::uint32_t kPayloadMax = 1u << 20;  ///< The most after one header, whatever the job's grant.
inline constexpr std::uint32_t kNoRank = 0xFFFFFFFFu;

enum class AggKind : std::uint8_t {
  hello = 1,  ///< First message of a connection, from the side that connected: its claimed identity (HelloBody).
  // Messages that go up:
  open = 2,        ///< Rank 0 of a communicator asks the tree's root node for a group id (OpenBody); nodes pass it on.
  join = 3,        ///< A member, or a node for all members below it, enters a group (JoinBody).
  contribute = 4,  ///< One number's data; barrier and leave carry none.
  trouble = 7,     ///< To the root: a dead rank, or two members that disagree and the field in which they differ
                   ///< (TroubleBody).
  name = 8,        ///< After proof: the name that people use for the peer's host or node (NameBody).
  proof = 9,  ///< Answer to welcome: the child knows the key too (ProofBody). Before it, nothing but hello is believed.
  // Messages that go down:
  opened = 16,   ///< The group id (OpenedBody).
  joined = 17,   ///< The group stands: window and payload (JoinedBody).
  refused = 18,  ///< Open or Join was refused (RefusedBody). It also goes up, from a node that refuses, to the rest of
                 ///< the group.
  result = 19,   ///< One number's result, for every member; empty where the collective gives it no data.
  verdict = 20,  ///< From the root: the first number that completes nowhere, and the reason (VerdictBody). Ends the
                 ///< group.
  over = 21,     ///< The group is over at the parent, without a verdict (OverBody).
  welcome = 22,  ///< Answer to hello: the parent's identity, and the proof that it knows the key (WelcomeBody).
  invited = 23,  ///< The address where small results also come by multicast (InvitedBody). Sent before joined.
  closed = 24,   ///< Every member has contributed all numbers before `sequence`. Results say so too: see
                 ///< AggHeader::closed.
  datagrams =
      25,  ///< The node's kernel answers small operations of the group: its terms (DatagramsBody). Sent before joined.
};

/// The use of a sequence number. All members must agree on it.
enum class Coll : std::uint8_t {
  none = 0,
  barrier = 1,
  allreduce = 2,
  reduce = 3,
  bcast = 4,
  reduce_scatter = 5,
  allgather = 6,
  leave = 8,  ///< Payload-free last number of a member.
  // The rest carry no payload either:
  refusal =
      9,  ///< A member's own call was refused before anything was sent. If all members send it the group goes on, else
          ///< they disagree.
  lock = 10,    ///< Asks whether the group may stream, before its first streaming operation; kFlagDenied in the answer:
                ///< no.
  unlock = 11,  ///< The group stops streaming for now.
};

enum AggFlag : std::uint16_t {
  kFlagFirst = 1u << 0,      ///< First fragment of an operation.
  kFlagLast = 1u << 1,       ///< Last fragment of an operation.
  kFlagStreaming = 1u << 2,  ///< SAT: payload up to the chunk size instead of the OST's payload.
  /// Added along the canonical tree of ranks (docs/protocol.md). join: all members below want such sums; joined: the
  /// group has them.
  kFlagReproducible = 1u << 3,
  kFlagDenied = 1u << 4,  ///< lock only: a node on the path has no stream slot left. Members need not agree on it.
  /// contribute only: a member below also takes this number's result by multicast. Members need not agree on it.
  kFlagListening = 1u << 5,
  /// contribute: all members below have sent and received datagrams of the group; result: all members have. Only groups
  /// whose nodes sent `datagrams` have it, and members need not agree on it. over, trouble: a node of the tree is gone, but its
  /// kernel goes on to answer datagrams.
  kFlagDatagrams = 1u << 6,
  kFlagsKnown = 0x007F,
};

struct AggHeader {
  std::uint16_t magic = kAggMagic;  ///< Rejects a stray peer before anything else is believed.
  std::uint8_t version = kAggVersion;
  AggKind kind = AggKind::hello;
  TreeId tree_id{};
  GroupId group_id{};  ///< The group's id; 0 before Opened.
  std::uint32_t reserved = 0;
  Sequence sequence{};  ///< Position of the number in the group. Wraps: compare with seq_before().
  Coll coll = Coll::none;
  Op op = Op::null;
  Dtype dtype = Dtype::null;
  Dtype tag_dtype = Dtype::null;  ///< Type of the tag, for MINLOC and MAXLOC only.
  std::uint16_t flags = 0;        ///< A set of AggFlag.
  std::uint16_t root = 0;         ///< reduce, bcast: group rank of the root, modulo 65536. Else zero.
  std::uint32_t payload_bytes = 0;
  std::uint64_t count = 0;         ///< Elements of the whole result (reduce_scatter: input); all members must agree.
  std::uint64_t first = 0;         ///< First element of this fragment.
  std::uint32_t origin = kNoRank;  ///< Up: lowest group rank whose data are included (a verdict names it). Down:
                                   ///< kNoRank.
  std::uint32_t members = 0;       ///< Up: number of members whose data are included. With `origin`: the block of a
                                   ///< partial sum.
  std::uint16_t meaning = 0;  ///< A packed Meaning (base/meaning.hpp) of the members' callers; 0: they say nothing.
  std::uint16_t reserved_16 = 0;
  /// result: the first number that some member has not contributed, as far as the sender knows. contribute, with kFlagDatagrams:
  /// the first number by the links behind the last datagrams.
  Sequence closed{};
};
static_assert(sizeof(AggHeader) == 64 && std::has_unique_object_representations_v<AggHeader>, "padding leaks memory");

/// True for bcast and for any allgather that does not add up with `bor`: each fragment holds one member's data, for all
/// others.
template <class T>
constexpr bool has_one_source(const T& operation) noexcept {
  return operation.coll == Coll::bcast || (operation.coll == Coll::allgather && operation.op == Op::null);
}

/// Numbers by which a group asks for the streaming lock and returns it.
constexpr bool is_stream_lock(Coll coll) noexcept { return coll == Coll::lock || coll == Coll::unlock; }

/// Returns the bytes of one element for kinds with data; 0 if type and operation do not fit the kind.
template <class T>
constexpr std::size_t element_of(const T& operation) noexcept {
  switch (operation.coll) {
    case Coll::allreduce:
    case Coll::reduce:
    case Coll::reduce_scatter:
      // Only pairs have a tag: otherwise members could disagree in a field that means nothing.
      if (!is_pair(operation.op) && operation.tag_dtype != Dtype::null) return 0;
      return element_bytes(operation.dtype, operation.op, operation.tag_dtype);
    case Coll::bcast:
      if (operation.op != Op::null || operation.tag_dtype != Dtype::null) return 0;
      return width(operation.dtype);
    case Coll::allgather:
      if ((operation.op != Op::null && operation.op != Op::bor) || operation.tag_dtype != Dtype::null) return 0;
      return operation.op == Op::null || is_integer(operation.dtype) ? width(operation.dtype) : 0;
    case Coll::none:
    case Coll::barrier:
    case Coll::leave:
    case Coll::refusal:
    case Coll::lock:
    case Coll::unlock: return 0;
  }
  return 0;
}

/// True for floating-point sums and products: only their bits depend on the order of adding (docs/reference.md).
template <class T>
constexpr bool order_matters(const T& operation) noexcept {
  return (operation.op == Op::sum || operation.op == Op::prod) && is_float(operation.dtype) && operation.count != 0;
}

constexpr void say_listening(AggHeader& header, bool listening) noexcept {
  header.flags = static_cast<std::uint16_t>(listening ? header.flags | kFlagListening : header.flags & ~kFlagListening);
}

enum class Role : std::uint32_t { client = 1, node = 2 };

/// A number that is used once. Each proof covers the peer's nonce too, so that a message of one connection is useless
/// on another.
using Nonce = std::array<std::uint8_t, 16>;

/// The bytes of hello, and of the refusal that answers it, are the same in every version: two peers of different
/// versions can still report that.
struct HelloBody {
  JobId job_id{};  ///< Clients only; a node acts for all jobs that it was granted.
  Nonce nonce{};   ///< The child's nonce.
  Role role = Role::client;
  std::uint32_t id = 0;  ///< World rank of a client, node id of a node.
  std::uint32_t version = kAggVersion;
  std::uint32_t options = 0;  ///< No option is defined yet: the field is reserved for encryption.
  friend bool operator==(const HelloBody&, const HelloBody&) = default;
};
static_assert(sizeof(HelloBody) == 40 && std::has_unique_object_representations_v<HelloBody>);

enum WelcomeOption : std::uint32_t {
  kWelcomeDatagrams = 1u << 0,  ///< The parent's kernel takes datagrams, so a client's join may name a port for them.
};

struct WelcomeBody {
  Nonce nonce{};                         ///< The parent's nonce.
  std::array<std::uint8_t, 32> proof{};  ///< The parent's proof (proof.hpp).
  Role role = Role::node;
  NodeId id{};  ///< The parent's.
  std::uint32_t version = kAggVersion;
  std::uint32_t options = 0;  ///< A set of WelcomeOption.
};
static_assert(sizeof(WelcomeBody) == 64 && std::has_unique_object_representations_v<WelcomeBody>);

struct ProofBody {
  std::array<std::uint8_t, 32> proof{};  ///< The child's proof (proof.hpp).
};
static_assert(sizeof(ProofBody) == 32 && std::has_unique_object_representations_v<ProofBody>);

/// The name of a client's host, or of a node: letters, digits and any of "-_.:", filled up with zeros.
struct NameBody {
  std::array<char, 64> text{};
};
static_assert(sizeof(NameBody) == 64 && std::has_unique_object_representations_v<NameBody>);

struct OpenBody {
  JobId job_id{};
  std::uint64_t token = 0;  ///< Chosen by the asker, unique in the job: a repeated Open gets the same id.
  std::uint32_t group_size = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(OpenBody) == 24 && std::has_unique_object_representations_v<OpenBody>);

struct OpenedBody {
  JobId job_id{};
  std::uint64_t token = 0;
  GroupId group_id{};
  std::uint32_t reserved = 0;
};
static_assert(sizeof(OpenedBody) == 24 && std::has_unique_object_representations_v<OpenedBody>);

/// A node between a leaf and the root, and the number of group members below it.
struct PathEntry {
  NodeId node_id{};
  std::uint32_t expected_members = 0;
};

/// A bit states a property of a group. A node that is older than the bit ignores it, and serves the group without.
enum JoinFeature : std::uint64_t {
  /// The members go on among themselves when their tree is over, so a node may end the group on the first suspicion.
  kFeatureOutlives = 1u << 0,
  /// The sender takes datagrams: the rest of `features` has its DatagramEnd.
  kFeatureDatagrams = 1u << 1,
  /// With kFeatureDatagrams: the kernels of the sender and of all nodes below it add along the canonical tree, since the ranks of
  /// each child are one block of it.
  kFeatureCanonical = 1u << 2,
};

struct JoinBody {
  JobId job_id{};
  std::uint64_t features = 0;  ///< A set of JoinFeature. Bits that the receiver does not know mean nothing to it.
  std::uint32_t rank = 0;      ///< Group rank; the lowest one when a node joins for its members.
  WorldRank world_rank{};
  std::uint32_t group_size = 0;
  std::uint32_t members = 1;  ///< Members that this Join speaks for.
  std::uint32_t osts = 0;     ///< Least number of OSTs reserved so far below; a member states the most that it can use.
  std::uint32_t stream_window = 0;    ///< The same for streaming chunks; 0: no streaming.
  std::uint32_t payload_per_ost = 0;  ///< Bytes of one OST that the member was granted.
  std::uint32_t chunk_bytes = 0;      ///< Bytes of one streaming chunk.
  std::uint32_t path_length = 0;
  std::uint32_t reserved = 0;
  std::array<PathEntry, kPathMax> path{};  ///< path[0] is the node this Join is sent to; unused entries are zero.
};
static_assert(sizeof(JoinBody) == 120 && std::has_unique_object_representations_v<JoinBody>);

/// The sender of a join takes datagrams of the group there, and all below it can up to this size.
struct DatagramEnd {
  std::uint16_t port = 0;
  std::uint16_t group = 0;  ///< Its own number of the group.
  std::uint16_t payload_max = 0;
  friend bool operator==(const DatagramEnd&, const DatagramEnd&) = default;
};

/// An older node passes `features` of its children on. So they name the length of the sender's path, which is another one then.
constexpr void put_datagram_end(JoinBody& body, const DatagramEnd& end) noexcept {
  body.features = (body.features & 0xFF) | kFeatureDatagrams | std::uint64_t{body.path_length} << 8 |
                  std::uint64_t{end.port} << 16 | std::uint64_t{end.group} << 32 | std::uint64_t{end.payload_max} << 48;
}
constexpr DatagramEnd datagram_end(const JoinBody& body) noexcept {
  if ((body.features & kFeatureDatagrams) == 0 || (body.features >> 8 & 0xFF) != body.path_length) return {};
  return {static_cast<std::uint16_t>(body.features >> 16), static_cast<std::uint16_t>(body.features >> 32),
          static_cast<std::uint16_t>(body.features >> 48)};
}

struct JoinedBody {
  JobId job_id{};
  std::uint32_t osts = 0;           ///< W: the least of the path. No member has more numbers than this in flight.
  std::uint32_t stream_window = 0;  ///< The same minimum for streaming chunks.
  std::uint32_t payload_per_ost = 0, chunk_bytes = 0;
  Sequence first{};    ///< The group's first number.
  NodeId root_node{};  ///< The node that answers (for people).
};
static_assert(sizeof(JoinedBody) == 32 && std::has_unique_object_representations_v<JoinedBody>);

enum class RefuseReason : std::uint32_t {
  no_group_id = 1,  ///< The job's grant has no group left: limit = groups granted.
  no_ost = 2,       ///< The job's pool at a node is empty: limit = OSTs granted.
  unknown_job = 3,  ///< The node has no grant for this job (the job ended, or never began).
  unknown_group = 4,
  bad_path = 5,  ///< The path names another node than this one, or impossible member counts.
  payload_too_large = 6,
  bad_key = 8,
  version = 9,  ///< The two sides speak different wire versions: limit = the node's, asked = the peer's.
  node_limit = 10,
  member_lost = 11,  ///< A member's connection closed before the group stood.
};

struct RefusedBody {
  JobId job_id{};
  std::uint64_t token = 0;  ///< The Open's token, or 0.
  RefuseReason reason = RefuseReason::unknown_job;
  NodeId node_id{};  ///< The node that refused.
  std::uint32_t limit = 0, asked = 0;
  AggKind what = AggKind::open;  ///< The kind of the refused message.
  std::array<std::uint8_t, 7> reserved{};
};
static_assert(sizeof(RefusedBody) == 40 && std::has_unique_object_representations_v<RefusedBody>);

enum class TroubleReason : std::uint32_t {
  dead_rank = 1,
  disagree = 2,
  lost_connection = 3,
  gave_up = 4,  ///< The culprit itself reports that it cannot contribute; its log has the reason.
};
/// The fields in which two members can differ; the first that differs in this order is named.
enum class Field : std::uint32_t {
  none = 0,
  coll = 1,
  op = 2,
  dtype = 3,
  tag_dtype = 4,
  count = 5,
  first = 6,
  flags = 7,
  payload_bytes = 8,
  root = 9,
  meaning = 10
};

/// A node that is gone, for people: letters, digits and any of "-_.:", filled up with zeros; all zeros when no node is
/// gone.
struct LostNode {
  std::array<char, 48> name{}, host{};
  std::array<char, 48> noticed_by{};  ///< The node that noticed; empty: the lost node itself, which was told to stop.
  std::uint32_t silent_ms = 0;        ///< Milliseconds since its last answer; 0: its connection ended.
  std::uint32_t is_parent = 0;        ///< 1: it was the parent of the node that noticed; 0: its child.
};
static_assert(sizeof(LostNode) == 152 && std::has_unique_object_representations_v<LostNode>);

/// Trouble (up) and Verdict (down) have the same body; the header's `sequence` is the number that they are about
/// (Verdict: F).
struct TroubleBody {
  TroubleReason reason = TroubleReason::disagree;
  Field field = Field::none;
  std::uint32_t culprit = kNoRank;  ///< Group rank; of two members that disagree, the later one.
  std::uint32_t other = kNoRank;    ///< The member that it disagrees with.
  /// The two values of `field`. gave_up: the first is 1 + the rank on the culprit's host whose death made it, as people count; 0: none.
  std::uint64_t culprit_value = 0, other_value = 0;
  LostNode lost{};  ///< lost_connection: the node on the culprit's path that is gone.
};
static_assert(sizeof(TroubleBody) == 184 && std::has_unique_object_representations_v<TroubleBody>);
using VerdictBody = TroubleBody;

/// The report of a member that cannot go on. `dead`: the rank on its host whose death is the reason, as people count; kNoRank: none.
constexpr TroubleBody gave_up(std::uint32_t member, std::uint32_t dead) noexcept {
  TroubleBody body;
  body.reason = TroubleReason::gave_up;
  body.culprit = member;
  body.culprit_value = dead == kNoRank ? 0 : std::uint64_t{dead} + 1;
  return body;
}

/// Results of whole small operations also come to this address: each datagram is the message that the links carry,
/// followed by a tag (datagram.hpp).
struct InvitedBody {
  std::array<std::uint8_t, 16> key{};      ///< Key of the group's tags; its root draws it and sends it to the members
                                           ///< only.
  std::array<std::uint8_t, 16> address{};  ///< IPv6, or ::ffff:a.b.c.d, in network byte order.
  std::uint16_t port = 0;
  std::uint16_t reserved_16 = 0;
  std::uint32_t reserved = 0;
  friend bool operator==(const InvitedBody&, const InvitedBody&) = default;
};
static_assert(sizeof(InvitedBody) == 40 && std::has_unique_object_representations_v<InvitedBody>);

enum DatagramsFeature : std::uint16_t {
  /// All kernels of the group add along the canonical tree: reproducible sums go this way.
  kDatagramsCanonical = 1u << 0,
};

/// The terms of a node's datagrams, for one child. Both derive the keys of the tags from the job's key and `nonce` (proof.hpp).
struct DatagramsBody {
  Nonce nonce{};            ///< Drawn by the node for this group.
  std::uint16_t group = 0;  ///< The node's number of the group.
  std::uint16_t payload_max = 0;
  std::uint8_t child = 0;      ///< The receiver's index at the node.
  std::uint8_t window = 0;     ///< So many datagram numbers may be open.
  std::uint16_t features = 0;  ///< A set of DatagramsFeature.
};
static_assert(sizeof(DatagramsBody) == 24 && std::has_unique_object_representations_v<DatagramsBody>);

enum class OverReason : std::uint32_t { lost_node = 1, manager = 2 };
struct OverBody {
  OverReason reason = OverReason::lost_node;
  NodeId node_id{};  ///< The node that sent it.
  LostNode lost{};   ///< The lost node, if the reason is lost_node. If it is manager, a text (over_by_manager()).
};
static_assert(sizeof(OverBody) == 160 && std::has_unique_object_representations_v<OverBody>);

}  // namespace sumac::wire
