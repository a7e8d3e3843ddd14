#include "client/stripes.hpp"

#include <algorithm>
#include <cmath>

#include "coll/cut.hpp"
#include "cost/method.hpp"

namespace sumac::client {
namespace {

using proto::Range;

/// The cost of one more message at a client and a node together, measured on a 2-core VM (64 KiB messages: 15 to
/// 25 us).
constexpr std::uint64_t kMessageCostNs = 20'000;
constexpr std::uint64_t kCacheLine = 64;
constexpr std::uint64_t kRateMax = std::uint64_t{1} << 50;
/// The cost of one more chunk at all its senders, its node and its receivers together: five times that, for nodes with
/// many children.
constexpr std::uint64_t kChunkCostNs = 100'000;
constexpr std::uint64_t kChunkMin = 1024;  ///< The same as the largest fragment of the low-latency tree.
/// With so many chunks, a lone message passes a tree of two levels (four connections up and down) in 11/8 of the time
/// of one link; as a whole it would take 4 link times.
constexpr std::uint64_t kChunksMin = 8;

Range clipped(Range range, std::uint64_t count) { return {std::min(range.from, count), std::min(range.to, count)}; }

/// Returns the part of `range` that lies in `elements`, counted from the beginning of `elements`; an empty one is {0,
/// 0}.
Range counted_from(Range elements, Range range) {
  const std::uint64_t from = std::max(range.from, elements.from), to = std::min(range.to, elements.to);
  if (from >= to) return {0, 0};
  return {from - elements.from, to - elements.from};
}

/// A stripe begins at a multiple of this: whole fragments on the low-latency tree (otherwise there would be more of
/// them), cache lines in streams.
std::uint64_t grain_of(const StripeRule& rule, const proto::Operation& operation, std::uint64_t element_bytes) {
  if (!operation.streaming) return std::max<std::uint64_t>(1, rule.payload_per_ost / element_bytes);
  return kCacheLine % element_bytes == 0 ? kCacheLine / element_bytes : 1;
}

}  // namespace

std::vector<std::uint64_t> weights_of(std::span<const ChannelRate> channels) {
  std::uint64_t fastest = 0;
  for (const auto& channel : channels) fastest = std::max(fastest, channel.rate_bits_per_s);
  std::vector<std::uint64_t> weights;
  for (const auto& channel : channels) {
    const auto rate = channel.rate_bits_per_s == 0 ? std::max<std::uint64_t>(1, fastest) : channel.rate_bits_per_s;
    const auto sharing = std::max<std::ptrdiff_t>(1, std::ranges::count(channels, channel.tree, &ChannelRate::tree));
    // The unit is fine enough that thirds and sevenths lose little. No link is as fast as kRateMax, which keeps the sum
    // of all weights within 64 bits, whatever the manager sent.
    weights.push_back(std::max<std::uint64_t>(1, std::min(rate, kRateMax) * 64 / static_cast<std::uint64_t>(sharing)));
  }
  return weights;
}

std::uint64_t stream_stripe_min(std::span<const ChannelRate> channels, std::uint64_t chunk_bytes) {
  std::uint64_t fastest = 0;
  for (const auto& channel : channels) fastest = std::max(fastest, channel.rate_bits_per_s);
  if (fastest == 0) return std::max<std::uint64_t>(1, chunk_bytes);
  const auto bytes = cost::bytes_within(kMessageCostNs, fastest);
  return std::clamp<std::uint64_t>(bytes, kCacheLine, std::max<std::uint64_t>(kCacheLine, chunk_bytes));
}

ChunkRule chunk_rule(const ChunkPath& path, std::uint32_t window, std::size_t groups) {
  const auto carried_in = [&](std::uint64_t ns) { return cost::bytes_within(ns, path.rate_bits_per_s); };
  // Half a window is on its way up and down while the other half is being handled.
  return {carried_in(kChunkCostNs * groups), carried_in(2 * path.delay_ns) / std::max(1u, window / 2),
          2 * path.connections * kTrainBytes / std::max(1u, window)};
}

std::uint32_t chunk_of(const ChunkRule& rule, std::uint64_t bytes, std::uint32_t chunk_bytes) {
  if (rule.cost_bytes == 0) return 0;
  const auto best = std::sqrt(static_cast<double>(bytes) * static_cast<double>(rule.cost_bytes));
  const auto steady = std::min(rule.steady, bytes / kChunksMin);
  const auto wanted = std::max({static_cast<std::uint64_t>(best), rule.least, steady, kChunkMin});
  return wanted >= chunk_bytes ? 0 : static_cast<std::uint32_t>(wanted / kCacheLine * kCacheLine);
}

std::uint64_t element_bytes_of(const proto::Operation& operation) {
  if (operation.coll == wire::Coll::barrier) return 0;
  return operation.op == Op::null ? width(operation.dtype)
                                  : element_bytes(operation.dtype, operation.op, operation.tag_dtype);
}

std::size_t cut_into_stripes(const StripeRule& rule, const proto::Operation& operation, std::uint64_t element_bytes,
                             std::uint32_t& turn, std::span<Stripe> out) {
  const auto channels = static_cast<std::uint32_t>(rule.weights.size());
  const std::uint64_t count = operation.count;
  const std::uint32_t first = turn % channels;
  std::uint64_t wanted = 1;
  if (element_bytes > 0 && count > 0) {
    const std::uint64_t room = std::max<std::uint64_t>(1, rule.payload_per_ost / element_bytes);
    const std::uint64_t least = std::max<std::uint64_t>(1, rule.stream_stripe_min / element_bytes);
    wanted = operation.streaming ? count / least : coll::cut(count, {.most = room}).count;
  }
  const auto stripes = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, channels));
  turn = (first + stripes) % channels;
  if (stripes == 1) {
    out[0] = {first, {0, count}};
    return 1;
  }

  const std::uint64_t grain = grain_of(rule, operation, element_bytes);
  std::uint64_t total = 0, behind = 0;
  for (std::uint32_t i = 0; i < stripes; ++i) total += rule.weights[(first + i) % channels];
  std::size_t written = 0;
  std::uint64_t from = 0;
  for (std::uint32_t i = 0; i < stripes; ++i) {
    const std::uint32_t channel = (first + i) % channels;
    behind += rule.weights[channel];
    const std::uint64_t to = coll::share_end(count, grain, behind, total);
    if (to > from) out[written++] = {channel, {from, to}};
    from = std::max(from, to);
  }
  return written;
}

