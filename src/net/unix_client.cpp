#include <poll.h>
#include <sys/socket.h>

#include <cstring>

#include "base/socket_directory.hpp"
#include "base/unix_address.hpp"
#include "net/unix_seqpacket.hpp"
#include "wire/host_codec.hpp"

namespace sumac::net {
namespace {

/// Waits for the descriptor until `deadline`; signals do not shorten the wait.
Result<> wait_for(int fd, short what, Time deadline, std::string_view doing) {
  for (;;) {
    const Time now = monotonic_now();
    if (now >= deadline) return fail(Errc::timeout, "{}: no answer in time", doing);
    // Rounded up: a poll of 0 ms would turn the last millisecond into a busy loop.
    const auto left = std::chrono::ceil<Millis>(std::min<Duration>(deadline - now, Seconds{60}));
    pollfd wait{fd, what, 0};
    const int n = poll(&wait, 1, static_cast<int>(left.count()));
    if (n > 0) return {};
    if (n < 0 && errno != EINTR) return fail_errno(doing);
  }
}

}  // namespace

Result<HostClient> HostClient::connect(const std::string& path, Duration timeout) {
  auto address = unix_address(path);
  if (!address) return tl::unexpected(address.error());
  auto fd = PrivateFd::from([] { return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
  if (!fd) return fail_errno("socket");
  const Time deadline = deadline_after(monotonic_now(), timeout);
  for (;;) {
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0) {
      const auto listener = peer_uid(fd.get());
      if (!listener) return tl::unexpected(listener.error());
      if (auto trusted = check_listener(path, *listener); !trusted) return tl::unexpected(trusted.error());
      return HostClient(std::move(fd));
    }
    if (errno == ENOENT || errno == ECONNREFUSED)
      return fail(Errc::not_found, "nobody listens at {}: start sharpd on this host, or use `sumac run`", path);
    if (errno == EACCES) return fail(Errc::denied, "no permission for {}: ask who runs sharpd on this host", path);
    if (errno != EAGAIN && errno != EINTR) return fail_errno(fmt::format("connect {}", path));
    // The backlog is full. A unix socket has no event to poll for in that case, so we try again soon.
    if (monotonic_now() >= deadline) return fail(Errc::timeout, "connect {}: sharpd is too busy to accept", path);
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

Result<> HostClient::send(const wire::HostMessage& message, Duration timeout, int handed) {
  auto bytes = wire::encoded(message);
  iovec part{bytes.data(), bytes.size()};
  msghdr whole{};
  whole.msg_iov = &part;
  whole.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof handed)]{};
  if (handed >= 0) {
    whole.msg_control = control;
    whole.msg_controllen = sizeof control;
    cmsghdr* const head = CMSG_FIRSTHDR(&whole);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof handed);
    std::memcpy(CMSG_DATA(head), &handed, sizeof handed);
  }
  const Time deadline = deadline_after(monotonic_now(), timeout);
  for (;;) {
    if (::sendmsg(fd_.get(), &whole, MSG_NOSIGNAL) >= 0) return {};
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) return fail(Errc::lost, "sharpd closed the connection");
    if (errno != EAGAIN) return fail_errno("send to sharpd");
    if (auto r = wait_for(fd_.get(), POLLOUT, deadline, "send to sharpd"); !r) return r;
  }
}

Result<wire::HostMessage> HostClient::receive(Duration timeout) {
  const Time deadline = deadline_after(monotonic_now(), timeout);
  std::array<std::byte, wire::kHostMessageBytes> bytes;
  for (;;) {
    const ssize_t n = recv(fd_.get(), bytes.data(), bytes.size(), MSG_TRUNC);
    if (n == 0 || (n < 0 && errno == ECONNRESET)) return fail(Errc::lost, "sharpd closed the connection");
    if (n > 0) {
      auto message = wire::decode_host_message(
          std::span(bytes).first(std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(n))));
      if (message && static_cast<std::size_t>(n) == bytes.size()) return message;
      return message ? fail(Errc::invalid, "message of sharpd: {} bytes, not {}", n, bytes.size())
                     : within("message of sharpd", message.error());
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return fail_errno("receive from sharpd");
    if (auto r = wait_for(fd_.get(), POLLIN, deadline, "answer of sharpd"); !r) return tl::unexpected(r.error());
  }
}

}  // namespace sumac::net
