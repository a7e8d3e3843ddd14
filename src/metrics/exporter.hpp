#pragma once
// Serves a daemon's metrics. Its thread owns the sockets; the numbers belong to the daemon's loop, so a request wakes the
// loop and waits for the page that it fills. A slow client holds nobody up: one thread polls all connections, each is
// over after some seconds, and the oldest makes room for the next one.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "control/signals.hpp"
#include "metrics/connection.hpp"
#include "metrics/http.hpp"
#include "metrics/listener.hpp"
#include "metrics/page.hpp"

namespace sumac::metrics {

struct ExporterLimits {
  Duration connection = Seconds(10);  ///< A client that takes longer, from its connect to its last byte, is closed.
  Duration loop = Seconds(2);         ///< A loop that does not answer for so long is reported as 503.
  std::size_t connections = 64;
};

class Exporter {
 public:
  /// `wake` wakes the daemon's loop from any thread. Returns null if `options` names no address: no port is open then,
  /// and there is no thread.
  static Result<std::unique_ptr<Exporter>> start(const Options& options, std::function<void()> wake,
                                                 const ExporterLimits& limits = {});
  ~Exporter();  ///< Requests that still wait get 503.
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  /// The loop calls both after each wake-up: if a page is wanted, it fills one.
  bool wanted() const noexcept { return wanted_.load(std::memory_order_acquire); }
  void answer(const Page& page);

  const std::string& address() const noexcept { return listener_.address; }

 private:
  Exporter(Listener listener, std::function<void()> wake, control::WakeEvent stop, const ExporterLimits& limits);
  void run();
  bool accept_some(Time now);
  void serve(Connection& connection);
  std::optional<std::string> ask();

  Listener listener_;
  std::function<void()> wake_;
  control::WakeEvent stop_;
  ExporterLimits limits_;
  Http http_;
  std::vector<std::unique_ptr<Connection>> connections_;  ///< The oldest comes first.

  std::mutex mutex_;
  std::condition_variable answered_;
  std::optional<std::string> page_;
  std::atomic<bool> wanted_ = false, stopping_ = false;
  std::thread thread_;  // The last member, because the thread uses the members before it.
};

}  // namespace sumac::metrics
