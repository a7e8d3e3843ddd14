#include "metrics/exporter.hpp"

#include "http/host.hpp"
#include "metrics/process.hpp"

namespace sumac::metrics {

Result<std::unique_ptr<Exporter>> Exporter::start(const Options& options, std::function<void()> wake,
                                                  const ExporterLimits& limits) {
  if (options.listen.empty()) return std::unique_ptr<Exporter>{};
  auto listener = http::Listener::open({.name = "metrics",
                                        .listen = options.listen,
                                        .cert = options.cert,
                                        .key = options.key,
                                        .token = options.token,
                                        .log = options.log});
  if (!listener) return tl::unexpected(listener.error());
  std::unique_ptr<Exporter> exporter(new Exporter(listener->token, listener->address.starts_with("unix:"),
                                                  std::move(wake), limits.loop, options.certificate_end));
  auto server =
      http::Server::start(*std::move(listener), "metrics",
                          [raw = exporter.get()](const http::Request& request) { return raw->respond(request); },
                          {.connection = limits.connection, .connections = limits.connections});
  if (!server) return tl::unexpected(server.error());
  exporter->server_ = *std::move(server);
  return exporter;
}

Exporter::~Exporter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  answered_.notify_all();
  server_.reset();
}

http::Response Exporter::respond(const http::Request& request) {
  // Without a token the metrics are on loopback, or at a unix socket that no browser reaches. A script of another site
  // whose name leads here could read them in a browser of this machine.
  if (const auto host = request.header("Host"); token_.empty() && !is_unix_ && request.header_count("Host") != 0 &&
                                                !(host && http::is_loopback(http::host_of(*host))))
    return {.status = 421, .body = "Ask for localhost or 127.0.0.1 in the Host header, or set --metrics-token.\n"};
  if (!token_.empty() && !http::has_bearer(request, token_))
    return {.status = 401,
            .body = "This server wants the bearer token of its --metrics-token file.\n",
            .headers = {{"WWW-Authenticate", "Bearer"}}};
  if (request.path != "/metrics" || (request.method != "GET" && request.method != "HEAD"))
    return {.status = 404, .body = "There is only GET /metrics here.\n"};
  auto page = ask();
  if (!page) return {.status = 503, .body = "The daemon is ending, or its loop stands still.\n"};
  return {.type = kContentType, .body = *std::move(page) + about_process()};
}

/// Writes what needs nothing of the loop.
std::string Exporter::about_process() const {
  Page page;
  add_process(page, certificate_end_ ? certificate_end_() : std::nullopt);
  return page.text();
}

/// Waits for the loop's page; called by the server's thread.
std::optional<std::string> Exporter::ask() {
  std::unique_lock lock(mutex_);
  page_.reset();
  wanted_.store(true, std::memory_order_release);
  wake_();
  answered_.wait_for(lock, loop_, [this] { return page_.has_value() || stopping_; });
  wanted_.store(false, std::memory_order_relaxed);
  return std::exchange(page_, std::nullopt);
}

void Exporter::answer(const Page& page) {
  {
    const std::lock_guard lock(mutex_);
    if (!wanted_.exchange(false)) return;  // The request has given up.
    page_ = page.text();
  }
  answered_.notify_all();
}

}  // namespace sumac::metrics
