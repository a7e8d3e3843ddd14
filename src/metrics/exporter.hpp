#pragma once
// Serves a daemon's metrics. The thread of http::Server owns the sockets; the numbers belong to the daemon's loop, so a
// request wakes the loop and waits for the page that it fills.
#include <atomic>
#include <condition_variable>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http/server.hpp"
#include "metrics/page.hpp"

namespace sumac::metrics {

/// The daemons' options of the same names.
struct Options {
  std::string listen;         ///< "127.0.0.1:9500", "[::1]:9500", "unix:PATH"; empty: no metrics.
  std::string cert{}, key{};  ///< PEM files of the server's certificate (with its chain) and its private key.
  std::string token{};        ///< A file: clients must send its text as their bearer token.
  /// When the daemon's certificate for its own connections ends, if it has one. Called by the server's thread.
  std::function<std::optional<std::time_t>()> certificate_end{};
  const Logger* log = nullptr;  ///< As in http::ListenOptions; it also says where the metrics are.
};

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

  const std::string& address() const noexcept { return server_->address(); }

 private:
  Exporter(std::string token, bool is_unix, std::function<void()> wake, Duration loop,
           std::function<std::optional<std::time_t>()> certificate_end)
      : token_(std::move(token)),
        is_unix_(is_unix),
        wake_(std::move(wake)),
        loop_(loop),
        certificate_end_(std::move(certificate_end)) {}
  http::Response respond(const http::Request& request);
  std::optional<std::string> ask();
  std::string about_process() const;

  std::string token_;
  bool is_unix_;
  std::function<void()> wake_;
  Duration loop_;
  std::function<std::optional<std::time_t>()> certificate_end_;

  std::mutex mutex_;
  std::condition_variable answered_;
  std::optional<std::string> page_;
  std::atomic<bool> wanted_ = false, stopping_ = false;
  std::unique_ptr<http::Server> server_;  // The last member, because its thread uses the members before it.
};

}  // namespace sumac::metrics
