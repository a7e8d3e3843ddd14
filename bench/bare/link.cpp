#include "bench/bare/link.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>

#include "bench/measure.h"
#include "net/tcp_socket.hpp"
#include "net/transport.hpp"

namespace sumac::bare {
namespace {

// The content is never read; the buffers are long enough that a stream moves in few system calls, as in a good backend.
constexpr std::size_t kScratchBytes = 1u << 20;
alignas(64) std::array<std::byte, kScratchBytes> in_scratch;
alignas(64) std::array<std::byte, kScratchBytes> out_scratch;

constexpr std::int64_t kSpinNs = 20'000;

// These are exactly the options of our tcp backend, so that the two differ in their work and not in the kernel's
// treatment.
Result<> set_options(int fd) {
  if (auto ok = net::set_stream_options(fd, net::TransportConfig{}.user_timeout); !ok) return ok;
  if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) return fail_errno("O_NONBLOCK");
  return {};
}

Result<> wait_for(int fd, short events) {
  pollfd one{fd, events, 0};
  while (poll(&one, 1, -1) < 0)
    if (errno != EINTR) return fail_errno("poll");
  return {};
}

}  // namespace

Lengths::Lengths(const std::vector<std::size_t>& lengths) : ends_(1, 0) {
  for (const std::size_t length : lengths) ends_.push_back(ends_.back() + length);
}

std::uint64_t Lengths::whole(std::uint64_t bytes) const {
  if (ends_.empty()) return bytes / each_;
  return static_cast<std::uint64_t>(std::ranges::upper_bound(ends_, bytes) - ends_.begin()) - 1;
}

void Link::begin(Lengths sent, Lengths received, std::span<const std::byte> out, std::span<std::byte> in) {
  sent_ = std::move(sent);
  received_ = std::move(received);
  in_bytes_ = out_bytes_ = owed_ = owed_bytes_ = 0;
  out_ = out;
  in_ = in;
  out_at_ = in_at_ = 0;
}

Errc Link::flush() {
  while (!idle()) {
    const std::uint64_t left = owed_bytes_ - out_bytes_;
    const auto from = out_.empty() ? std::span<const std::byte>(out_scratch) : out_.subspan(out_at_);
    const auto n = ::send(fd_.get(), from.data(), std::min({left, from.size(), kScratchBytes}), MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == EINTR ? Errc::again : Errc::lost;
    if (!out_.empty()) out_at_ = (out_at_ + static_cast<std::size_t>(n)) % out_.size();
    out_bytes_ += static_cast<std::uint64_t>(n);
  }
  return Errc::ok;
}

Errc Link::receive(std::uint64_t limit) {
  const std::uint64_t left = received_.bytes(limit) - in_bytes_;
  if (left == 0) return Errc::ok;
  const auto to = in_.empty() ? std::span<std::byte>(in_scratch) : in_.subspan(in_at_);
  const auto n = ::recv(fd_.get(), to.data(), std::min({left, to.size(), kScratchBytes}), 0);
  if (n < 0) return errno == EAGAIN || errno == EINTR ? Errc::again : Errc::lost;
  if (n == 0) return Errc::lost;
  if (!in_.empty()) in_at_ = (in_at_ + static_cast<std::size_t>(n)) % in_.size();
  in_bytes_ += static_cast<std::uint64_t>(n);
  return Errc::ok;
}

Result<> Link::write_all(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    else if (errno != EAGAIN && errno != EINTR)
      return fail_errno("send report");
    else if (auto ready = wait_for(fd_.get(), POLLOUT); !ready)
      return ready;
  }
  return {};
}

Result<> Link::read_all(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const auto n = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (n > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    else if (n == 0)
      return fail(Errc::lost, "a peer closed its connection before it reported");
    else if (errno != EAGAIN && errno != EINTR)
      return fail_errno("receive report");
    else if (auto ready = wait_for(fd_.get(), POLLIN); !ready)
      return ready;
  }
  return {};
}

Result<Link> connect_to(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) return fail(Errc::invalid, "parent '{}' is not HOST:PORT", address);
  const std::string host = address.substr(0, colon), port = address.substr(colon + 1);
  const addrinfo hints{.ai_flags = AI_NUMERICSERV, .ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
  addrinfo* raw = nullptr;
  if (const int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &raw); code != 0)
    return fail(Errc::not_found, "parent '{}': {}", address, gai_strerror(code));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(raw, freeaddrinfo);
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("socket");
  if (::connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0) return fail_errno("connect to " + address);
  if (auto set = set_options(fd.get()); !set) return within(address, set.error());
  return Link(std::move(fd));
}

Result<Listener> listen_on(std::uint16_t port, int backlog) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!fd) return fail_errno("socket");
  if (setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) return fail_errno("SO_REUSEADDR");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(fd.get(), generic, length) != 0) return fail_errno(fmt::format("bind port {}", port));
  if (::listen(fd.get(), backlog) != 0) return fail_errno(fmt::format("listen on port {}", port));
  if (::getsockname(fd.get(), generic, &length) != 0) return fail_errno("getsockname");
  return Listener{std::move(fd), ntohs(address.sin_port)};
}

Result<Link> accept_from(const Listener& listener) {
  UniqueFd fd(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd) return fail_errno("accept");
  if (auto set = set_options(fd.get()); !set) return within("accepted connection", set.error());
  return Link(std::move(fd));
}

Result<Waiter> Waiter::make(bool spin) {
  UniqueFd fd(epoll_create1(EPOLL_CLOEXEC));
  if (!fd) return fail_errno("epoll_create1");
  return Waiter(std::move(fd), spin);
}

Result<> Waiter::add(const Link& link) {
  const auto at = static_cast<std::size_t>(link.fd());
  if (armed_.size() <= at) armed_.resize(at + 1, 0);
  epoll_event event{.events = 0, .data = {.fd = link.fd()}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, link.fd(), &event) != 0) return fail_errno("epoll_ctl add");
  return {};
}

void Waiter::want(const Link& link, bool input, bool output) {
  const std::uint32_t events = (input ? EPOLLIN : 0u) | (output ? EPOLLOUT : 0u);
  auto& armed = armed_[static_cast<std::size_t>(link.fd())];
  if (armed == events) return;
  epoll_event event{.events = events, .data = {.fd = link.fd()}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, link.fd(), &event);
  armed = events;
}

void Waiter::wait() {
  std::array<epoll_event, 8> events;
  if (spin_)
    for (const auto until = bench_now_ns() + kSpinNs; bench_now_ns() < until;)
      if (epoll_wait(epoll_.get(), events.data(), events.size(), 0) > 0) return;
  // After EINTR the caller checks its links and comes back.
  epoll_wait(epoll_.get(), events.data(), events.size(), -1);
}

}  // namespace sumac::bare
