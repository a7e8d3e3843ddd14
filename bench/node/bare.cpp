// node-bare is the yardstick. It receives one message from each of its children and sends each a result of the same
// size; it reads nothing and adds nothing. It has two modes: one message per system call, or all that the socket has at
// once.
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <vector>

#include "base/fd.hpp"
#include "net/address.hpp"
#include "net/tcp_socket.hpp"
#include "net/transport.hpp"

namespace {

using namespace sumac;

constexpr std::size_t kHead = 72;  // The transport's header and the message's, which precede the payload.

Result<std::vector<UniqueFd>> accept_children(int children) {
  auto at = net::parse_address("127.0.0.1:0");
  auto listener = net::listen_on(*at, children);
  if (!listener) return tl::unexpected(listener.error());
  auto bound = net::local_address(listener->get());
  if (!bound) return tl::unexpected(bound.error());
  std::printf("ready %s\n", net::format_address(*bound).c_str());
  std::fflush(stdout);
  std::vector<UniqueFd> fds;
  pollfd waiting{listener->get(), POLLIN, 0};
  while (fds.size() < static_cast<std::size_t>(children)) {
    if (::poll(&waiting, 1, -1) < 0 && errno != EINTR) return fail_errno("poll");
    UniqueFd fd(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) continue;
    if (auto set = net::set_stream_options(fd.get(), net::TransportConfig{}.user_timeout); !set)
      return tl::unexpected(set.error());
    fds.push_back(std::move(fd));
  }
  return fds;
}

/// Receives one message with one call: blocks until it is there. Returns false if the peer is gone.
bool one_by_one(const std::vector<UniqueFd>& fds, std::vector<char>& buffer) {
  for (const auto& fd : fds)
    for (std::size_t have = 0; have < buffer.size();) {
      const auto n = ::recv(fd.get(), buffer.data() + have, buffer.size() - have, MSG_WAITALL);
      if (n <= 0) return n < 0 && errno == EINTR;
      have += static_cast<std::size_t>(n);
    }
  for (const auto& fd : fds)
    for (std::size_t sent = 0; sent < buffer.size();) {
      const auto n = ::send(fd.get(), buffer.data() + sent, buffer.size() - sent, MSG_NOSIGNAL);
      if (n < 0) return errno == EINTR;
      sent += static_cast<std::size_t>(n);
    }
  return true;
}

struct Counts {
  std::size_t in = 0, out = 0;  // In bytes.
};

/// Reads all that the sockets have in one call each, and answers as many messages as every child has sent.
bool gathered(const std::vector<UniqueFd>& fds, int epoll, std::vector<Counts>& counts, std::vector<char>& scratch,
              std::size_t message) {
  epoll_event reports[256];
  const int count = ::epoll_wait(epoll, reports, 256, -1);
  for (int i = 0; i < count; ++i) {
    const auto at = reports[i].data.u64;
    const auto n = ::recv(fds[at].get(), scratch.data(), scratch.size(), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (n > 0) counts[at].in += static_cast<std::size_t>(n);
  }
  std::size_t least = counts[0].in;
  for (const auto& child : counts) least = std::min(least, child.in);
  const std::size_t end = least / message * message;
  for (std::size_t i = 0; i < fds.size(); ++i)
    while (counts[i].out < end) {
      const auto n = ::send(fds[i].get(), scratch.data(), std::min(end - counts[i].out, scratch.size()), MSG_NOSIGNAL);
      if (n < 0 && errno != EINTR) return false;
      if (n > 0) counts[i].out += static_cast<std::size_t>(n);
    }
  return true;
}

Result<> run(int children, std::size_t message, bool gather) {
  auto fds = accept_children(children);
  if (!fds) return tl::unexpected(fds.error());
  if (!gather) {
    std::vector<char> buffer(message);
    while (one_by_one(*fds, buffer)) {
    }
    return {};
  }
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  for (std::size_t i = 0; i < fds->size(); ++i) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, (*fds)[i].get(), &event) != 0) return fail_errno("epoll_ctl");
  }
  std::vector<char> scratch(std::max<std::size_t>(message, 64u << 10));
  std::vector<Counts> counts(fds->size());
  while (gathered(*fds, epoll.get(), counts, scratch, message)) {
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  int children = 8, limit_s = 120;
  std::size_t bytes = 8;
  bool gather = false;
  CLI::App app{
      "Receives a message from each child and sends each a result, until they hang up. Prints `ready ADDR:PORT`.",
      "node-bare"};
  app.add_option("--children", children, "Connections")->check(CLI::Range(1, 256));
  app.add_option("--bytes", bytes, "Payload of a message")->check(CLI::Range(4, 1 << 20));
  app.add_flag("--gather", gather, "Read and write as many messages as there are in one system call");
  app.add_option("--limit", limit_s, "Give up after so many seconds")->check(CLI::Range(1, 3600));
  CLI11_PARSE(app, argc, argv);
  ::alarm(static_cast<unsigned>(limit_s));
  if (const auto done = run(children, kHead + bytes, gather); !done)
    return std::fprintf(stderr, "node-bare: %s\n", done.error().context.c_str()), 1;
  return 0;
}
