#pragma once
// A fabric as its description names it: switches joined by links in any shape, hosts that hang on a leaf switch by one
// port or by several (rails), and the aggregation nodes placed among them. Plain values; validate() says whether they make
// sense together. An index into one of the lists stays good for the fabric's life: what leaves is marked as not `up`
// (changes.hpp), it is not erased, so trees, grants and running jobs may hold indices.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sumac::topo {

/// What one direction of a link does to a frame; both directions of a link are alike.
struct LinkSpec {
  std::int64_t delay_ns = 0;
  std::uint64_t rate_bits_per_s = 0;  ///< 0: no limit, a frame takes no time to serialise.
  std::uint32_t mtu_bytes = 9000;
  std::uint64_t buffer_bytes = 32U << 20;  ///< What may wait before the link; a frame that does not fit is dropped.
  double loss = 0;                         ///< Chance of a frame to vanish, 0 to 1, drawn from the fabric's seed.

  bool operator==(const LinkSpec&) const = default;
};

struct Switch {
  std::string name;
  std::uint64_t guid = 0;   ///< InfiniBand's number of it; 0: none.
  std::string description;  ///< What the fabric calls it, for people; names are ours.
  bool up = true;

  Switch() = default;
  Switch(std::string its_name) : name(std::move(its_name)) {}  // NOLINT: most descriptions are lists of names
  Switch(const char* its_name) : name(its_name) {}             // NOLINT
};

struct SwitchLink {
  std::string a;
  std::string b;
  LinkSpec spec;
  std::uint32_t a_port = 0;  ///< 0: not known. Two switches may be joined by several links.
  std::uint32_t b_port = 0;
  bool up = true;
};

/// A further port of a host, beyond the first.
struct Rail {
  std::string leaf;
  LinkSpec link;
  std::uint64_t guid = 0;
  std::uint32_t lid = 0;
  std::string device;
};

struct Host {
  std::string name;
  std::string leaf;  ///< The switch it hangs on.
  LinkSpec link;
  std::uint32_t slots = 1;  ///< Ranks that a start of MPI puts here.
  bool compute = true;      ///< false: gets no rank unless named (a host that carries a node).
  std::uint64_t guid = 0;   ///< Of the first port, as lid and device; 0: none.
  std::uint32_t lid = 0;
  std::string device;       ///< As InfiniBand names it, "mlx5_0"; empty: not known.
  std::vector<Rail> rails;  ///< Ports 2, 3, ...; a fabric of several planes has one in each.
  bool up = true;
};

/// Where a node or the manager is: exactly one of the two is set. At a switch it hangs without delay or rate limit (it
/// stands for the switch itself); on a host it shares that host's only link.
struct Placement {
  std::string at_switch;
  std::string at_host;
};

struct Node {
  std::string name;
  Placement place;
  std::optional<std::uint64_t> link_rate_bits_per_s;  ///< As the file says; see link_rate_bits_per_s() in tree.hpp.
  std::uint64_t guid = 0;
  std::uint32_t lid = 0;
  bool up = true;
};

struct Manager {
  Placement place;
  std::uint16_t port = 6126;
};

struct Fabric {
  std::string name;
  std::vector<Switch> switches;
  std::vector<SwitchLink> links;
  std::vector<Host> hosts;
  std::vector<Node> nodes;
  /// Where roots may be: names of nodes, or of switches that have one. Empty: any node; the centre is taken.
  std::vector<std::string> roots;
  std::uint32_t trees = 1;  ///< How many trees the fabric is to have; see build_trees().
  std::uint32_t radix = 0;  ///< Children, hosts and nodes together, that one node may have; 0: no limit.
  std::optional<Manager> manager;
  bool daemons = true;     ///< The lab starts manager, nodes and host daemons.
  std::uint64_t seed = 1;  ///< Of the links' losses.
  bool offload = true;     ///< Adapters cut and join segments (TSO, GRO): a train of them passes a device as one piece.
  bool multicast = true;   ///< The lab's switches carry multicasts to all ports; else to none.
};

}  // namespace sumac::topo
