#pragma once
// The sockets around proto::Node: a connection is a link of the node, and the transport sends what the node puts into
// its outbox. One thread runs it, and nothing in it blocks. The node is made when the manager has assigned its id;
// until then nothing is read from the sockets.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/log_limit.hpp"
#include "multicast/multicaster.hpp"
#include "net/transport.hpp"
#include "node/datagrams.hpp"
#include "proto/node.hpp"

namespace sumac::node {

struct DataPathConfig {
  std::string name;  ///< This node's name, for the statistics of its parent.
  proto::NodeLimits limits;
  Millis heartbeat{200};      ///< The interval at which every peer receives a sign of life from this node.
  Millis lost_after{10'000};  ///< The link to a neighbour node that was silent for this long is given up.
  /// Groups that outlive their tree do not wait so long: the silence after which they end here, and at least five
  /// heartbeats. The connection stays.
  Millis outlived_after{1000};
  Millis retry_min{50}, retry_max{2000};
  multicast::Config multicast{};
  bool hop = false;       ///< The kernel answers small operations, if it can.
  std::string pins = {};  ///< Datagrams::pins_of()
};

/// The numbers of one tree for the metrics: a copy without text, so that the data path's thread soon goes on.
struct TreeNumbers {
  std::uint32_t index = 0;  ///< Set by the owner of the trees.
  bool has_parent = false;  ///< The parent is connected and has proven its identity, or this node is the tree's root.
  std::uint32_t links = 0;
  std::uint64_t multicasts_lost = 0;
  proto::NodeLimits limits;
  proto::NodeUsage usage;
  proto::NodeStats node;
  net::TransportStats net;
  BufferPoolStats buffers;
  control::HopTotals datagrams;
};

/// The state of the link to the parent, as it is reported to the manager.
struct ParentState {
  bool up = false;
  std::string why;
};

/// The silence of a neighbour node, as it is reported to the manager.
struct NeighbourState {
  enum class Kind { heard, silent, lost };  ///< lost: the link was given up for its silence.
  NodeId node_id{};
  Kind kind = Kind::heard;
  Millis silence{0};
};

class DataPath final : private net::TransportEvents, private proto::Outbox {
 public:
  DataPath(DataPathConfig config, std::unique_ptr<net::Transport> transport, BufferPool& pool, Logger& log);
  ~DataPath();

  /// Sets the identity that the manager assigned. If the node or the tree was another one before, everything of the
  /// former tree is over: children lose their connections and connect again.
  void identify(NodeId node_id, TreeId tree_id, bool root, Time now);
  /// Sets this node's own key, from which the keys that it shares with its child nodes are derived. Call it before
  /// identify(), and again when the manager was started anew.
  void set_node_key(const Secret& key);
  bool identified() const noexcept { return node_ != nullptr; }

  /// Sets the parent's address and the key of this pair of nodes; called again when either changes. It connects, and
  /// connects again after a loss, at growing intervals.
  void set_parent(const proto::ParentInfo& parent, Time now);

  Result<> grant(const proto::JobGrant& grant);
  /// Returns false if there is no such job. Otherwise take_ended() returns the job as soon as this node holds nothing
  /// of it.
  bool revoke(JobId job_id, Time now, std::string_view why);
  /// Handles a rank's death that the manager reported: the rank's remaining connections are closed, and its groups are
  /// informed.
  void rank_died(JobId job_id, WorldRank world_rank, std::string_view host, Time now);

  /// Returns the number of events delivered, which is 0 before identify().
  std::size_t progress(Time now);
  Time next_due() const;

