#pragma once
// The memory that a node never exceeds, whatever its children do. It is logged at the start, so that a host, a DPU or a
// cgroup can be sized for it.
// Messages lie in a pool with a limit; at the limit the node reads nothing more. Windows are granted up to five eighths
// of the pool, streaming windows up to half of it. A child that does not read its answers is not read from. Everything
// else is a table of a known size.
#include <cstddef>
#include <string>

#include "net/transport.hpp"
#include "proto/node.hpp"

namespace sumac::node {

/// The small answers that a child may leave unread before the node stops reading from it.
inline constexpr std::size_t kAnswersMax = 64;
/// The unread bytes of a peer that has not proven its identity: more than any handshake message and what may follow it
/// directly.
inline constexpr std::size_t kStrangerBytes = 256;
/// The least number of connections, also of a node whose memory is for fewer: with fewer a node is useless.
inline constexpr std::size_t kConnectionsMin = 16;

/// Returns how many of a node's connections may belong to peers that have not proven their identity: an eighth, but on
/// a small node up to half. Its own ranks all connect at once, and if there are too many strangers the oldest is
/// disconnected.
std::size_t strangers_max(std::size_t connections) noexcept;

/// Returns the part of the pool that is reserved for small messages, so that barriers and control messages have memory
/// while large messages wait for it.
std::size_t small_bytes(std::size_t memory, const net::TransportConfig& net, const proto::NodeLimits& limits) noexcept;

struct MemoryBound {
  std::size_t messages = 0, queues = 0, tables = 0;  ///< The bytes of each tree that the node works in.
  std::size_t program = 0;                           ///< The bytes that the process needs once.
  std::size_t connections = 0;                       ///< The connections of each tree.
  std::size_t total(std::size_t trees) const noexcept { return trees * (messages + queues + tables) + program; }
};

/// `memory` is the limit of the pool. Sets the values that make the bound hold: message_max, answers_max, the bytes of
/// the windows, strangers_max, and as many connections as there is memory for the one message that each may have begun
/// to send.
MemoryBound bound_memory(std::size_t memory, net::TransportConfig& net, proto::NodeLimits& limits);
/// Returns an empty string if there is memory for a message of each connection; otherwise the remedy, for people.
std::string shortage(const MemoryBound& bound, const net::TransportConfig& net);
/// Describes the memory of the whole process.
std::string describe(const MemoryBound& bound, std::size_t trees);

}  // namespace sumac::node
