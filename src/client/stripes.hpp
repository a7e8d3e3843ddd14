#pragma once
// Spreads the operations of a communicator with several groups over them. An operation of at most one OST's payload
// goes to one group, and the next one to the next group. A larger one is cut into contiguous stripes of whole elements,
// in proportion to the rates of the trees. Every member must cut alike, so the result depends only on the operation,
// the groups' agreement in Joined, and the job.
#include <cstdint>
#include <span>
#include <vector>

#include "proto/client_group.hpp"

namespace sumac::client {

inline constexpr std::uint32_t kChannelsMax = 64;  ///< The most groups of one communicator.

/// Elements [from, to) of the operation, for the communicator's group number `channel`.
struct Stripe {
  std::uint32_t channel = 0;
  proto::Range elements{};
};

struct StripeRule {
  /// For each group its share of a striped operation, in any unit. See weights_of().
  std::vector<std::uint64_t> weights;
  std::uint64_t payload_per_ost = 0;    ///< The payload of one OST.
  std::uint64_t stream_stripe_min = 0;  ///< In a stream, a stripe of fewer bytes costs more time than it saves.
};

/// A tree's rate is that of its slowest node, or of the ports by which the hosts reach it; 0: not known. The groups on
/// a tree share it.
struct ChannelRate {
  std::uint32_t tree = 0;
  std::uint64_t rate_bits_per_s = 0;
};
std::vector<std::uint64_t> weights_of(std::span<const ChannelRate> channels);

/// Returns the bytes that a tree of this rate carries in the time that one more message costs its sender and its node;
/// 0: not known.
std::uint64_t stream_stripe_min(std::span<const ChannelRate> channels, std::uint64_t chunk_bytes);

/// The size of the chunks of a stream over one tree. A node forwards a chunk only when it is complete. So a chunk as
/// large as the whole message would first go up and then down, which takes twice as long; but each chunk costs its
/// senders and nodes some time. The sum of both is least for chunks of sqrt(bytes of the message x bytes that the link
/// carries in that time). But no member knows whether another message follows, and at most one window is under way: so
/// that a series of short messages is no slower than a long one, a window of chunks must hold a train on each
/// connection (docs/adr/0039).
struct ChunkRule {
  std::uint64_t cost_bytes = 0;  ///< The bytes that the tree carries while a message is handled; 0: not known, use
                                 ///< whole chunks.
  std::uint64_t least = 0;       ///< The size for which a window fills the path up and down.
  std::uint64_t steady = 0;      ///< The size for which a window has a train on each connection of the path.
};
/// The most bytes that a kernel passes to an adapter, or gets from it, at once: none of them is at the other end before
/// all are.
inline constexpr std::uint64_t kTrainBytes = 64 << 10;
/// The facts about a tree of the job that all members know.
struct ChunkPath {
  std::uint64_t rate_bits_per_s = 0;  ///< The rate of a vector through it.
  std::uint64_t delay_ns = 0;         ///< From the farthest host to its root.
  std::uint32_t connections = 0;      ///< The connections on that path.
};
/// `groups` is the number of groups whose chunks a member handles in rotation.
ChunkRule chunk_rule(const ChunkPath& path, std::uint32_t window, std::size_t groups);
/// Returns the chunk size for a message of `bytes`: whole cache lines; 0: chunks of chunk_bytes.
std::uint32_t chunk_of(const ChunkRule& rule, std::uint64_t bytes, std::uint32_t chunk_bytes);

/// Writes the stripes in the order of the vector and returns their number (1 to the number of groups; `out` has room
/// for all of them). `turn` is the group that begins; it is advanced.
std::size_t cut_into_stripes(const StripeRule& rule, const proto::Operation& operation, std::uint64_t element_bytes,
                             std::uint32_t& turn, std::span<Stripe> out);

/// Returns the bytes of one element of the operation; 0 if type and operation cannot be combined, or if there are no
/// elements (barrier).
std::uint64_t element_bytes_of(const proto::Operation& operation);

/// Returns the operation on these elements alone, in the form for a group: ranges, spans and blocks count from
/// `elements.from`.
proto::Operation part_of(const proto::Operation& operation, std::uint64_t element_bytes, proto::Range elements);

/// Returns into how many numbers a group cuts an operation; for a TiB they need more than 32 bits.
std::uint64_t fragments_of(const proto::Operation& operation, const proto::GroupShape& shape);

}  // namespace sumac::client
