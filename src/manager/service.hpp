#pragma once
// The manager's gRPC service turns messages on streams into events of the manager's machines, and their actions into messages.
// gRPC's threads call it; one mutex guards them and all queues. That is fast enough: a job costs two messages per
// node, and a group none.
#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/log.hpp"
#include "base/log_limit.hpp"
#include "control/caller.hpp"
#include "control/control.grpc.pb.h"
#include "manager/caller_limits.hpp"
#include "manager/manager.hpp"
#include "manager/metrics.hpp"
#include "manager/view.hpp"
#include "page/page.hpp"

namespace sumac::manager {

class Service {
 public:
  /// `deadline_moved` may be called from any thread, when next_deadline() has become earlier.
  Service(std::unique_ptr<Manager> manager, Logger& log, std::function<void()> deadline_moved = {});
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Returns this service for control::Server, for callers that `caller_of` identifies.
  std::unique_ptr<grpc::Service> door(control::CallerOf caller_of);

  void tick(Time now);
  /// Call it before anyone connects.
  void restore(const SavedState& saved);
  void set_reservations(Reservations reservations);
  void set_rules(const Rules& rules);
  void fabric_changes(const topo::Fabric& described);
  Time next_deadline() const;
  std::string status_json(const page::Viewer& viewer = {}) const;
  page::Snapshot snapshot(const page::Known& known);
  /// Sets the page whose address callers may ask for; call it before anyone connects. It must outlive the server.
  void set_page(page::Page* page) { page_ = page; }
  metrics::Page metrics() const;

 private:
  class Door;
  template <class Up, class Down>
  class Stream;
  using NodeStream = Stream<control::v1::NodeUp, control::v1::NodeDown>;
  using HostStream = Stream<control::v1::HostUp, control::v1::HostDown>;

  void received(NodeStream& stream, const control::v1::NodeUp& message);
  void received(HostStream& stream, const control::v1::HostUp& message);
  void ended(NodeStream& stream);
  void ended(HostStream& stream);
  void forget(NodeStream& stream);
  void forget(HostStream& stream);
  void run(std::vector<Action> actions, Time now);
  void refuse(StreamId id, const Error& why);
  template <class S>
  S* accept(std::unordered_map<StreamId, S*>& streams, const Result<control::Caller>& caller);
  template <class S>
  bool may_open(S& stream);
  template <class S>
  void no_longer_limited(S& stream);
  bool may_ask(const control::Caller& caller);
  Result<> reserve(const control::Caller& caller, const control::v1::ReserveRequest& request);
  Result<page::Ticket> page_ticket(const control::Caller& caller);
  template <class S>
  bool is_who_it_says(S& stream, control::CertRole role, const std::string& name);

  mutable std::mutex mutex_;
  const std::unique_ptr<Manager> manager_;
  View view_;
  Logger& log_;
  std::function<void()> deadline_moved_;
  const Time started_ = monotonic_now();
  StreamId last_id_ = 0;
  std::uint64_t changes_ = 1;  ///< Counts events that may change what the page shows.
  page::Page* page_ = nullptr;
  Received received_;
  std::unordered_map<StreamId, NodeStream*> nodes_;  // A stream deletes itself after gRPC's last callback.
  std::unordered_map<StreamId, HostStream*> hosts_;
  LogLimit said_;  ///< Limits the log lines about callers that are rejected.
  CallerLimits limits_;
  Time told_ = kNever;  ///< The deadline that the owner of this service knows.
};

}  // namespace sumac::manager
