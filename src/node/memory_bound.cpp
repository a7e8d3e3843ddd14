#include "node/memory_bound.hpp"

#include <algorithm>

namespace sumac::node {
namespace {

constexpr std::size_t kProgramBytes = 48u << 20;  // The bytes of gRPC and the program itself.

std::size_t mib(std::size_t bytes) { return (bytes + (1u << 20) - 1) >> 20; }

}  // namespace

std::size_t strangers_max(std::size_t connections) noexcept {
  constexpr std::size_t kFew = 16;
  return std::max({std::size_t{1}, connections / 8, std::min(kFew, connections / 2)});
}

std::size_t small_bytes(std::size_t memory, const net::TransportConfig& net, const proto::NodeLimits& limits) noexcept {
  // Each connection may be receiving one small message; the rest is the most that the OSTs of all groups hold.
  const auto wanted = net.connections_max * BufferPool::footprint(BufferPool::kSmall) +
                      limits.osts * proto::number_bytes(limits.payload_max);
  return std::min(wanted, memory / 8);
}

MemoryBound bound_memory(std::size_t memory, net::TransportConfig& net, proto::NodeLimits& limits) {
  net.message_max = std::max(limits.payload_max, limits.chunk_max) + 256;
  net.answers_max = kAnswersMax;
  limits.window_bytes = memory / 8 * 5;
  limits.stream_bytes = memory / 2;
  // The rest of the memory is for incoming messages: each peer may have begun one and never end it.
  net.connections_max = std::clamp((memory - limits.window_bytes) / BufferPool::footprint(net.message_max),
                                   kConnectionsMin, net.connections_max);
  limits.links = static_cast<std::uint32_t>(net.connections_max);
  net.stranger_bytes = kStrangerBytes;
  net.strangers_max = strangers_max(net.connections_max);
  return {.messages = memory,
          .queues = net::queue_bytes_max(net),
          .tables = proto::table_bytes(limits, net.connections_max),
          .program = kProgramBytes,
          .connections = net.connections_max};
}

std::string shortage(const MemoryBound& bound, const net::TransportConfig& net) {
  const auto begun = bound.connections * BufferPool::footprint(net.message_max),
             room = bound.messages - bound.messages / 8 * 5;
  if (begun <= room) return {};
  return fmt::format(
      "memory of {} MiB is not enough for a message of up to {} bytes on each of {} connections: a member that stops "
      "in the middle "
      "of one may hold up others; give {} MiB (SUMAC_NODE_MEMORY), or smaller chunks (SUMAC_NODE_CHUNK_MAX)",
      mib(bound.messages), net.message_max, bound.connections, mib(begun / 3 * 8) + 1);
}

std::string describe(const MemoryBound& bound, std::size_t trees) {
  const std::string where = trees == 1 ? "" : fmt::format(" in {} trees", trees);
  return fmt::format(
      "memory: at most {} bytes{}: {} MiB of messages (SUMAC_NODE_MEMORY), {} of queues to {} connections, {} of "
      "tables, {} of the program",
      bound.total(trees), where, mib(trees * bound.messages), mib(trees * bound.queues), trees * bound.connections,
      mib(trees * bound.tables), mib(bound.program));
}

}  // namespace sumac::node
