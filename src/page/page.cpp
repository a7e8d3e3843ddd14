#include "page/page.hpp"

#include <openssl/ssl.h>
#include <pwd.h>

#include <vector>

#include "base/bytes.hpp"
#include "base/secret.hpp"
#include "http/host.hpp"

namespace sumac::page {
namespace {

constexpr std::size_t kNamesKept = 4096;

std::int64_t wall_clock_at_origin() {
  const auto wall = std::chrono::duration_cast<Millis>(std::chrono::system_clock::now().time_since_epoch()).count();
  return wall - std::chrono::duration_cast<Millis>(monotonic_now().time_since_epoch()).count();
}

/// Browsers take every name below localhost for this machine, without asking anybody.
Result<std::string> draw_name() {
  auto bytes = draw_secret();
  if (!bytes) return tl::unexpected(bytes.error());
  return hex(std::as_bytes(std::span(*bytes)), "") + ".localhost";
}

Certificate certificate_of(const http::Listener& listener) {
  if (!listener.tls) return nullptr;
  X509* certificate = SSL_CTX_get0_certificate(listener.tls.get());
  if (certificate != nullptr) X509_up_ref(certificate);
  return Certificate(certificate);
}

}  // namespace

Result<std::unique_ptr<Page>> Page::start(const Options& options, std::function<void()> wake,
                                          const PageLimits& limits) {
  if (options.listen.empty()) return std::unique_ptr<Page>{};
  const auto host = http::host_of(options.listen);
  if (options.cert.empty() && http::is_loopback(host) && host != "127.0.0.1" && host != "localhost" && host != "[::1]")
    return fail(Errc::invalid, "--page-listen {}: without TLS browsers find the page at 127.0.0.1 or [::1] only",
                options.listen);
  auto listener = http::Listener::open({.name = "page",
                                        .listen = options.listen,
                                        .cert = options.cert,
                                        .key = options.key,
                                        .token_from_file = false,
                                        .log = options.log});
  if (!listener) return tl::unexpected(listener.error());
  auto certificate = certificate_of(*listener);
  auto name = draw_name();
  if (!name) return tl::unexpected(name.error());
  std::unique_ptr<Page> page(new Page(Guard(listener->address, std::move(certificate), *std::move(name)),
                                      std::move(wake), limits, options.version));
  auto server = http::Server::start(
      *std::move(listener), "page",
      [raw = page.get()](const http::Request& request) { return raw->api_.respond(request); }, limits.server);
  if (!server) return tl::unexpected(server.error());
  page->server_ = *std::move(server);
  return page;
}

Page::Page(Guard guard, std::function<void()> wake, const PageLimits& limits, const std::string& version)
    : guard_(std::move(guard)),
      wake_(std::move(wake)),
      limits_(limits),
      model_{.now = {},
             .manager_version = version,
             .started = monotonic_now(),
             .origin_unix_ms = wall_clock_at_origin(),
             .user_name = [this](std::uint32_t uid) { return user_name(uid); }},
      api_(guard_, tokens_, model_, [this] { return freshen(); }) {}

Page::~Page() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  given_.notify_all();
  server_.reset();
}

Known Page::known() {
  const std::lock_guard lock(mutex_);
  return known_;
}

void Page::give(Snapshot snapshot) {
  {
    const std::lock_guard lock(mutex_);
    if (!wanted_.exchange(false)) return;  // The request has given up.
    snapshot_ = std::move(snapshot);
  }
  given_.notify_all();
}

/// Called by the server's thread.
bool Page::freshen() {
  const Time now = monotonic_now();
  if (has_model_ && now - asked_ < limits_.fresh) return true;
  std::unique_lock lock(mutex_);
  snapshot_.reset();
  known_ = has_model_ ? model_.now.version : Known{};
  wanted_.store(true, std::memory_order_release);
  wake_();
  given_.wait_for(lock, limits_.loop, [this] { return snapshot_.has_value() || stopping_; });
  wanted_.store(false, std::memory_order_relaxed);
  auto given = std::exchange(snapshot_, std::nullopt);
  lock.unlock();
  if (!given) return false;
  if (given->changed) model_.take(*std::move(given));
  has_model_ = true;
  asked_ = now;
  return true;
}

Result<Ticket> Page::issue(const std::string& who, const Viewer& viewer) {
  auto token = tokens_.issue(who, viewer, monotonic_now());
  if (!token) return tl::unexpected(token.error());
  return Ticket{guard_.site(), guard_.name(), *std::move(token), Tokens::kLife};
}

/// A directory service may take long, so each user is looked up once, and never by the manager's loop.
std::string Page::user_name(std::uint32_t uid) {
  if (const auto found = names_.find(uid); found != names_.end()) return found->second;
  if (names_.size() >= kNamesKept) names_.clear();
  std::vector<char> buffer(16384);
  passwd entry{}, *found = nullptr;
  const bool has_name = ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return names_[uid] = has_name ? found->pw_name : fmt::format("{}", uid);
}

}  // namespace sumac::page
