#pragma once
// The two sides of the call Inspect (control.proto), for the loop of a daemon: calls that others make wait here until the
// loop takes them, and answers of other daemons until the loop takes those. gRPC's threads never touch the daemon's state.
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "control/control.grpc.pb.h"
#include "control/endpoint.hpp"
#include "control/signals.hpp"

namespace sumac::control {

/// No call takes longer, whatever its caller permits.
inline constexpr Duration kInspectMax = Millis(900);
/// Calls open at once: of all callers, and of one user.
inline constexpr std::size_t kInspectCalls = 64, kInspectCallsOfUser = 2;

/// One call by somebody else. Its destructor refuses it unless it was answered.
class InspectCall {
 public:
  virtual ~InspectCall() = default;
  virtual const Caller& caller() const noexcept = 0;
  virtual const v1::InspectRequest& request() const noexcept = 0;
  virtual Time deadline() const noexcept = 0;
  /// At most once.
  virtual void answer(Result<v1::InspectReply> reply) = 0;
};

class InspectServer {
 public:
  /// `wake` is set whenever take() has something to return.
  explicit InspectServer(const WakeEvent& wake);
  /// Destroy all calls before.
  ~InspectServer();
  InspectServer(const InspectServer&) = delete;
  InspectServer& operator=(const InspectServer&) = delete;

  /// Serves one more endpoint. Returns it with the port that was bound.
  Result<std::string> listen(const std::string& endpoint, const Server::Options& options);
  std::vector<std::unique_ptr<InspectCall>> take();

 private:
  class Call;
  class Door;
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::vector<Server> servers_;
};

class InspectClients {
 public:
  struct Answer {
    std::uint64_t ticket = 0;  ///< As in ask().
    v1::JobDaemon of;
    Result<v1::InspectReply> reply;
  };

  InspectClients(const WakeEvent& wake, std::shared_ptr<Tls> tls);
  /// Cancels what is under way, and waits for gRPC to release it.
  ~InspectClients();
  InspectClients(const InspectClients&) = delete;
  InspectClients& operator=(const InspectClients&) = delete;

  void ask(std::uint64_t ticket, const v1::JobDaemon& daemon, const v1::InspectRequest& request, Duration at_most);
  std::vector<Answer> take();

 private:
  struct Call;
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<Tls> tls_;
};

/// Asks once, and waits at most so long.
Result<v1::InspectReply> inspect(const std::string& endpoint, const v1::InspectRequest& request, Duration at_most);

}  // namespace sumac::control
