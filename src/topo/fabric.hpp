#pragma once
// A fabric as its description names it: switches joined by links in any shape, hosts attached to a leaf switch by one
// port or by several (rails), and the aggregation nodes placed among them. These are plain values; validate() checks
// that they are consistent. An index into one of the lists stays valid for the fabric's life: a removed entry is marked
// as not `up` (changes.hpp) instead of erased, so trees, grants and running jobs may keep indices.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sumac::topo {

/// The effect of one direction of a link on a frame; both directions of a link are alike.
struct LinkSpec {
  std::int64_t delay_ns = 0;
  std::uint64_t rate_bits_per_s = 0;  ///< 0: no limit, a frame takes no time to serialise.
  std::uint32_t mtu_bytes = 9000;
  std::uint64_t buffer_bytes = 32U << 20;  ///< The most bytes that may wait before the link; a frame that does not fit
                                           ///< is dropped.
  double loss = 0;                         ///< Probability that a frame vanishes, 0 to 1, drawn from the fabric's seed.

  bool operator==(const LinkSpec&) const = default;
};

struct Switch {
  std::string name;
  std::uint64_t guid = 0;   ///< The switch's InfiniBand number; 0: none.
  std::string description;  ///< The switch's name in its InfiniBand fabric, for people; `name` is ours.
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
  std::string leaf;  ///< The switch that it is attached to.
  LinkSpec link;
  std::uint32_t slots = 1;  ///< Ranks that an MPI start puts here.
  bool compute = true;      ///< false: gets no rank unless named (a host that carries a node).
  std::uint64_t guid = 0;   ///< Number of the first port, as are lid and device; 0: none.
  std::uint32_t lid = 0;
  std::string device;       ///< InfiniBand's name, such as "mlx5_0"; empty: not known.
  std::vector<Rail> rails;  ///< Ports 2, 3, ...; a fabric of several planes has one in each.
  std::uint64_t shm_bytes = 0,
                tmp_bytes = 0;  ///< The sizes of a lab host's /dev/shm and /tmp; 0: no limit of their own.
  bool up = true;
};

/// The position of a node or of the manager: exactly one of the two is set. At a switch it is attached without delay or
/// rate limit (it stands for the switch itself); on a host it shares that host's only link.
struct Placement {
  std::string at_switch;
  std::string at_host;
};

struct Node {
  std::string name;
  Placement place;
  /// The rate given in the file; see link_rate_bits_per_s() in tree.hpp.
  std::optional<std::uint64_t> link_rate_bits_per_s;
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
  /// Candidates for roots: names of nodes, or of switches that have one. Empty: any node; the centre is taken.
  std::vector<std::string> roots;
  std::uint32_t trees = 1;  ///< Number of trees that the fabric shall have; see build_trees().
  std::uint32_t radix = 0;  ///< Children, hosts and nodes together, that one node may have; 0: no limit.
  std::optional<Manager> manager;
  bool daemons = true;     ///< The lab starts manager, nodes and host daemons.
  std::uint64_t seed = 1;  ///< Seed of the links' losses.
  bool offload = true;     ///< Adapters cut and join segments (TSO, GRO): a train of segments passes a device as one
                           ///< unit.
  bool multicast = true;   ///< The lab's switches carry multicasts to all ports; otherwise to none.
};

}  // namespace sumac::topo
