#pragma once
// A member's side of one group: join, numbered contributions in windows, results in order, verdict, leave
// (docs/protocol.md). No I/O and no copy of what is sent: contributions borrow the user's memory; results are copied
// to the user's memory in turn, unless the shell has received them there (place()).
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/buffer.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "proto/link.hpp"
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

class ClientGroup {
 public:
  enum class Phase : std::uint8_t {
    joining,
    standing,
    condemned,  ///< A verdict is known; operations before F still complete. post() answers Errc::verdict.
    leaving,    ///< leave() was called: pending operations complete first, then Leave itself.
    left,       ///< Leave is through, or the group is lost: nothing is owed to anybody, the object may go.
    refused,    ///< It never stood: refusal().
    lost,       ///< Link or node gone: operations have failed with Errc::lost; leave() goes to `left` at once.
  };

  /// Errc::invalid: a field out of range; the text names it. Sends nothing yet: call start().
  static Result<std::unique_ptr<ClientGroup>> make(const ClientGroupConfig& config, Outbox& outbox, LinkId leaf);
  ~ClientGroup();
  ClientGroup(const ClientGroup&) = delete;
  ClientGroup& operator=(const ClientGroup&) = delete;

  void start(Time now);  ///< Sends Join.

  /// Takes the next numbers, sends what the window lets. Errc::again: kOperationsMax outstanding, take completions
  /// first. invalid: not legal, or spans too short. unsupported: streaming where the group has none, another
  /// collective. verdict, lost, refused: the group has ended. denied: leave() was called, or still joining.
  tl::expected<OpId, Errc> post(const Operation& operation, Time now);
  /// Asks for the streaming lock now, not with the first streaming operation. stream_lock() tells how it went. Same errors as post();
  /// unsupported: the group has no streaming.
  Errc ask_for_lock(Time now);
  StreamLock stream_lock() const noexcept;
  /// The next operation that is over, in the order of posting; nothing: none is.
  std::optional<Completion> next_completion();
  std::uint32_t outstanding() const noexcept;  ///< Posted and not yet taken by next_completion().

  void wake(Time now);  ///< More of an operation's data is there.
  /// This member can't go on: the group ends for all, with a verdict that names us. Said once: not repeated by timer.
  void give_up();
  /// After everything posted so far. Repeated calls do nothing.
  void leave(Time now);

  /// Where small results come by multicast as well, if the group's root offers it. It is there when the group stands.
  const std::optional<wire::InvitedBody>& invitation() const noexcept;
  /// This member hears that address (the shell has joined it), or no longer.
  void listen(bool listening) noexcept;
  /// False after listen(true): too little came that way first, it is not worth listening.
  bool listening() const noexcept;
  /// What became of a datagram. taken: it was there before the link's copy. late: after it, or a second one. discarded: of no number
  /// that is under way.
  enum class Heard : std::uint8_t { taken, late, discarded };
  /// A message by multicast, whose tag was right. It counts as the link's copy taken early: the window, Leave and what is said
  /// again by timer go by the link's copies, which come all the same.
  Heard on_multicast(const wire::AggHeader& header, const BufferRef& frame, Time now);

  /// A result has begun, this is its header: where its data may go at once, to be told of by on_placed(). Empty: they are to come with
  /// on_message(), as they always may. Only for a result that can be complete by nothing else meanwhile, in its turn, all of which is
  /// kept. What has landed of one that never comes to its end is in `dst`, which a failed operation leaves undefined anyway.
  std::span<std::byte> place(const wire::AggHeader& header) noexcept;
  /// The result that comes next, if one does, and where its data may go; empty: that can't be said, or the memory is not free to be spoilt
  /// by something else that comes instead (in place it still holds what is to be sent).
  std::span<std::byte> expect(wire::AggHeader& header) noexcept;
  /// The data of a result lie where place() or expect() said.
  Errc on_placed(const wire::AggHeader& header, Time now);

  /// A message of this group (ClientLink sorts them). Errc::ok, or Errc::invalid: the node broke a rule, drop the link.
  Errc on_message(const wire::AggHeader& header, const BufferRef& frame, Time now);
  void on_link_closed(Time now);
  void on_number_reused();  ///< A newer group has this group's number: it has left (ClientLink::attach() says so).
  void tick(Time now);
  Time next_due() const noexcept;

  Phase phase() const noexcept;
  const ClientGroupConfig& config() const noexcept;
  const GroupShape& shape() const noexcept;  ///< Zero while joining.
  const std::optional<Verdict>& verdict() const noexcept;
  const std::optional<wire::RefusedBody>& refusal() const noexcept;
  /// Why operations fail, in one line for people; empty while all is well.
  std::string why() const;
  /// Numbers sent whose result the link still owes: what a node holds for us.
  std::uint32_t in_flight() const noexcept;

 private:
  class Impl;
  explicit ClientGroup(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

const char* to_string(ClientGroup::Phase phase) noexcept;

}  // namespace sumac::proto
