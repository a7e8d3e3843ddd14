#pragma once
// Cluster, the machine that knows who is there: the fabric with its nodes and hosts, the streams of nodes and sharpds, and the nodes
// that a neighbour does not hear. It knows no job. Other machines ask it; it asks nobody.
//
// A node's stream carries everything in order, and the node acknowledges each message that its data path has put into force.
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "manager/facts.hpp"
#include "manager/step.hpp"
#include "manager/tree.hpp"
#include "topo/fabric.hpp"

namespace sumac::manager {

/// The bytes of a daemon's own version, for people, and of the address where it answers Inspect, that are kept.
inline constexpr std::size_t kReleaseMax = 64, kInspectableMax = 200;
/// A node that no job uses is done without when it has not answered for so long.
inline constexpr Duration kAnswerWithin = Seconds(1);
/// Nodes report so often what their kernels do, for people.
inline constexpr Millis kHopTotalsEvery{2000};

class Cluster {
 public:
  /// The word of a neighbour that hears nothing of a node.
  struct Silence {
    bool lost = false;  ///< It has given up the link.
    std::uint32_t ms = 0;
  };
  struct Node {
    std::string name;
    StreamId stream = 0;  ///< The node's stream; 0 means not registered.
    NodeRegister who;
    std::uint64_t sent = 0;
    bool described = true;  ///< True if the last description of the fabric contains it.
    bool seen = false;      ///< True if it has registered in this life of the manager.
    Time away_at = kNever;  ///< For a node that is not registered: the time when it counts as down.
    /// The neighbours that hear nothing of it, by tree and node.
    std::map<std::pair<std::uint32_t, std::uint32_t>, Silence> silent_to;
    bool silent = false;      ///< New jobs go without it.
    bool is_down = false;     ///< The trees go without it, although it is registered.
    Time silent_since{};      ///< The time when it became silent. It was sent a message then:
    std::uint64_t probe = 0;  ///< the number of that message,
    bool answers = false;     ///< which it has acknowledged.
    /// The node's own key, from which the keys that it shares with its children are derived. It is drawn when the
    /// node first registers and is not saved: after a restart the node receives another one, and established links
    /// stay.
    std::optional<Secret> key;
    std::string inspectable{};              ///< The address where it answers Inspect.
    std::vector<control::HopTotals> hop{};  ///< As it last reported, by tree.
  };

  Cluster(topo::Fabric fabric, const Rules& rules);

  const topo::Fabric& fabric() const { return fabric_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(std::size_t node) const { return nodes_[node]; }
  const Sharpds& sharpds() const { return sharpds_; }
  void describe(Facts& facts) const;
  /// The node or sharpd answers Inspect there.
  void note_inspectable(StreamId stream, const std::string& address);

  /// Rebuilds an undescribed fabric, which consists of the nodes and hosts that registered; the journal lists them in
  /// order.
  void restore_open_fabric(const std::string& saved);
  /// Applies a changed description.
  void become(const topo::Fabric& described);

  // ---- nodes
  std::optional<std::size_t> node_of(StreamId stream) const;
  std::optional<std::size_t> node_named(const std::string& name) const;
  /// Returns the error in a registration. `address`: where a node of that name listens already.
  Result<> may_register(const NodeRegister& who, const std::string& address) const;
  /// Returns whether the fabric has changed: the node is new, or was down.
  Result<bool> node_comes(const NodeRegister& who);
  void node_is(std::size_t node, const NodeRegister& who);
  void note_hop(const Trees& trees, std::size_t node, const HopReport& report);
  /// From now on the node can be sent messages.
  void node_listens_on(std::size_t node, StreamId stream);
  /// Its word about others counts no more: returns the nodes that it had called silent.
  std::vector<std::size_t> node_leaves(std::size_t node, Time now);
  void send(Step& step, std::size_t node, ForNode message);
  bool is_there(std::size_t node) const { return nodes_[node].stream != 0; }
  /// Describes which of these nodes have not registered; empty if all have.
  std::string describe_missing(const std::vector<std::uint32_t>& nodes) const;
  /// From now on, absent nodes of the fabric are waited for, but only for a limited time.
  void expect_nodes(Time now);
  /// The node is not waited for, and the trees go without it; `is_down`: although it is registered.
  void do_without(std::size_t node, bool is_down = false);
  /// Returns the names of the nodes that have been waited for long enough.
  std::vector<std::string> give_up_absent(Time now);
  /// `looked`: the time of the last tick.
  Time next_deadline(Time looked) const;

  // ---- silence (cluster_silence.cpp)
  /// Takes the word of a node about another; false: it may not say that.
  bool hear(const Trees& trees, std::size_t by, const Neighbour& word);
  /// Names the neighbour that hears nothing of the node; empty: none that is believed.
  std::string silence_of(const Trees& trees, std::size_t node) const;
  void become_silent(Step& step, std::size_t node, const std::string& why);
  /// The last message to the node is the one that it has to acknowledge.
  void probe(std::size_t node, Time now);
  /// Returns whether the trees should go without this silent node.
  bool is_gone(const Trees& trees, std::size_t node, bool has_jobs, Time now) const;
  /// Returns whether the trees went without it.
  bool hear_again(Step& step, std::size_t node);
  /// Returns whether a node that was taken down has acknowledged a message.
  bool note_answer(std::size_t node, std::uint64_t sequence);

  // ---- sharpds (cluster_hosts.cpp)
  /// Null: it has not registered, and is refused.
  const Sharpd* sharpd_of(Step& step, StreamId stream) const;
  std::optional<StreamId> stream_of(std::uint64_t life) const;
  std::optional<std::uint32_t> host_named(const std::string& name) const;
  /// Returns whether the fabric has grown by the host; nothing if the sharpd is refused.
  std::optional<bool> host_comes(Step& step, StreamId stream, const HostRegister& who);
  void host_leaves(StreamId stream);
  /// Informs the sharpds whose host has come to the fabric, or left it.
  void place_hosts(Step& step);

 private:
  void add_node(const std::string& name);
  void add_open_node(const std::string& name);
  void add_open_host(const std::string& name);

  const Rules& rules_;
  topo::Fabric fabric_;
  std::vector<Node> nodes_;  ///< One entry per node, parallel to Fabric::nodes.
  std::unordered_map<std::string, std::uint32_t> host_by_name_;
  std::unordered_map<std::string, std::size_t> node_by_name_;
  std::unordered_map<StreamId, std::size_t> node_by_stream_;
  Sharpds sharpds_;
  std::unordered_map<std::uint64_t, StreamId> stream_of_life_;
  std::uint64_t sharpds_version_ = 1;  ///< Changes with the sharpds that are registered.
};

}  // namespace sumac::manager
