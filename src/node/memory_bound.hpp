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

struct MemoryBound {
  std::size_t messages = 0, queues = 0, tables = 0;  ///< Bytes, of each tree that the node works in.
  std::size_t program = 0;                           ///< Once.
  std::size_t connections = 0;                       ///< Of each tree.
  std::size_t total(std::size_t trees) const noexcept { return trees * (messages + queues + tables) + program; }
};

/// `memory`: the pool's limit. Sets what must be set for the bound to hold: message_max, answers_max, the windows' bytes.
MemoryBound bound_memory(std::size_t memory, net::TransportConfig& net, proto::NodeLimits& limits);
/// Of the whole process.
std::string describe(const MemoryBound& bound, std::size_t trees);

}  // namespace sumac::node
