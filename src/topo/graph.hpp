#pragma once
// Distances and routes. Vertices are switches, then hosts; edges are the links between switches, then one per port of a
// host. A host is an end of a route, never in the middle: it does not forward. Everything is computed once: emulated
// fabrics are small (hundreds of vertices), and the lab asks often. Trees of large fabrics are built on
// switch_graph.hpp.
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "topo/fabric.hpp"

namespace sumac::topo {

inline constexpr std::uint32_t kUnreachable = std::numeric_limits<std::uint32_t>::max();

/// One link on a route. `forward`: from `a` to `b` of a switch link, or from the host to its leaf.
struct Hop {
  std::uint32_t edge = 0;
  bool forward = true;

  bool operator==(const Hop&) const = default;
};

/// A port by which a host enters the fabric: the first one, or a rail.
struct HostPort {
  std::uint32_t host = 0;  ///< Index into Fabric::hosts.
  std::uint32_t rail = 0;  ///< 0: the first port; n: rails[n - 1].
  std::uint32_t edge = 0;
  std::uint32_t leaf = 0;  ///< The switch's vertex.
};

class Graph {
 public:
  /// The fabric must have passed validate(), and must outlive the graph.
  explicit Graph(const Fabric& fabric);

  std::uint32_t vertex_count() const { return static_cast<std::uint32_t>(adjacency_.size()); }
  std::uint32_t edge_count() const { return static_cast<std::uint32_t>(fabric_.links.size() + ports_.size()); }
  /// Ports are sorted by host, its first port before its rails.
  const std::vector<HostPort>& ports() const { return ports_; }
  std::uint32_t host_vertex(std::uint32_t host_index) const;
  std::optional<std::uint32_t> find(std::string_view switch_or_host) const;

  const LinkSpec& spec(std::uint32_t edge) const;

  /// Counts the links between two vertices; kUnreachable between planes.
  std::uint32_t distance(std::uint32_t from, std::uint32_t to) const;
  /// Empty if there is none, and from a vertex to itself.
  std::vector<Hop> route(std::uint32_t from, std::uint32_t to) const;

 private:
  struct Neighbour {
    std::uint32_t vertex;
    Hop hop;
  };
  /// The result of a walk from `source`: at every vertex the distance, and the last step of the route to it.
  struct Reach {
    std::vector<std::uint32_t> distance;
    std::vector<Hop> last;
    std::vector<std::uint32_t> before;
  };
  Reach walk(std::uint32_t source) const;

  const Fabric& fabric_;
  std::vector<HostPort> ports_;
  std::vector<std::vector<Neighbour>> adjacency_;
  std::vector<Reach> reach_;
};

}  // namespace sumac::topo
