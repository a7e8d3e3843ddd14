#pragma once
// The node's stream to the manager. It registers the node, learns which trees the node is in, keeps a shard for each
// tree, applies the manager's messages to the shards and acknowledges them. If the manager is away, the data path goes
// on, and the stream is opened again until the manager is back.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/log.hpp"
#include "control/client_streams.hpp"
#include "control/inspect.hpp"
#include "node/shard.hpp"

namespace sumac::node {

struct ControlConfig {
  std::string name;
  std::string manager;
  std::shared_ptr<control::Tls> tls{};
  Millis retry{500};
};

class ControlLink {
 public:
  /// Makes the k-th shard of this process, counted from 0.
  using MakeShard = std::function<Result<std::unique_ptr<Shard>>(std::uint32_t k)>;

  /// `first` is shard 0. It listens already, so that an address in use is found when the process starts.
  ControlLink(ControlConfig config, control::WakeEvent& wake, std::unique_ptr<Shard> first, MakeShard make_shard,
              const proto::NodeLimits& limits, Logger& log);

  /// Processes the manager's messages, opens the stream again when it is time, and retries grants that had to wait.
  /// Returns an error if this node cannot be what the manager asks it to be: the process then ends.
  Result<> progress(Time now);
  Time next_due() const noexcept;
  bool registered() const noexcept { return registered_; }
  /// Returns the numbers of all trees.
  std::vector<TreeNumbers> numbers();
  /// Returns the statistics of all trees as JSON.
  std::string statistics();

 private:
  struct DeferredGrant {
    std::uint64_t sequence = 0;
    proto::JobGrant grant;
  };
  struct Leaving {
    std::uint64_t sequence = 0;
    JobId job_id{};
  };
  struct Tree {
    std::unique_ptr<Shard> shard;
    std::uint32_t k = 0;  ///< The index of the shard within the process.
    TreeId id{};
    bool root = false;
    ParentState parent;
    std::deque<DeferredGrant> waiting;  ///< Grants that cannot take effect yet.
    std::vector<Leaving> leaving;       ///< Revokes that are not acknowledged yet, because members have not left.
    control::HopTotals told;            ///< As the manager knows them.
  };
  using Trees = std::map<std::uint32_t, Tree>;

  Result<> heard(const control::v1::NodeDown& down, Time now);
  Result<> apply(const control::v1::Registered& who, Time now);
  Result<> enter(const control::v1::NodeTree& told, Time now);
  void leave(Trees::iterator at);
  Tree* make_tree(std::uint32_t index);
  Tree* standing(std::uint32_t index);
  Result<> stream_over(const Error& why, Time now);
  void try_grant(std::uint32_t index, Tree& tree, std::uint64_t sequence, const proto::JobGrant& grant);
  void retry_waiting(std::uint32_t index, Tree& tree);
  void open_stream();
  void acknowledge(std::uint64_t sequence);
  void defer(std::uint64_t sequence, const std::string& why);
  void tell_listening(std::uint32_t index, const std::string& address, const std::string& why);
  void tell_link(std::uint32_t index, const ParentState& state);
  void tell_neighbour(std::uint32_t index, const NeighbourState& state);
  void tell_hop();
  // inspect.cpp
  void be_inspectable();
  Result<control::v1::InspectReply> inspected(const control::InspectCall& call);

  ControlConfig config_;
  proto::NodeLimits limits_;
  Logger& log_;
  MakeShard make_shard_;
  control::NodeStreams streams_;
  control::InspectServer inspect_;
  std::string inspectable_;  ///< The endpoint that the manager was told.
  control::Ticket ticket_ = 0;
  bool open_ = false, registered_ = false;
  std::set<std::string> told_;  ///< The reasons of this absence of the manager that the log has.
  Time retry_at_{};             // The time of the next attempt to connect; the first one is due at once.
  NodeId node_id_{};
  Millis away_{0};       ///< The silence of a neighbour that the manager wants to know of.
  Millis hop_every_{0};  ///< So often the manager wants the totals of kernels.
  Time tell_hop_at_ = kNever;
  Secret node_key_{};  ///< This node's own key, from which those shared with its children are derived.
  const std::uint64_t life_;
  std::unique_ptr<Shard> spare_;  ///< Shard 0, while no tree uses it.
  Trees trees_;                   ///< The node's trees, keyed by the manager's index.
};

}  // namespace sumac::node
