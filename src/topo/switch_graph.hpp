#pragma once
// The tree builder walks this graph: the switches and links that are up, in compact form. Parts of the fabric that no
// link joins are its planes. Distances count links; those of many sources are found 64 at a time, with one bit for
// each, so that a thousand sources on a thousand switches take milliseconds.
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topo/fabric.hpp"

namespace sumac::topo {

/// Stands for a missing index: the thing does not exist, is not reached, or is not known.
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

class SwitchGraph {
 public:
  struct Edge {
    std::uint32_t to = 0;
    std::uint32_t link = 0;  ///< Index into Fabric::links.
  };
  /// The distance of the hosts from one switch.
  struct Reach {
    std::uint32_t farthest = 0;
    std::uint64_t sum = 0;  ///< Sum over all hosts.
  };

  /// The graph keeps views of the fabric's names: the fabric must outlive it.
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
    std::vector<std::uint32_t> order;     ///< The switches that are reached, the nearest first.
  };
  Walk walk(std::uint32_t from) const;

  /// Returns for each source the distance of the hosts, `hosts_at[switch]` of them at each switch.
  std::vector<Reach> reach(std::span<const std::uint32_t> sources, std::span<const std::uint32_t> hosts_at) const;
  /// Returns a row of size() distances for each source; kFar: not reached, or 65,535 links and more.
  static constexpr std::uint16_t kFar = 0xFFFF;
  std::vector<std::uint16_t> distances(std::span<const std::uint32_t> sources) const;

 private:
  /// Calls visit(switch, bits of the sources first[i] that reach it now, links) for a batch of at most 64 sources.
  template <class Visit>
  void walk_batch(std::span<const std::uint32_t> sources, Visit visit) const;

  std::unordered_map<std::string_view, std::uint32_t> index_;
  std::vector<std::uint32_t> first_;  ///< [switch]: the first of its edges; one more entry marks the end.
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> plane_;
  std::uint32_t plane_count_ = 0;
};

}  // namespace sumac::topo
