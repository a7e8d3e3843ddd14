#pragma once
// Serves HTTP for a daemon by one thread, which polls all connections, so that a slow client holds nobody up: each
// connection is one request and its answer, and is over after some seconds. If there are too many, the oldest that is not
// yet being answered makes room for the next one.
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
  /// At most so many at once, and a quarter of the process's descriptors. A client that connects early, as browsers and
  /// tunnels do, keeps its connection until a stranger has made so many: 0.6 s at 1,700 connects a second.
  std::size_t connections = 1024;
  /// Connections whose client has not taken the whole answer; of a further one, the oldest is closed. It bounds memory.
  std::size_t untaken = 64;
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
  void make_room();
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
