#pragma once
// Sockets around proto::Node: connections are its links, its outbox is the transport. One thread; nothing in it blocks.
// The node can be made only when the manager has said who it is, so until then nothing is taken from the sockets.
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/log_limit.hpp"
#include "net/transport.hpp"
#include "node/multicast.hpp"
#include "proto/node.hpp"

namespace sumac::node {

struct DataPathConfig {
  std::string name;  ///< This node's, for the statistics of its parent.
  proto::NodeLimits limits;
  Millis heartbeat{200};      ///< How often every peer hears that this node lives.
  Millis lost_after{10'000};  ///< Silence of a neighbour node: its link is given up.
  Millis retry_min{50}, retry_max{2000};
  MulticastConfig multicast{};
};

/// State of the link to the parent, as the manager wants to know it.
struct ParentState {
  bool up = false;
  std::string why;
};

class DataPath final : private net::TransportEvents, private proto::Outbox {
 public:
  DataPath(DataPathConfig config, std::unique_ptr<net::Transport> transport, BufferPool& pool, Logger& log);
  ~DataPath();

  /// The manager's word on who this node is. If it was another, or of another tree, before: everything of that is over, children
  /// lose their connections and come again.
  void identify(std::uint32_t node_id, std::uint32_t tree_id, bool root, Time now);
  /// This node's own key, which makes those of itself and its child nodes; before identify(), and again when the manager was started anew.
  void set_node_key(const Secret& key);
  bool identified() const noexcept { return node_ != nullptr; }

  /// Where the parent is, and the key of this pair of nodes; called again when either is another one. Connects, and again after a loss, at
  /// longer and longer intervals.
  void set_parent(const std::string& name, const proto::ParentInfo& parent, Time now);

  Result<> grant(const proto::JobGrant& grant);
  /// False: no such job. Else take_ended() names it as soon as nothing of it is left here.
  bool revoke(std::uint64_t job_id, Time now);
  /// The manager's word: what is left of its connections ends, and the groups that it was in learn of its death.
  void rank_died(std::uint64_t job_id, std::uint32_t world_rank, std::string_view host, Time now);

  /// Events delivered. 0 also before identify().
  std::size_t progress(Time now);
  Time next_due() const;

  /// Revoked jobs of which nothing is left here, since the last call.
  std::vector<std::uint64_t> take_ended() { return std::exchange(ended_, {}); }
  /// A change of the parent's state since the last call.
  std::optional<ParentState> take_parent_change();
  /// One of these two has something.
  bool has_news() const noexcept { return parent_change_.has_value() || !ended_.empty(); }

  net::Transport& transport() noexcept { return *transport_; }
  const proto::Node* node() const noexcept { return node_.get(); }
  /// Counters, jobs and groups as JSON, for people and tests.
  std::string statistics_json() const;

 private:
  void on_accepted(net::ConnId conn) override;
  void on_connected(net::ConnId conn) override;
  void on_message(net::ConnId conn, BufferRef frame) override;
  void on_closed(net::ConnId conn, const Error& why) override;
  void on_writable(net::ConnId) override {}
  void send(proto::LinkId to, const wire::AggHeader& header, const Payload& data) override;
  void send_control(proto::LinkId to, const wire::AggHeader& header, std::span<const std::byte> body) override;
  void drop(proto::LinkId link, const Error& why) override;
  void greeted(proto::LinkId link, wire::Role role, std::uint64_t job_id) override;
  void allow(proto::LinkId link, std::size_t bytes) override { transport_->limit_held(net::ConnId{link.value}, bytes); }
  std::size_t held(proto::LinkId link) const override { return transport_->held(net::ConnId{link.value}); }
  bool invite(std::uint32_t /*group_id*/, wire::InvitedBody& to) override { return multicaster_.invite(to); }
  bool multicast(const wire::InvitedBody& to, const wire::AggHeader& header, std::span<const std::byte> data) override {
    return multicaster_.send(to, header, data);
  }
  void put(proto::LinkId to, std::span<const std::byte> head, const Payload& body);
  void connect_parent(Time now);
  void parent_proven();
  void parent_down(const Error& why, Time now);
  void tell_full();
  void note_ended();
  std::string name_of_child(const proto::ChildView& child) const;
  std::string peer_of(proto::LinkId link) const;

  DataPathConfig config_;
  Logger& log_;
  BufferPool& pool_;
  Secret node_key_{};
  std::unique_ptr<net::Transport> transport_;
  Multicaster multicaster_;
  std::unique_ptr<proto::Node> node_;
  Time now_{};
  std::vector<proto::LinkId> stalled_;  ///< Closed in the middle of the node's work: it hears of it afterwards.

  std::string parent_name_;
  proto::ParentInfo parent_info_;
  net::ConnId parent_{};
  std::unordered_set<std::uint32_t> children_;  ///< Values of their ConnId.
  bool parent_up_ = false;                      ///< It has proven itself.
  Duration retry_{};
  Time retry_at_ = kNever;
  std::optional<ParentState> parent_change_;
  std::vector<std::uint64_t> ended_;

  std::uint64_t turned_away_ = 0;  ///< As far as it was told.
  Time tell_full_at_{};
  LogLimit said_;  ///< Lines about links that misbehave.
};

}  // namespace sumac::node
