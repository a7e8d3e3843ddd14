#pragma once
// What the tree builder walks: the switches and links that are up, in compact form. Parts of the fabric that no link joins
// are its planes. Distances count links; those of many sources at once are found 64 at a time, a bit each, so that a
// thousand sources on a thousand switches take milliseconds.
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topo/fabric.hpp"

namespace sumac::topo {

/// No index: not there, not reached, not known.
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

class SwitchGraph {
 public:
  struct Edge {
    std::uint32_t to = 0;
    std::uint32_t link = 0;  ///< Index into Fabric::links.
  };
  /// How far the hosts are from a place.
  struct Reach {
    std::uint32_t farthest = 0;
    std::uint64_t sum = 0;  ///< Over all hosts.
  };

  /// Keeps views of the fabric's names: it must outlive the graph.
  explicit SwitchGraph(const Fabric& fabric);

  std::uint32_t size() const { return static_cast<std::uint32_t>(plane_.size()); }
  std::span<const Edge> edges(std::uint32_t at) const {
    return std::span(edges_).subspan(first_[at], first_[at + 1] - first_[at]);
  }
  std::uint32_t find(std::string_view switch_name) const;
  /// Planes are numbered by their first switch; kNone for a switch that is down.
  std::uint32_t plane_of(std::uint32_t at) const { return plane_[at]; }
  std::uint32_t plane_count() const { return plane_count_; }

  struct Walk {
    std::vector<std::uint32_t> distance;  ///< kNone: not reached.
    std::vector<std::uint32_t> order;     ///< What is reached, the nearest first.
  };
  Walk walk(std::uint32_t from) const;

  /// For each source how far the hosts are, `hosts_at[switch]` of them at each switch.
  std::vector<Reach> reach(std::span<const std::uint32_t> sources, std::span<const std::uint32_t> hosts_at) const;
  /// A row of size() distances for each source; kFar: not reached, or 65,535 links and more.
  static constexpr std::uint16_t kFar = 0xFFFF;
  std::vector<std::uint16_t> distances(std::span<const std::uint32_t> sources) const;

 private:
  /// Calls visit(switch, bits of the sources first[i] that reach it now, links) for a batch of at most 64 sources.
  template <class Visit>
  void walk_batch(std::span<const std::uint32_t> sources, Visit visit) const;

  std::unordered_map<std::string_view, std::uint32_t> index_;
  std::vector<std::uint32_t> first_;  ///< Of each switch's edges, and one behind.
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> plane_;
  std::uint32_t plane_count_ = 0;
};

}  // namespace sumac::topo
