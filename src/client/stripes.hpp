#pragma once
// How an operation of a communicator with several groups is spread over them. Up to one OST's payload it goes to one group, and the next
// one to the next group; a larger one is cut into contiguous stripes of whole elements, in proportion to the rates of the trees.
// Every member must cut alike, so nothing counts here but the operation, what the groups agreed on in Joined, and the job.
#include <cstdint>
#include <span>
#include <vector>

#include "proto/client_group.hpp"

namespace sumac::client {

inline constexpr std::uint32_t kChannelsMax = 64;  ///< Groups of one communicator.

/// Elements [from, to) of the operation, for the communicator's group number `channel`.
struct Stripe {
  std::uint32_t channel = 0;
  proto::Range elements{};
};

struct StripeRule {
  /// Of each group: its part of what is striped, in any unit. See weights_of().
  std::vector<std::uint64_t> weights;
  std::uint64_t payload_max = 0;        ///< One OST's.
  std::uint64_t stream_stripe_min = 0;  ///< Streaming: a stripe of fewer bytes costs more than it saves.
};

/// A tree's rate is that of its slowest node, or of the ports by which the hosts reach it; 0: none is known. It is shared by the groups on it.
struct ChannelRate {
  std::uint32_t tree = 0;
  std::uint64_t rate_bits_per_s = 0;
};
std::vector<std::uint64_t> weights_of(std::span<const ChannelRate> channels);

/// Bytes that a tree of this rate carries in the time that one more message costs its sender and its node; 0: not known.
std::uint64_t stream_stripe_min(std::span<const ChannelRate> channels, std::uint64_t chunk_max);

/// How finely a stream over one tree is cut. A chunk goes on only when all of it is there, so one of as many bytes as the whole message
/// would go up first and down then, and take twice as long; but each costs its senders and nodes some time. Both are least together
/// where a chunk has sqrt(bytes of the message x bytes that the link carries in that time).
/// But nobody knows whether another message follows, and no more than a window is under way: so that a row of short messages is no slower
/// than a long one, a window of pieces is worth a train on each connection (docs/adr/0041).
struct PieceRule {
  std::uint64_t cost_bytes = 0;  ///< What the tree carries while a message is handled; 0: not known, whole chunks.
  std::uint64_t least = 0;       ///< So many that a window of them fills the way up and down.
  std::uint64_t steady = 0;      ///< So many that a window of them has a train on each connection of it.
};
/// What a kernel hands to an adapter, or gets from it, in one: nothing of it is at the other end before all of it is.
inline constexpr std::uint64_t kTrainBytes = 64 << 10;
/// A tree of the job, as all members know it.
struct PieceWay {
  std::uint64_t rate_bits_per_s = 0;  ///< Of a vector through it.
  std::uint64_t delay_ns = 0;         ///< From the farthest host to its root,
  std::uint32_t connections = 0;      ///< and how many on that way.
};
/// `groups`: whose chunks a member handles in turn.
PieceRule piece_rule(const PieceWay& way, std::uint32_t window, std::size_t groups);
/// For a message of so many bytes: whole cache lines; 0: chunks of chunk_max.
std::uint32_t piece_of(const PieceRule& rule, std::uint64_t bytes, std::uint32_t chunk_max);

/// Writes the stripes, in the order of the vector; returns how many (1 to the number of groups; `out` has room for all of them).
/// `turn`: which group begins; moved on.
std::size_t cut(const StripeRule& rule, const proto::Operation& operation, std::uint64_t element_bytes,
                std::uint32_t& turn, std::span<Stripe> out);

/// Bytes of one element of the operation; 0: type and operation don't go together (or it has no elements: barrier).
std::uint64_t element_bytes_of(const proto::Operation& operation);

/// The operation on these elements alone, as a group takes it: ranges, spans and blocks counted from `elements.from`.
proto::Operation part_of(const proto::Operation& operation, std::uint64_t element_bytes, proto::Range elements);

/// Into how many numbers a group cuts an operation: of a TiB more than 32 bits tell.
std::uint64_t fragments_of(const proto::Operation& operation, const proto::GroupShape& shape);

}  // namespace sumac::client
