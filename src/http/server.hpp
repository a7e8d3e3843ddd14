#pragma once
// Serves HTTP for a daemon by one thread, which polls all connections, so that a slow client holds nobody up: each
// connection is one request and its answer, is over after some seconds, and the oldest makes room for the next one.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "control/signals.hpp"
#include "http/connection.hpp"
#include "http/exchange.hpp"
#include "http/listener.hpp"

namespace sumac::http {

struct ServerLimits {
  Duration connection = Seconds(10);  ///< A client that takes longer, from its connect to its last byte, is closed.
  std::size_t connections = 1024;     ///< At most a quarter of the descriptors that the process may have.
};

class Server {
 public:
  /// `respond` is called by the server's thread, which has the name `thread`.
  static Result<std::unique_ptr<Server>> start(Listener listener, const char* thread,
                                               std::function<Response(const Request&)> respond,
                                               const ServerLimits& limits = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& address() const noexcept { return listener_.address; }

 private:
  Server(Listener listener, control::WakeEvent stop, std::function<Response(const Request&)> respond,
         const ServerLimits& limits);
  void run();
  bool accept_some(Time now);
  void serve(Connection& connection);

  Listener listener_;
  control::WakeEvent stop_;
  ServerLimits limits_;
  Exchange exchange_;
  std::vector<std::unique_ptr<Connection>> connections_;  ///< The oldest comes first.
  std::atomic<bool> stopping_ = false;
  std::thread thread_;  // The last member, because the thread uses the members before it.
};

}  // namespace sumac::http
