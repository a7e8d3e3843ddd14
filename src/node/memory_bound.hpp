#pragma once
// What a node never exceeds, whatever its children do: said at start, so that a host, a DPU or a cgroup can be sized for it.
// Messages lie in a pool with a limit of its own (at the limit nothing more is read); windows are promised only as far as five eighths
// of it go, streaming ones as half of it does; a child that does not take its answers is not read; everything else is a table of a size
// known beforehand.
#include <cstddef>
#include <string>

#include "net/transport.hpp"
#include "proto/node.hpp"

namespace sumac::node {

/// What a child may leave lying of small answers before it is read again.
inline constexpr std::size_t kAnswersMax = 64;
/// Of a peer that has not proven who it is: more than any message of the handshake and of what may stand directly behind it.
inline constexpr std::size_t kStrangerBytes = 256;
/// A node with memory for fewer connections takes so many all the same: with fewer it is of no use.
inline constexpr std::size_t kConnectionsMin = 16;

/// How many of a node's connections those may hold that have not proven who they are: an eighth. Of a small node more, up to half: its
/// own ranks come all at once, and the oldest of too many strangers is sent away.
std::size_t strangers_max(std::size_t connections) noexcept;

/// Bytes of the pool for small messages only: whatever large ones wait for, barriers and control messages have room.
std::size_t small_bytes(std::size_t memory, const net::TransportConfig& net, const proto::NodeLimits& limits) noexcept;

struct MemoryBound {
  std::size_t messages = 0, queues = 0, tables = 0;  ///< Bytes, of each tree that the node works in.
  std::size_t program = 0;                           ///< Once.
  std::size_t connections = 0;                       ///< Of each tree.
  std::size_t total(std::size_t trees) const noexcept { return trees * (messages + queues + tables) + program; }
};

/// `memory`: the pool's limit. Sets what must be set for the bound to hold: message_max, answers_max, the windows' bytes, and as many
/// connections as there is memory for the message that each may have begun to send; strangers_max() of them for strangers.
MemoryBound bound_memory(std::size_t memory, net::TransportConfig& net, proto::NodeLimits& limits);
/// Empty: there is memory for a message of each connection. Else what to change, for people.
std::string shortage(const MemoryBound& bound, const net::TransportConfig& net);
/// Of the whole process.
std::string describe(const MemoryBound& bound, std::size_t trees);

}  // namespace sumac::node
