#pragma once
// The node's conversation with the manager: registers, hears which trees it is in, keeps a shard for each, applies what it is told
// to them, acknowledges. The data path goes on when the manager is away; the stream is opened again until the manager is back.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/log.hpp"
#include "control/client_streams.hpp"
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
  /// Makes the k-th shard of this process, from 0.
  using MakeShard = std::function<Result<std::unique_ptr<Shard>>(std::uint32_t k)>;

  /// `first` is shard 0: it listens already, so that an address in use is found when the process starts.
  ControlLink(ControlConfig config, control::WakeEvent& wake, std::unique_ptr<Shard> first, MakeShard make_shard,
              const proto::NodeLimits& limits, Logger& log);

  /// Takes what came from the manager, opens the stream again when it is time, and retries grants that had to wait.
  /// Errc::ok, or why this node can't be what it was told to be: give up.
  Result<> progress(Time now);
  Time next_due() const noexcept;
  bool registered() const noexcept { return registered_; }
  /// Of all trees, as JSON.
  std::string statistics_json();

 private:
  struct Waiting {
    std::uint64_t sequence = 0;
    proto::JobGrant grant;
  };
  struct Leaving {
    std::uint64_t sequence = 0, job_id = 0;
  };
  struct Tree {
    std::unique_ptr<Shard> shard;
    std::uint32_t k = 0;  ///< Which shard of the process it is.
    std::uint32_t id = 0;
    bool root = false;
    ParentState parent;
    std::deque<Waiting> waiting;   ///< Grants that can't hold yet.
    std::vector<Leaving> leaving;  ///< Revokes that are not acknowledged yet: members have not left.
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

  ControlConfig config_;
  proto::NodeLimits limits_;
  Logger& log_;
  MakeShard make_shard_;
  control::NodeStreams streams_;
  control::Ticket ticket_ = 0;
  bool open_ = false, registered_ = false, complained_ = false;
  bool impostor_ = false;  ///< That somebody else listens in the manager's place was told too.
  Time retry_at_{};        // at once
  std::uint32_t node_id_ = 0;
  Secret node_key_{};  ///< What the nodes of this fabric show each other.
  const std::uint64_t life_;
  std::unique_ptr<Shard> spare_;  ///< Shard 0 while no tree has it.
  Trees trees_;                   ///< By the manager's index.
};

}  // namespace sumac::node
