#pragma once
// An operation as a member posts it to its group, and the terms of the group: what the member wishes for, what all agreed on, how an
// operation or the group ends.
#include <algorithm>
#include <cstdint>
#include <span>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "proto/path.hpp"

namespace sumac::proto {

inline constexpr std::uint32_t kOperationsMax = 512;  ///< Posted and not yet taken by next_completion(), per group.

struct ClientGroupConfig {
  std::uint64_t job_id = 0;
  std::uint32_t tree_id = 0;
  std::uint32_t group_id = 0;  ///< From Open.
  std::uint32_t epoch = 0;
  std::uint32_t rank = 0, world_rank = 0, group_size = 0;
  GroupPath path{};
  std::uint32_t osts = 0;           ///< Wish: the cap of this group; the node may give less.
  std::uint32_t stream_window = 0;  ///< Wish; 0: no streaming.
  std::uint32_t payload_max = 0;    ///< Granted bytes of one OST.
  std::uint32_t chunk_max = 0;      ///< Granted bytes of one streaming chunk.
  /// Streaming operations per streaming lock; 0: without locks; kLockForEver: held until the group ends. The same at all members.
  std::uint32_t lock_batch = 0;
  /// Reproducible sums are wanted: nodes keep memory for them.
  bool reproducible = true;
  std::uint32_t pipeline_depth = 64;  ///< SHARP_COLL_PIPELINE_DEPTH: fragments of one LLT operation in flight.
  Duration resend_after{0};           ///< 0: never repeat by timer (tcp, ucx).
};

/// What a member wishes where nobody said otherwise: the job's pool shared evenly among its groups, at least 2.
constexpr std::uint32_t ost_share(std::uint32_t job_osts, std::uint32_t max_groups) noexcept {
  const std::uint32_t share = max_groups == 0 ? 0 : job_osts / max_groups;
  return share < 2 ? 2 : share;
}
inline constexpr std::uint32_t kLockForEver = 0xFFFFFFFFu;

/// Of the streaming lock. All members see the same at the same number.
enum class StreamLock : std::uint8_t { none, asked, held, denied };

/// What the whole group agreed on in Joined.
struct GroupShape {
  std::uint32_t osts = 0, stream_window = 0, payload_max = 0, chunk_max = 0;
  std::uint32_t root_node = 0;
  bool reproducible = false;  ///< All members want such sums, and the nodes have memory for them.
};

/// Elements [from, to) of an operation's vector.
struct Range {
  std::uint64_t from = 0, to = 0;
  std::uint64_t size() const noexcept { return to - from; }
  bool covers(std::uint64_t element) const noexcept { return element >= from && element < to; }
};
inline constexpr std::uint64_t kToTheEnd = ~std::uint64_t{0};

/// One vector of `count` elements goes through the tree. What a member gives of it and what it keeps of the result makes the kinds:
///   allreduce       gives all, keeps all            reduce      gives all, keeps all at the root, else nothing
///   reduce_scatter  gives all, keeps its part       bcast       gives all at the root, else nothing; keeps all
///   allgather       gives its part, keeps all; with Op::bor: gives all, with zeros where it is not its part (for small ones: one
///                   number instead of one for each member)
struct Operation {
  wire::Coll coll = wire::Coll::barrier;
  Op op = Op::null;  ///< null for barrier, bcast and allgather (or bor).
  Dtype dtype = Dtype::null;
  Dtype tag_dtype = Dtype::null;  ///< maxloc and minloc only; null: the tag's slot is as wide as the value.
  std::uint64_t count = 0;        ///< Elements.
  Range give{0, kToTheEnd};       ///< kToTheEnd: count.
  Range keep{0, kToTheEnd};
  std::span<const std::byte> src{};  ///< The elements of `give`; unchanged until the operation completes.
  /// Null, or how much of `src` is there already: what lies before *ready_until. When it moves on, call ClientGroup::wake().
  const std::byte* const* ready_until = nullptr;
  std::span<std::byte> dst{};  ///< Those of `keep`; allreduce: may be src itself.
  std::uint32_t root = 0;      ///< reduce, bcast: group rank.
  /// allgather: no fragment goes beyond the elements of one member, which has `block` of them, the first one `first_block`.
  std::uint64_t block = 0, first_block = 0;
  bool streaming = false;  ///< In chunks of chunk_max instead of payload_max. All members choose alike.
  /// Streaming: bytes of a chunk, if less than chunk_max; 0: chunk_max. All members choose alike.
  std::uint32_t piece = 0;
  /// The same bits on every tree and in every order of arrival; for what has them anyway (order_matters()) it changes nothing. All
  /// members choose alike.
  bool reproducible = false;
  /// Without the streaming lock it fails with Errc::again; else it goes in fragments of payload_max.
  bool must_stream = false;
  std::uint64_t token = 0;  ///< The caller's, handed back in Completion.
};

/// Bytes of one fragment of an operation, at least one element's.
constexpr std::uint32_t fragment_bytes(const Operation& operation, const GroupShape& shape) {
  constexpr std::uint32_t kElementMax = 64;  // of any type and operation
  if (!operation.streaming) return shape.payload_max;
  return operation.piece == 0 ? shape.chunk_max : std::min(shape.chunk_max, std::max(operation.piece, kElementMax));
}

struct OpId {
  std::uint32_t value = 0;
  friend bool operator==(OpId, OpId) = default;
};

/// ok: the result is in dst. again: it must stream, and the lock was denied; nothing was sent. verdict: see ClientGroup::verdict().
/// lost: the connection or the node's epoch; see why().
struct Completion {
  OpId id{};
  std::uint64_t token = 0;
  Errc status = Errc::ok;
  bool streamed = false;  ///< It went in chunks.
};

struct Verdict {
  std::uint32_t first_failed = 0;  ///< F: numbers below complete at every member, from here on none does.
  wire::VerdictBody body{};
};

}  // namespace sumac::proto
