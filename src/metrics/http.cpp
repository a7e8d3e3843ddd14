#include "metrics/http.hpp"

#include <httplib.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>

#include "metrics/page.hpp"

namespace sumac::metrics {
namespace {

class TextStream final : public httplib::Stream {
 public:
  explicit TextStream(const std::string& request) : in_(request) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, std::size_t size) override {
    const auto count = std::min(size, in_.size() - read_);
    std::memcpy(to, in_.data() + read_, count);
    read_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* from, std::size_t size) override {
    out.append(from, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

  std::string out;

 private:
  const std::string& in_;
  std::size_t read_ = 0;
};

bool has_token(const httplib::Request& request, const std::string& token) {
  const auto given = request.get_header_value("Authorization");
  const auto wanted = "Bearer " + token;
  return given.size() == wanted.size() && CRYPTO_memcmp(given.data(), wanted.data(), wanted.size()) == 0;
}

}  // namespace

struct Http::Routes : httplib::Server {
  using httplib::Server::process_request;
};

Http::~Http() = default;

Http::Http(std::string token, std::function<std::optional<std::string>()> read) : routes_(std::make_unique<Routes>()) {
  using httplib::Request, httplib::Response;
  routes_->set_pre_routing_handler([token = std::move(token)](const Request& request, Response& response) {
    if (token.empty() || has_token(request, token)) return httplib::Server::HandlerResponse::Unhandled;
    response.status = 401;
    response.set_header("WWW-Authenticate", "Bearer");
    response.set_content("This server wants the bearer token of its --metrics-token file.\n", "text/plain");
    return httplib::Server::HandlerResponse::Handled;
  });
  routes_->Get("/metrics", [read = std::move(read)](const Request&, Response& response) {
    if (const auto page = read()) return response.set_content(*page, kContentType);
    response.status = 503;
    response.set_content("The daemon is ending, or its loop stands still.\n", "text/plain");
  });
  routes_->set_error_handler([](const Request&, Response& response) {
    if (response.body.empty()) response.set_content("There is only GET /metrics here.\n", "text/plain");
  });
}

std::string Http::answer(const std::string& request) {
  TextStream stream(request);
  bool closed = false;
  routes_->process_request(stream, true, closed, nullptr);
  return std::move(stream.out);
}

}  // namespace sumac::metrics
