#pragma once
// The domains of a host: parts of it whose ranks share memory that is close to all of them. A domain is a NUMA node
// where nodes divide sockets (four nodes on each socket of an EPYC, sub-NUMA clustering), else a socket.
//
// The exchanged places of a team's ranks decide alone, so all its ranks decide alike without a message:
//   - A rank that is bound to no node (no socket) may run on any, so nodes (sockets) can divide its host only if every
//     rank of the host is bound to one. If neither is so, the host is one domain.
//   - If both are known, nodes are used if there are more of them than sockets and no node spans two sockets. Where
//     there are as many, both cut alike, and the socket is the word that people know.
//   - Only nodes on which ranks run count. A node without processors (memory only) is no rank's node.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "topo/place.hpp"

namespace sumac::topo {

/// The object that divides a host.
enum class DomainKind : std::uint8_t {
  host,  ///< Nothing: the host is one domain, because some rank may run anywhere on it.
  socket,
  numa,
};

struct Domains {
  /// [rank] Numbered from 0 on each host, in the order of the sockets' or nodes' own numbers.
  std::vector<std::int32_t> of;
  std::vector<DomainKind> kind;  ///< [rank] The same at all ranks of a host.

  bool operator==(const Domains&) const = default;
};

/// Returns the domains of a team's ranks. Each rank of an unknown host is a host by itself.
Domains find_domains(std::span<const Place> places);

/// Returns the number of domains on all hosts together.
int count(const Domains& domains, std::span<const Place> places);

/// Returns a clause for users: "cut by NUMA node: 8 domains", "cut by socket: 4 domains on 2 hosts; not cut: 1 host",
/// "not cut: all ranks are on one socket", "not cut: rank 3 is bound to no socket and no NUMA node".
std::string describe(const Domains& domains, std::span<const Place> places);

}  // namespace sumac::topo
