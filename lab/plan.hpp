#pragma once
// The lab's plan of a fabric: Places (one set of namespaces each) with their ports, links in each direction, and for
// each pair of ports the links that a frame crosses. Everything is known beforehand: the switch looks nothing up and
// learns nothing.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/netlink.hpp"
#include "topo/fabric.hpp"

namespace sumac::lab {

enum class PlaceKind { host, node, manager };

/// A Place has addresses: it is a host, or a node or the manager at a switch. Ports of one Place are neighbours in
/// Plan::ports.
struct Place {
  std::string name;
  PlaceKind kind = PlaceKind::host;
  std::size_t first_port = 0;
  std::size_t port_count = 0;
};

/// One network device of a Place. Parts of the fabric that no link joins are planes: each has addresses of its own, so
/// the kernel's routing finds the right port.
struct Port {
  std::string device;  ///< "lab0", "lab1", ... or the fabric file's name.
  std::size_t place = 0;
  std::string at;  ///< The switch that it is attached to.
  std::uint32_t plane = 0;
  std::uint32_t ip = 0;
  Mac mac{};
};

struct DirectedLink {
  std::string from;
  std::string to;
  topo::LinkSpec spec;
};

/// A step of a multicast on its routes to all ports, which part where the links do: across a link, or out at a port.
struct Branch {
  static constexpr std::uint16_t kNone = 0xFFFF;
  std::uint16_t link = kNone;
  std::uint16_t port = kNone;
  std::uint32_t end = 0;  ///< The steps that follow it end before this index.
};

struct Plan {
  std::vector<Place> places;
  std::vector<Port> ports;
  std::vector<DirectedLink> links;
  std::vector<std::vector<std::uint16_t>> paths;  ///< [from * ports + to]: indices into links; empty between planes.
  /// [port]: a multicast's routes from there to all other ports of its plane, each link once. Empty: it reaches no
  /// port.
  std::vector<std::vector<Branch>> floods;
  std::uint32_t mtu_bytes = 9000;  ///< The least of all links: every device has it.
  std::uint64_t seed = 1;
  bool offload = true;  ///< See topo::Fabric; off when a link loses frames, since losses are drawn frame by frame.

  const std::vector<std::uint16_t>& path(std::size_t from, std::size_t to) const {
    return paths[from * ports.size() + to];
  }
  std::span<const Port> ports_of(const Place& place) const {
    return std::span(ports).subspan(place.first_port, place.port_count);
  }
  const Port& first_port_of(const Place& place) const { return ports[place.first_port]; }
  /// Returns the address under which `from` reaches `to`, in the first plane that both are in. None: they share no
  /// plane.
  std::optional<std::uint32_t> address_for(const Place& from, const Place& to) const;
};

inline constexpr unsigned kPrefixBits = 16;

/// Makes the plan. The fabric must have passed topo::validate().
Plan make_plan(const topo::Fabric& fabric);

/// Returns the Place of the manager or of a node: its own if it is at a switch, else that of its host.
const Place& place_of(const Plan& plan, const topo::Placement& placement, std::string_view own_name);
const Place* find_place(const Plan& plan, std::string_view name);

std::string ip_text(std::uint32_t ip);
/// Returns 02:53:4d:00 and the index of the port in two bytes: the switch reads it back without a table.
Mac mac_of(std::size_t port_index);
inline std::size_t port_index_of(const std::uint8_t* mac) { return std::size_t{mac[4]} << 8U | mac[5]; }

}  // namespace sumac::lab