  /// Returns the revoked jobs of which this node holds nothing any more, since the last call.
  std::vector<JobId> take_ended() { return std::exchange(ended_, {}); }
  /// Returns the parent's state if it changed since the last call.
  std::optional<ParentState> take_parent_change();
  /// Sets the silence of a neighbour node from which take_neighbours() returns it; 0: never.
  void set_away(Millis away) noexcept { away_ = away; }
  /// The manager knows nothing of silent neighbours: take_neighbours() returns them again.
  void forget_told_neighbours() noexcept;
  std::vector<NeighbourState> take_neighbours() { return std::exchange(neighbour_changes_, {}); }
  /// True if one of the functions above has something to return.
  bool has_news() const noexcept {
    return parent_change_.has_value() || !ended_.empty() || !neighbour_changes_.empty();
  }

  net::Transport& transport() noexcept { return *transport_; }
  const proto::Node* node() const noexcept { return node_.get(); }
  TreeNumbers numbers() const;
  /// Returns counters, jobs and groups as JSON, for people and tests.
  std::string statistics_json() const;

 private:
  void on_accepted(net::ConnId conn) override;
  void on_connected(net::ConnId conn) override;
  void on_message(net::ConnId conn, BufferRef frame) override;
  void on_closed(net::ConnId conn, const Error& why) override;
  void on_writable(net::ConnId) override {}
  void on_readable(std::uint32_t) override {
    if (node_ != nullptr) datagrams_->on_readable(*node_, now_);
  }
  void send(proto::LinkId to, const wire::AggHeader& header, const Payload& data) override;
  void send_control(proto::LinkId to, const wire::AggHeader& header, std::span<const std::byte> body) override;
  void drop(proto::LinkId link, const Error& why) override;
  void greeted(proto::LinkId link, wire::Role role, JobId job_id) override;
  void allow(proto::LinkId link, std::size_t bytes) override { transport_->limit_held(net::ConnId{link.value}, bytes); }
  std::size_t held(proto::LinkId link) const override { return transport_->held(net::ConnId{link.value}); }
  proto::Multicast* multicast() override { return &multicaster_; }
  proto::DatagramNode* datagram_node() override { return datagrams_.get(); }
  void put(proto::LinkId to, std::span<const std::byte> head, const Payload& body);
  void connect_parent(Time now);
  void parent_proven();
  void parent_down(const Error& why, Time now);
  void tell_full();
  void note_ended();
  std::optional<NodeId> neighbour_at(net::ConnId conn) const;
  Millis outlived_after() const;
  void look_at_neighbours();
  void look_at_ranks();
  void end_outlived(net::ConnId conn, Duration silence);
  void neighbour_closed(net::ConnId conn, Millis silence);
  std::string name_of_child(const proto::ChildView& child) const;
  std::string peer_of(proto::LinkId link) const;

  DataPathConfig config_;
  Logger& log_;
  BufferPool& pool_;
  Secret node_key_{};
  std::unique_ptr<net::Transport> transport_;
  multicast::Multicaster multicaster_;
  std::unique_ptr<Datagrams> datagrams_;  ///< Null: there are none.
  std::unique_ptr<proto::Node> node_;
  Time now_{};
  /// Links that were closed while the node was working; it is informed afterwards.
  std::vector<proto::LinkId> stalled_;

  proto::ParentInfo parent_info_;
  net::ConnId parent_{};
  std::unordered_set<std::uint32_t> children_;  ///< The children's connections, as values of their ConnId.
  bool parent_up_ = false;                      ///< True while the parent is connected and has proven its identity.
  Duration retry_{};
  Time retry_at_ = kNever;
  std::optional<ParentState> parent_change_;
  std::vector<JobId> ended_;

  Millis away_{0};
  Time look_at_{};
  std::unordered_map<std::uint32_t, bool> neighbours_;  ///< [ConnId] of each node: is it known to be silent?
  std::vector<NeighbourState> neighbour_changes_;
  Time look_at_ranks_{};

  std::uint64_t turned_away_ = 0;  ///< The number of rejected connections that the log has reported.
  Time tell_full_at_{};
  LogLimit said_;  ///< Limits the log lines about links that misbehave.
};

}  // namespace sumac::node
