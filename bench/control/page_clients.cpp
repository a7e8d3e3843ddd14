#include "bench/control/page_clients.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/fd.hpp"

namespace sumac::bench {
namespace {

constexpr Duration kEvery = Seconds(1);  // As web/main.js.
constexpr const char* kParts[] = {"state", "events", "jobs?limit=10", "fabric"};

std::string header_of(const std::string& answer, std::string_view name) {
  const auto at = answer.find(name);
  if (at == std::string::npos) return {};
  const auto from = at + name.size();
  return answer.substr(from, answer.find("\r\n", from) - from);
}

}  // namespace

PageClients::PageClients(std::uint16_t port, std::string host, std::string token, std::size_t count)
    : port_(port), host_(std::move(host)), token_(std::move(token)), clients_(count) {
  const Time now = monotonic_now();
  for (std::size_t i = 0; i < count; ++i) clients_[i].due = now + kEvery * i / count;
  thread_ = std::thread([this] { run(); });
}

PageClients::~PageClients() {
  ending_ = true;
  thread_.join();
}

std::string PageClients::failure() const { return failure_; }

void PageClients::run() {
  while (!ending_) {
    const auto next = std::ranges::min_element(clients_, {}, &Client::due);
    if (const Time now = monotonic_now(); next->due > now || resting_) {
      std::this_thread::sleep_for(std::min<Duration>(Millis(5), resting_ ? Millis(5) : next->due - now));
      if (resting_) next->due = std::max(next->due, now);
      continue;
    }
    next->due += kEvery;
    ask(*next);
  }
}

void PageClients::ask(Client& client) {
  const auto overview = get(client, "overview");
  if (!overview) {
    if (failure_.empty()) failure_ = overview.error().context;
    return;
  }
  const auto versions = nlohmann::json::parse(*overview, nullptr, false).value("versions", nlohmann::json()).dump();
  if (versions == client.versions) return;
  client.versions = versions;
  for (const auto* part : kParts)
    if (const auto got = get(client, part); !got && failure_.empty()) failure_ = got.error().context;
}

Result<std::string> PageClients::get(Client& client, const std::string& path) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail_errno("connect to the page");
  auto request =
      fmt::format("GET /api/v1/{} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n", path, host_, token_);
  if (const auto tag = client.tags.find(path); tag != client.tags.end())
    request += "If-None-Match: " + tag->second + "\r\n";
  request += "\r\n";
  if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
    return fail_errno("ask the page");
  std::string answer;
  char bytes[65536];
  for (ssize_t got; (got = ::recv(fd.get(), bytes, sizeof bytes, 0)) > 0;)
    answer.append(bytes, static_cast<std::size_t>(got));
  const bool unchanged = answer.starts_with("HTTP/1.1 304");
  if (!unchanged && !answer.starts_with("HTTP/1.1 200"))
    return fail(Errc::refused, "{}: {}", path, answer.substr(0, 200));
  ++answers_;
  if (auto tag = header_of(answer, "ETag: "); !tag.empty()) client.tags[path] = std::move(tag);
  return unchanged ? std::string() : answer.substr(answer.find("\r\n\r\n") + 4);
}

}  // namespace sumac::bench