proto::Operation part_of(const proto::Operation& operation, std::uint64_t element_bytes, Range elements) {
  proto::Operation part = operation;
  const Range give = clipped(operation.give, operation.count), keep = clipped(operation.keep, operation.count);
  part.count = elements.size();
  part.give = counted_from(elements, give);
  part.keep = counted_from(elements, keep);
  part.src = part.dst = {};
  if (part.give.size() > 0)
    part.src = operation.src.subspan((elements.from + part.give.from - give.from) * element_bytes,
                                     part.give.size() * element_bytes);
  if (part.keep.size() > 0)
    part.dst = operation.dst.subspan((elements.from + part.keep.from - keep.from) * element_bytes,
                                     part.keep.size() * element_bytes);
  if (operation.block != 0) {
    const std::uint64_t at = elements.from;
    part.first_block = at <= operation.first_block
                           ? operation.first_block - at
                           : (operation.block - (at - operation.first_block) % operation.block) % operation.block;
  }
  return part;
}

std::uint64_t fragments_of(const proto::Operation& operation, const proto::GroupShape& shape) {
  const auto element = element_bytes_of(operation);
  if (element == 0 || operation.count == 0) return 1;
  const std::uint64_t room = std::max<std::uint64_t>(1, fragment_bytes(operation, shape) / element);
  const auto fragments = [room](std::uint64_t elements) { return coll::cut(elements, {.most = room}).count; };
  if (operation.block == 0) return fragments(operation.count);
  const std::uint64_t behind = operation.count - std::min(operation.first_block, operation.count);
  return fragments(std::min(operation.first_block, operation.count)) +
         behind / operation.block * fragments(operation.block) + fragments(behind % operation.block);
}

}  // namespace sumac::client
