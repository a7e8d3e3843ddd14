#pragma once
// One hop of the aggregation tree: what a child says to its parent (up) and a parent to its child (down).
// A message is an AggHeader of 64 bytes, little-endian, and `payload_bytes` of payload behind it: user data of Contribute,
// Supply and Result, or one of the bodies below. docs/wire.md lists every byte, docs/protocol.md says who sends what when.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/result.hpp"
#include "base/types.hpp"

namespace sumac::wire {

inline constexpr std::uint16_t kAggMagic = 0x4153;  // "SA"
/// The one version that this code speaks. It is raised when the meaning of any byte changes: peers of different versions refuse each
/// other (docs/upgrade.md).
inline constexpr std::uint8_t kAggVersion = 1;
inline constexpr std::uint32_t kPathMax = 8;            ///< Depth of a tree, in nodes, from a leaf to the root.
inline constexpr std::uint32_t kPayloadMax = 1u << 20;  ///< Never more behind one header, whatever a job was granted.
inline constexpr std::uint32_t kNoRank = 0xFFFFFFFFu;

enum class AggKind : std::uint8_t {
  hello = 1,  ///< First message of a connection, from the side that connected: who it says it is (HelloBody).
  // up
  open = 2,        ///< Rank 0 of a communicator asks the tree's root node for a group id (OpenBody); nodes pass it on.
  join = 3,        ///< A member, or a node for all members below it, enters a group (JoinBody).
  contribute = 4,  ///< One number's data; barrier, close and leave carry none.
  supply = 5,      ///< Recovery: the whole result of a number that somebody has already.
  skip = 6,        ///< Recovery: "somebody else supplies this number".
  trouble = 7,     ///< To the root: a dead rank, or who disagreed and on what (TroubleBody).
  name = 8,        ///< Behind proof: what people call the host or node that speaks here (NameBody).
  proof = 9,  ///< Answer to welcome: the child knows the key too (ProofBody). Nothing but hello is believed before.
  // down
  opened = 16,  ///< The group id (OpenedBody).
  joined = 17,  ///< The group stands: window and payload (JoinedBody).
  refused =
      18,       ///< Open or Join was refused (RefusedBody). Also up, from a node that refuses to the rest of the group.
  result = 19,  ///< One number's result, for every member; empty where the collective gives it no data.
  verdict = 20,     ///< From the root: the first number that nobody completes, and why (VerdictBody). Ends the group.
  void_epoch = 21,  ///< This epoch is over: ask for the next (VoidBody).
  welcome = 22,     ///< Answer to hello: who the parent is, and the proof that it knows the key (WelcomeBody).
  invited = 23,     ///< Where the group's small results come by multicast as well (InvitedBody). Before joined.
};

/// What a sequence number is for. All members must agree on it.
enum class Coll : std::uint8_t {
  none = 0,
  barrier = 1,
  allreduce = 2,
  reduce = 3,
  bcast = 4,
  reduce_scatter = 5,
  allgather = 6,
  close = 7,  ///< Payload-free number after the last fragment of a large operation (recovery rule 2).
  leave = 8,  ///< Payload-free last number of a member (recovery rule 11).
  // Payload-free as well:
  refusal =
      9,  ///< A member's own call was refused before it was sent. If all say so the group goes on, else they disagree.
  lock = 10,    ///< May this group stream? Asked before its first streaming operation; kFlagDenied in the answer: no.
  unlock = 11,  ///< It streams no more for now.
};

enum AggFlag : std::uint16_t {
  kFlagFirst = 1u << 0,      ///< First fragment of an operation.
  kFlagLast = 1u << 1,       ///< Last fragment of an operation.
  kFlagStreaming = 1u << 2,  ///< SAT: payload up to the chunk size instead of the OST's payload.
  /// Added along the canonical tree of ranks (docs/protocol.md). join: everybody below wants such sums; joined: the group has them.
  kFlagReproducible = 1u << 3,
  kFlagDenied = 1u << 4,  ///< lock only: a node on the way has no streaming place left. Not something to agree on.
  /// contribute only: somebody below takes this number's result from a multicast as well. Not something to agree on.
  kFlagListening = 1u << 5,
  kFlagsKnown = 0x003F,
};

struct AggHeader {
  std::uint16_t magic = kAggMagic;  ///< Turns away a stray peer before anything else is believed.
  std::uint8_t version = kAggVersion;
  AggKind kind = AggKind::hello;
  std::uint32_t tree_id = 0;
  std::uint32_t group_id = 0;  ///< 0 before Opened.
  std::uint32_t epoch = 0;     ///< Raised at each re-join: older messages are dropped.
  std::uint32_t sequence = 0;  ///< Number in the group. Wraps: compare with seq_before().
  Coll coll = Coll::none;
  Op op = Op::null;
  Dtype dtype = Dtype::null;
  Dtype tag_dtype = Dtype::null;  ///< MINLOC and MAXLOC only.
  std::uint16_t flags = 0;        ///< AggFlag.
  std::uint16_t root = 0;         ///< reduce, bcast: group rank of the root, modulo 65536. Else zero.
  std::uint32_t payload_bytes = 0;
  std::uint64_t count = 0;         ///< Elements of the whole result (reduce_scatter: input); all members must agree.
  std::uint64_t first = 0;         ///< First element of this fragment.
  std::uint32_t origin = kNoRank;  ///< Up: lowest group rank whose data are in it (a verdict names it). Down: kNoRank.
  std::uint32_t members = 0;       ///< Up: how many members' data are in it. With `origin`: the block of a partial sum.
  std::uint64_t reserved = 0;
};
static_assert(sizeof(AggHeader) == 64 && std::has_unique_object_representations_v<AggHeader>, "padding leaks memory");

/// bcast and allgather (but for the allgather that adds up with `bor`): each fragment is one member's data, for everybody else.
constexpr bool has_one_source(const AggHeader& header) noexcept {
  return header.coll == Coll::bcast || (header.coll == Coll::allgather && header.op == Op::null);
}

/// Floating-point sums and products: the only ones whose bits depend on the order of adding (docs/types.md).
template <class T>
constexpr bool order_matters(const T& operation) noexcept {
  return (operation.op == Op::sum || operation.op == Op::prod) && is_float(operation.dtype) && operation.count != 0;
}

constexpr void say_listening(AggHeader& header, bool listening) noexcept {
  header.flags = static_cast<std::uint16_t>(listening ? header.flags | kFlagListening : header.flags & ~kFlagListening);
}

/// a is before b in the circle of 2^32 numbers.
constexpr bool seq_before(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }

enum class Role : std::uint32_t { client = 1, node = 2 };

/// A number that is used once: whoever proves something to a peer proves it about the peer's number too, so that nothing said on one
/// connection is of use on another.
using Nonce = std::array<std::uint8_t, 16>;

/// The bytes of hello, and of the refusal that answers it, are the same in every version: two peers that differ can still say so.
struct HelloBody {
  std::uint64_t job_id = 0;  ///< Clients only; a node speaks for the jobs that it was granted.
  Nonce nonce{};             ///< Of the child.
  Role role = Role::client;
  std::uint32_t id = 0;  ///< World rank of a client, node id of a node.
  std::uint32_t version = kAggVersion;
  std::uint32_t options = 0;  ///< None is defined yet: room to agree on encryption.
  friend bool operator==(const HelloBody&, const HelloBody&) = default;
};
static_assert(sizeof(HelloBody) == 40 && std::has_unique_object_representations_v<HelloBody>);

struct WelcomeBody {
  Nonce nonce{};                         ///< Of the parent.
  std::array<std::uint8_t, 32> proof{};  ///< Of the parent (proof.hpp).
  Role role = Role::node;
  std::uint32_t id = 0;  ///< Node id.
  std::uint32_t version = kAggVersion;
  std::uint32_t options = 0;  ///< Those of hello that the parent takes: none is defined yet.
};
static_assert(sizeof(WelcomeBody) == 64 && std::has_unique_object_representations_v<WelcomeBody>);

struct ProofBody {
  std::array<std::uint8_t, 32> proof{};  ///< Of the child (proof.hpp).
};
static_assert(sizeof(ProofBody) == 32 && std::has_unique_object_representations_v<ProofBody>);

/// The host of a client, or a node: letters, digits and any of "-_.:", zeros behind.
struct NameBody {
  std::array<char, 64> text{};
};
static_assert(sizeof(NameBody) == 64 && std::has_unique_object_representations_v<NameBody>);

struct OpenBody {
  std::uint64_t job_id = 0;
  std::uint64_t token = 0;  ///< Chosen by the asker, unique in the job: a repeated Open gets the same id.
  std::uint32_t group_size = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(OpenBody) == 24 && std::has_unique_object_representations_v<OpenBody>);

struct OpenedBody {
  std::uint64_t job_id = 0;
  std::uint64_t token = 0;
  std::uint32_t group_id = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(OpenedBody) == 24 && std::has_unique_object_representations_v<OpenedBody>);

/// A node on the way from a leaf to the root, and how many members of the group lie below it.
struct PathEntry {
  std::uint32_t node_id = 0;
  std::uint32_t expected_members = 0;
};

struct JoinBody {
  std::uint64_t job_id = 0;
  std::uint64_t can_supply = 0;  ///< Recovery rule 5: bit i = holds the result of number `done - 1 - i`.
  std::uint32_t rank = 0;        ///< Group rank; the lowest one when a node joins for its members.
  std::uint32_t world_rank = 0;
  std::uint32_t group_size = 0;
  std::uint32_t members = 1;  ///< Members that this Join speaks for.
  std::uint32_t osts = 0;     ///< Least number of OSTs reserved so far below; a member says what it can use at most.
  std::uint32_t stream_window = 0;                     ///< Same for streaming chunks; 0: no streaming.
  std::uint32_t payload_max = 0;                       ///< Bytes of one OST that the member was granted.
  std::uint32_t chunk_max = 0;                         ///< Bytes of one streaming chunk.
  std::uint32_t done = 0;                              ///< First number not complete: lowest below.
  std::uint32_t high = 0, high_rank = 0;               ///< Highest `done` below, and who has it.
  std::uint32_t first_aborted = 0, culprit = kNoRank;  ///< Of a verdict already heard; culprit kNoRank: none.
  std::uint16_t flags = 0;                             ///< Bit 0: leaving.
  std::uint16_t path_length = 0;
  std::array<PathEntry, kPathMax> path{};  ///< path[0] is the node this Join is sent to; unused entries are zero.
};
static_assert(sizeof(JoinBody) == 136 && std::has_unique_object_representations_v<JoinBody>);

struct JoinedBody {
  std::uint64_t job_id = 0;
  std::uint32_t osts = 0;           ///< W: the least of the path. Nobody has more numbers than this in flight.
  std::uint32_t stream_window = 0;  ///< Same for streaming chunks.
  std::uint32_t payload_max = 0, chunk_max = 0;
  std::uint32_t low = 0, high = 0;  ///< Recovery: first number of this epoch; numbers below `high` are supplied.
  std::uint32_t supplier = kNoRank;
  std::uint32_t first_aborted = 0, culprit = kNoRank;
  std::uint32_t root_node = 0;  ///< The node that answers (for people who look).
};
static_assert(sizeof(JoinedBody) == 48 && std::has_unique_object_representations_v<JoinedBody>);

enum class RefuseReason : std::uint32_t {
  no_group_id = 1,  ///< The job's grant has no group left: limit = groups granted.
  no_ost = 2,       ///< The job's pool at a node is empty: limit = OSTs granted.
  unknown_job = 3,  ///< The node has no grant for this job (ended, or never begun).
  unknown_group = 4,
  bad_path = 5,  ///< The path names a node that this one is not, or members that can't be.
  payload_too_large = 6,
  wrong_epoch = 7,
  bad_key = 8,
  version = 9,  ///< The two sides speak different wire versions: limit = the node's, asked = the other's.
  node_limit = 10,
  member_lost = 11,  ///< A member's connection closed before the group stood.
};

struct RefusedBody {
  std::uint64_t job_id = 0;
  std::uint64_t token = 0;  ///< Of the Open, or 0.
  RefuseReason reason = RefuseReason::unknown_job;
  std::uint32_t node_id = 0;  ///< Who refused.
  std::uint32_t limit = 0, asked = 0;
  AggKind what = AggKind::open;  ///< Kind of the message that was refused.
  std::array<std::uint8_t, 7> reserved{};
};
static_assert(sizeof(RefusedBody) == 40 && std::has_unique_object_representations_v<RefusedBody>);

enum class TroubleReason : std::uint32_t {
  dead_rank = 1,
  disagree = 2,
  lost_connection = 3,
  gave_up = 4,  ///< The culprit itself says that it can't contribute; its log says why.
};
/// Where two members differ; the first that differs in this order is named.
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
  root = 9
};

