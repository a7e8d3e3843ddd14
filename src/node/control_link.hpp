#pragma once
// The node's conversation with the manager: registers, applies what it is told to the data path, acknowledges. The data path
// goes on when the manager is away; the stream is opened again until the manager is back.
#include <deque>
#include <string>

#include "base/log.hpp"
#include "control/client_streams.hpp"
#include "node/data_path.hpp"

namespace sumac::node {

struct ControlConfig {
  std::string name;
  std::string manager;
  std::shared_ptr<control::Tls> tls{};
  Millis retry{500};
};

class ControlLink {
 public:
  ControlLink(ControlConfig config, control::WakeEvent& wake, DataPath& data, const proto::NodeLimits& limits,
              Logger& log);

  /// Takes what came from the manager, opens the stream again when it is time, and retries grants that had to wait.
  /// Errc::ok, or why this node can't be what it was told to be: give up.
  Result<> progress(Time now);
  bool pending() const noexcept { return streams_.pending(); }
  Time next_due() const noexcept;
  bool registered() const noexcept { return registered_; }

 private:
  struct Waiting {
    std::uint64_t sequence = 0;
    proto::JobGrant grant;
  };
  Result<> heard(const control::v1::NodeDown& down, Time now);
  Result<> apply(const control::v1::Registered& who, Time now);
  void enter_tree(std::uint32_t tree_id, Time now);
  Result<> stream_over(const Error& why, Time now);
  void try_grant(std::uint64_t sequence, const proto::JobGrant& grant);
  void retry_waiting();
  void open_stream();
  void acknowledge(std::uint64_t sequence);
  void tell_link(const ParentState& state);

  ControlConfig config_;
  DataPath& data_;
  proto::NodeLimits limits_;
  Logger& log_;
  control::NodeStreams streams_;
  control::Ticket ticket_ = 0;
  bool open_ = false, registered_ = false, complained_ = false;
  Time retry_at_{};  // at once
  ParentState parent_;
  std::uint32_t node_id_ = 0;
  bool root_ = false;
  const std::uint64_t life_;
  std::deque<Waiting> waiting_;
};

}  // namespace sumac::node
