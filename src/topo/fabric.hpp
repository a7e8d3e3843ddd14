#pragma once
// A fabric as its description names it: switches joined by links into one tree, hosts that hang on a leaf switch, and
// the aggregation nodes placed among them. Plain values; validate() says whether they make sense together.
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

struct SwitchLink {
  std::string a;
  std::string b;
  LinkSpec spec;
};

struct Host {
  std::string name;
  std::string leaf;  ///< The switch it hangs on.
  LinkSpec link;
  std::uint32_t slots = 1;  ///< Ranks that a start of MPI puts here.
  bool compute = true;      ///< false: gets no rank unless named (a host that carries a node).
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
  std::optional<std::uint64_t> link_rate_bits_per_s;  ///< As the file says; see link_rate().
};

struct Manager {
  Placement place;
  std::uint16_t port = 6126;
};

struct Fabric {
  std::string name;
  std::vector<std::string> switches;
  std::vector<SwitchLink> links;
  std::vector<Host> hosts;
  std::vector<Node> nodes;
  std::optional<std::string> root;  ///< Name of the tree's root node; absent: the centre is taken.
  std::optional<Manager> manager;
  bool daemons = true;     ///< The lab starts manager, nodes and host daemons.
  std::uint64_t seed = 1;  ///< Of the links' losses.
  bool offload = true;     ///< Adapters cut and join segments (TSO, GRO): a train of them passes a device as one piece.
};

}  // namespace sumac::topo
