#pragma once
// An operation as a member posts it to its group, and the terms of the group: the member's requests, the agreed values,
// and how an operation or the group ends.
#include <algorithm>
#include <cstdint>
#include <span>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "proto/path.hpp"

namespace sumac::proto {

inline constexpr std::uint32_t kOperationsMax = 512;  ///< Operations per group that are posted and not yet taken by
                                                      ///< next_completion().

struct ClientGroupConfig {
  JobId job_id{};
  TreeId tree_id{};
  GroupId group_id{};  ///< The id that Open returned.
  std::uint32_t rank = 0;
  WorldRank world_rank{};
  std::uint32_t group_size = 0;
  GroupPath path{};
  std::uint32_t osts = 0;             ///< Request: the most for this group; the node may grant less.
  std::uint32_t stream_window = 0;    ///< Request; 0: no streaming.
  std::uint32_t payload_per_ost = 0;  ///< Granted bytes of one OST.
  std::uint32_t chunk_bytes = 0;      ///< Granted bytes of one streaming chunk.
  /// Streaming operations per streaming lock; 0: without locks; kLockForEver: held until the group ends. All members
  /// pass the same value.
  std::uint32_t lock_batch = 0;
  /// Nodes shall reserve memory for reproducible sums.
  bool reproducible = true;
  bool outlives = false;  ///< The members go on among themselves when the tree is lost (recovery_group.hpp).
  std::uint32_t pipeline_depth = 64;  ///< SHARP_COLL_PIPELINE_DEPTH: fragments of one LLT operation in flight.
  Duration resend_after{0};           ///< 0: no timer repeats anything (tcp, ucx).
  /// This member takes datagrams of its leaf node there; their keys come from the job's. Port 0: it takes none.
  struct Datagrams {
    std::uint16_t port = 0;
    Secret job_key{};
  } datagrams{};
};

/// The default request of a member: the job's pool shared evenly among its groups, at least 2.
constexpr std::uint32_t ost_share(std::uint32_t job_osts, std::uint32_t max_groups) noexcept {
  const std::uint32_t share = max_groups == 0 ? 0 : job_osts / max_groups;
  return share < 2 ? 2 : share;
}
inline constexpr std::uint32_t kLockForEver = 0xFFFFFFFFu;

/// The state of the streaming lock. All members see the same state at the same number.
enum class StreamLock : std::uint8_t { none, asked, held, denied };

/// The terms that the whole group agreed on in Joined.
struct GroupShape {
  std::uint32_t osts = 0, stream_window = 0, payload_per_ost = 0, chunk_bytes = 0;
  NodeId root_node{};
  bool reproducible = false;  ///< All members want such sums, and the nodes have memory for them.
  /// The most numbers that are open at once, of all operations.
  std::uint32_t window() const noexcept { return std::max(osts, stream_window); }
};

/// Elements [from, to) of an operation's vector.
struct Range {
  std::uint64_t from = 0, to = 0;
  std::uint64_t size() const noexcept { return to - from; }
  bool covers(std::uint64_t element) const noexcept { return element >= from && element < to; }
};
inline constexpr std::uint64_t kToTheEnd = ~std::uint64_t{0};

/// One vector of `count` elements goes through the tree. The ranges that a member gives and keeps make the kinds:
///   allreduce       gives all, keeps all
///   reduce          gives all, keeps all at the root, else nothing
///   reduce_scatter  gives all, keeps its part
///   bcast           gives all at the root, else nothing; keeps all
///   allgather       gives its part, keeps all; with Op::bor: gives all, with zeros outside its part (for small ones:
///                   it takes one number instead of one for each member)
struct Operation {
  wire::Coll coll = wire::Coll::barrier;
  Op op = Op::null;  ///< null for barrier, bcast and allgather (which may also have bor).
  Dtype dtype = Dtype::null;
  Dtype tag_dtype = Dtype::null;  ///< maxloc and minloc only; null: a pair like C's struct of value and int.
  std::uint16_t meaning = 0;  ///< A packed Meaning of the callers (base/meaning.hpp), or 0. All members pass the same.
  std::uint64_t count = 0;    ///< Number of elements of the vector.
  Range give{0, kToTheEnd};   ///< kToTheEnd stands for `count`.
  Range keep{0, kToTheEnd};
  std::span<const std::byte> src{};  ///< The elements of `give`; unchanged until the operation completes.
  /// Null, or a pointer to the end of the part of `src` that is ready. When it advances, call ClientGroup::wake().
  const std::byte* const* ready_until = nullptr;
  std::span<std::byte> dst{};  ///< Memory for the elements of `keep`; allreduce: may be src itself.
  std::uint32_t root = 0;      ///< The root's group rank, for reduce and bcast.
  /// allgather: no fragment crosses the edge between two members. Each member has `block` elements, the first one
  /// `first_block`.
  std::uint64_t block = 0, first_block = 0;
  bool streaming = false;  ///< Sends chunks of chunk_bytes instead of payload_per_ost. All members choose alike.
  /// Streaming: bytes of a chunk, if less than chunk_bytes; 0: chunk_bytes. All members choose alike.
  std::uint32_t chunk = 0;
  /// The result has the same bits on every tree and in every order of arrival. It changes nothing for operations that
  /// have them anyway (order_matters()). All members choose alike.
  bool reproducible = false;
  /// Without the streaming lock it fails with Errc::again; otherwise it goes in fragments of payload_per_ost.
  bool must_stream = false;
  std::uint64_t token = 0;  ///< A value of the caller's, returned in Completion.
};

/// Returns the bytes of one fragment of an operation, at least one element's.
constexpr std::uint32_t fragment_bytes(const Operation& operation, const GroupShape& shape) {
  constexpr std::uint32_t kElementMax = 64;  // the largest element of any type and operation
  if (!operation.streaming) return shape.payload_per_ost;
  return operation.chunk == 0 ? shape.chunk_bytes : std::min(shape.chunk_bytes, std::max(operation.chunk, kElementMax));
}

struct OpId {
  std::uint32_t value = 0;
  friend bool operator==(OpId, OpId) = default;
};

/// ok: the result is in dst. again: it must stream, and the lock was denied; nothing was sent. verdict: see
/// ClientGroup::verdict(). lost: the connection or the group at the node ended; see why().
struct Completion {
  OpId id{};
  std::uint64_t token = 0;
  Errc status = Errc::ok;
  bool streamed = false;  ///< The operation went in chunks.
  /// The group had no tree any more when the operation was over. One that was under way at that time counts as such.
  bool among_members = false;
  bool by_hop = false;  ///< The kernels of nodes answered it: it went as a datagram.
};

struct Verdict {
  Sequence
      first_failed{};  ///< F: numbers below it complete at every member that has called them; F and later ones at none that is not done.
  wire::VerdictBody body{};
};

}  // namespace sumac::proto
