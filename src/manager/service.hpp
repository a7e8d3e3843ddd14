#pragma once
// The manager's gRPC service: streams in, events of the core out, and back. gRPC's threads call in; one mutex guards the core
// and all queues, which is plenty: a job costs two messages per node, a group none.
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
#include "manager/core.hpp"

namespace sumac::manager {

class Service final : public control::v1::Manager::CallbackService {
 public:
  /// `deadline_moved` is called, from any thread, when next_deadline() has become earlier.
  Service(Core core, Logger& log, std::function<void()> deadline_moved = {});
  ~Service() override;

  grpc::ServerBidiReactor<control::v1::NodeUp, control::v1::NodeDown>* Node(
      grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<control::v1::HostUp, control::v1::HostDown>* Host(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Ping(grpc::CallbackServerContext* context, const control::v1::PingRequest* request,
                                 control::v1::PingReply* reply) override;
  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context, const control::v1::StatusRequest* request,
                                   control::v1::StatusReply* reply) override;

  /// Once the server runs. Until then nobody's word is taken: who calls can't be known yet.
  void listens_on(const std::string& endpoint, bool tls);

  void tick(Time now);
  /// Before anybody connects.
  void restore(const SavedState& saved);
  void set_reservations(Reservations reservations);
  void set_rules(const CoreRules& rules);
  void fabric_changes(const topo::Fabric& described);
  Time next_deadline() const;
  std::string status_json(const Viewer& viewer = {}) const;

 private:
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
  void run(Actions actions);
  void refuse(StreamId id, const Error& why);
  Result<control::Caller> caller_of(const grpc::CallbackServerContext& context) const;
  template <class S>
  S* accept(std::unordered_map<StreamId, S*>& streams, const grpc::CallbackServerContext& context);
  template <class S>
  bool is_who_it_says(S& stream, control::CertRole role, const std::string& name);

  mutable std::mutex mutex_;
  Core core_;
  Logger& log_;
  std::string endpoint_;
  bool tls_ = false;
  std::function<void()> deadline_moved_;
  const Time started_ = monotonic_now();
  StreamId last_id_ = 0;
  std::uint64_t heard_ = 0;                          ///< Messages of nodes and sharpds, but for renewals.
  std::unordered_map<StreamId, NodeStream*> nodes_;  // a stream deletes itself when gRPC is done with it
  std::unordered_map<StreamId, HostStream*> hosts_;
  LogLimit said_;       ///< Lines about callers that are sent away.
  Time told_ = kNever;  ///< The deadline that the owner of this service knows of.
};

}  // namespace sumac::manager
