#pragma once
// From a fabric to what the lab makes of it: places (one set of namespaces each), links in each direction, and for each
// pair of places the links that a frame takes. All known beforehand: the switch looks nothing up and learns nothing.
#include <cstdint>
#include <string>
#include <vector>

#include "lab/netlink.hpp"
#include "topo/fabric.hpp"

namespace sumac::lab {

inline constexpr const char* kDevice = "lab0";  ///< The network device of each place.

enum class PlaceKind { host, node, manager };

/// Somebody with an address: a host, or a node or the manager that stands at a switch.
struct Place {
  std::string name;
  PlaceKind kind = PlaceKind::host;
  std::string at;  ///< The switch it hangs on.
  std::uint32_t ip = 0;
  Mac mac{};
};

struct DirectedLink {
  std::string from;
  std::string to;
  topo::LinkSpec spec;
};

struct Plan {
  std::vector<Place> places;
  std::vector<DirectedLink> links;
  std::vector<std::vector<std::uint16_t>> paths;  ///< [from * places + to]: indices into links.
  std::uint32_t mtu_bytes = 9000;                 ///< The least of all links: every device has it.
  std::uint64_t seed = 1;
  bool offload = true;  ///< See topo::Fabric; off where a link loses frames, since losses are drawn frame by frame.

  const std::vector<std::uint16_t>& path(std::size_t from, std::size_t to) const {
    return paths[from * places.size() + to];
  }
};

inline constexpr unsigned kPrefixBits = 16;

/// The fabric must have passed topo::validate().
Plan make_plan(const topo::Fabric& fabric);

/// The place of the manager or of a node: its own where it stands at a switch, else that of its host.
const Place& place_of(const Plan& plan, const topo::Placement& placement, const std::string& own_name);
const Place* find_place(const Plan& plan, const std::string& name);

std::string ip_text(std::uint32_t ip);
/// 02:53:4d:00 and the index of the place in two bytes: the switch reads it back without a table.
Mac mac_of(std::size_t place_index);
inline std::size_t place_index_of(const std::uint8_t* mac) { return std::size_t{mac[4]} << 8U | mac[5]; }

}  // namespace sumac::lab