/// A node that is gone, for people: letters, digits and any of "-_.:", zeros behind; nothing but zeros where it is no node.
struct LostNode {
  std::array<char, 48> name{}, host{};
  std::array<char, 48> noticed_by{};  ///< The node that noticed.
  std::uint32_t silent_ms = 0;        ///< It stopped answering for so long; 0: its connection ended.
  std::uint32_t is_parent = 0;        ///< 1: it was the parent of who noticed; 0: its child.
};
static_assert(sizeof(LostNode) == 152 && std::has_unique_object_representations_v<LostNode>);

/// Trouble (up) and Verdict (down) say the same; `sequence` of the header is the number they speak of (Verdict: F).
struct TroubleBody {
  TroubleReason reason = TroubleReason::disagree;
  Field field = Field::none;
  std::uint32_t culprit = kNoRank;                   ///< Group rank; of two that disagree, the one that came later.
  std::uint32_t other = kNoRank;                     ///< The one it disagrees with.
  std::uint64_t culprit_value = 0, other_value = 0;  ///< Of `field`.
  LostNode lost{};                                   ///< lost_connection: the node on the culprit's way that is gone.
};
static_assert(sizeof(TroubleBody) == 184 && std::has_unique_object_representations_v<TroubleBody>);
using VerdictBody = TroubleBody;

/// Results of whole small operations also come to this address: as the message that the links carry, and a tag behind it
/// (datagram.hpp).
struct InvitedBody {
  std::array<std::uint8_t, 16> key{};      ///< Of the group's tags; drawn by its root, told to nobody but its members.
  std::array<std::uint8_t, 16> address{};  ///< IPv6, or ::ffff:a.b.c.d: in the order of the network.
  std::uint16_t port = 0;
  std::uint16_t reserved_16 = 0;
  std::uint32_t reserved = 0;
  friend bool operator==(const InvitedBody&, const InvitedBody&) = default;
};
static_assert(sizeof(InvitedBody) == 40 && std::has_unique_object_representations_v<InvitedBody>);

enum class VoidReason : std::uint32_t { lost_node = 1, newer_epoch = 2, manager = 3 };
struct VoidBody {
  VoidReason reason = VoidReason::lost_node;
  std::uint32_t node_id = 0;  ///< Who says so.
  LostNode lost{};            ///< lost_node.
};
static_assert(sizeof(VoidBody) == 160 && std::has_unique_object_representations_v<VoidBody>);

}  // namespace sumac::wire
