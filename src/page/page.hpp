#pragma once
// The page of a manager: a thread with its sockets, and the tokens. The records belong to the manager's loop, so a
// request for data wakes the loop and waits for a snapshot, but not more often than twice a second: all clients share it.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http/server.hpp"
#include "page/api.hpp"
#include "page/guard.hpp"
#include "page/snapshot.hpp"
#include "page/tokens.hpp"

namespace sumac::page {

/// The manager's options of the same names.
struct Options {
  std::string listen;           ///< "127.0.0.1:9510", "unix:PATH"; empty: no page.
  std::string cert{}, key{};    ///< PEM files of the page's certificate and its private key.
  std::string version{};        ///< The manager's, to show.
  const Logger* log = nullptr;  ///< As in http::ListenOptions; it also says where the page is.
};

struct PageLimits {
  Duration fresh = Millis(500);  ///< A younger snapshot is not asked for again.
  Duration loop = Seconds(2);    ///< A loop that does not answer for so long is reported as 503.
  http::ServerLimits server{};
};

/// The address with which a person opens the page. It holds a secret.
struct Ticket {
  std::string site;  ///< "http://NAME:9510", or "unix:PATH".
  std::string name;  ///< The host that browsers must ask for, in clear text: "RANDOM.localhost".
  std::string token;
  Duration life{};
};

class Page {
 public:
  /// `wake` wakes the manager's loop from any thread. Returns null if `options` names no address.
  static Result<std::unique_ptr<Page>> start(const Options& options, std::function<void()> wake,
                                             const PageLimits& limits = {});
  ~Page();  ///< Requests that still wait get 503.
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  /// The loop calls these after each wake-up: if a snapshot is wanted, it makes one of what changed since known().
  bool wanted() const noexcept { return wanted_.load(std::memory_order_acquire); }
  Known known();
  void give(Snapshot snapshot);

  /// Any thread may call it. `who` names the user, as in the limits of callers.
  Result<Ticket> issue(const std::string& who, const Viewer& viewer);

  const std::string& address() const noexcept { return server_->address(); }

 private:
  Page(Guard guard, std::function<void()> wake, const PageLimits& limits, const std::string& version);
  bool freshen();
  std::string user_name(std::uint32_t uid);

  Guard guard_;
  std::function<void()> wake_;
  PageLimits limits_;
  Tokens tokens_;
  // The server's thread alone uses these:
  Model model_;
  Time asked_{};
  bool has_model_ = false;
  std::unordered_map<std::uint32_t, std::string> names_;
  Api api_;

  std::mutex mutex_;
  std::condition_variable given_;
  Known known_;
  std::optional<Snapshot> snapshot_;
  std::atomic<bool> wanted_ = false, stopping_ = false;
  std::unique_ptr<http::Server> server_;  // The last member, because its thread uses the members before it.
};

}  // namespace sumac::page
