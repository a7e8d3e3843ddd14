#include "tools/run/meeting.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

#include "base/bytes.hpp"
#include "base/hmac.hpp"
#include "base/write_all.hpp"
#include "net/address.hpp"

namespace sumac::tools {
namespace {

constexpr std::size_t kPorts = 8;
constexpr std::uint16_t kLowest = 20000,
                        kHighest = 32000;  ///< Below the ports that Linux gives to whoever asks for any.
constexpr std::size_t kWordsMax = 64 * 1024;
constexpr Duration kPatience = Seconds(1);  ///< For another side that says nothing: it is a stranger.
constexpr int kAskAgainMs = 20;             ///< Between two rounds of asking, while the first host is on its way.

Result<Mac> mac_of(const Secret& secret, std::string_view label, std::string_view words) {
  const auto text = std::string(label) + "\n" + std::string(words);
  Mac mac{};
  if (!hmac_sha256(secret, std::as_bytes(std::span(text)), mac))
    return fail(Errc::unsupported, "libcrypto has no memory left to prove what this host says");
  return mac;
}

std::string_view label_of(Said who) { return who == Said::by_host ? "host" : "first"; }

int ms_until(Time deadline) {
  return static_cast<int>(
      std::max<std::int64_t>(0, std::chrono::duration_cast<Millis>(deadline - monotonic_now()).count()));
}

/// Returns false at the deadline.
Result<bool> readable(int fd, Time deadline, int interrupt_fd) {
  pollfd wait[] = {{fd, POLLIN, 0}, {interrupt_fd, POLLIN, 0}};
  if (::poll(wait, 2, ms_until(deadline)) < 0 && errno != EINTR) return fail_errno("poll");
  if (wait[1].revents != 0) return fail(Errc::interrupted, "interrupted");
  return wait[0].revents != 0;
}

/// Reads all that the other side sends before it closes its half.
Result<std::string> read_all(int fd, Time deadline, int interrupt_fd) {
  std::string text;
  while (text.size() <= kWordsMax) {
    auto some = readable(fd, deadline, interrupt_fd);
    if (!some) return tl::unexpected(some.error());
    if (!*some && monotonic_now() >= deadline) return fail(Errc::timeout, "no answer");
    char part[4096];
    const auto got = ::recv(fd, part, sizeof part, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) return fail_errno("recv");
    if (got == 0) return text;
    text.append(part, static_cast<std::size_t>(got));
  }
  return fail(Errc::invalid, "a host says more than {} bytes: install one version of Sumac on all hosts", kWordsMax);
}

struct AddrinfoDelete {
  void operator()(addrinfo* list) const noexcept { freeaddrinfo(list); }
};

}  // namespace

Result<Secret> read_secret(std::string_view text) {
  const auto bytes = from_hex(text);
  Secret secret{};
  if (!bytes || bytes->size() != secret.size()) return fail(Errc::invalid, "the secret of the step is malformed");
  std::memcpy(secret.data(), bytes->data(), secret.size());
  return secret;
}

std::vector<std::uint16_t> meeting_ports(const Secret& secret) {
  std::vector<std::uint16_t> ports;
  const auto mac = mac_of(secret, "ports", "");
  for (std::size_t i = 0; mac && i < kPorts; ++i)
    ports.push_back(
        static_cast<std::uint16_t>(kLowest + ((*mac)[2 * i] << 8 | (*mac)[2 * i + 1]) % (kHighest - kLowest)));
  return ports;
}

std::string with_proof(const Secret& secret, Said who, std::string_view words) {
  const auto mac = mac_of(secret, label_of(who), words);
  return mac ? hex(std::as_bytes(std::span(*mac)), "") + "\n" + std::string(words) : std::string();
}

Result<std::string> without_proof(const Secret& secret, Said who, std::string_view sent) {
  const auto end = std::min(sent.find('\n'), sent.size());
  const auto proof = from_hex(sent.substr(0, end));
  const auto words = sent.substr(std::min(end + 1, sent.size()));
  const auto right = mac_of(secret, label_of(who), words);
  if (!right) return tl::unexpected(right.error());
  Mac given{};
  if (!proof || proof->size() != given.size()) return fail(Errc::refused, "no proof");
  std::memcpy(given.data(), proof->data(), given.size());
  if (!same_secret(given, *right)) return fail(Errc::refused, "a wrong proof");
  return std::string(words);
}

Result<MeetingPlace> MeetingPlace::open(const Secret& secret) {
  if (auto ready = prepare_hmac(); !ready) return tl::unexpected(ready.error());
  MeetingPlace place;
  place.secret_ = secret;
  for (const auto port : meeting_ports(secret)) {
    UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in6 any{.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const int both = 0, on = 1;
    const bool six = static_cast<bool>(fd);
    if (six) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both);
    if (!six) fd = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in any4{.sin_family = AF_INET, .sin_port = htons(port)};
    const auto* address = six ? reinterpret_cast<sockaddr*>(&any) : reinterpret_cast<sockaddr*>(&any4);
    if (::bind(fd.get(), address, six ? sizeof any : sizeof any4) < 0 || ::listen(fd.get(), SOMAXCONN) < 0) continue;
    place.listener_ = std::move(fd);
    return place;
  }
  return fail(Errc::exhausted, "none of the ports at which the hosts of this step look for the first is free");
}

Result<> MeetingPlace::answer(std::size_t count, const std::function<Result<std::string>(const std::string&)>& answer,
                              Time deadline, int interrupt_fd) const {
  std::set<std::string> answered;  // A host that missed its answer asks again.
  while (answered.size() < count) {
    auto some = readable(listener_.get(), deadline, interrupt_fd);
    if (!some) return tl::unexpected(some.error());
    if (!*some && monotonic_now() >= deadline)
      return fail(Errc::timeout, "{} of {} hosts have not come", count - answered.size(), count);
    const UniqueFd caller(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!caller) continue;
    const auto sent = read_all(caller.get(), std::min(deadline, monotonic_now() + kPatience), interrupt_fd);
    if (!sent && sent.error().code == Errc::interrupted) return tl::unexpected(sent.error());
    const auto words = sent ? without_proof(secret_, Said::by_host, *sent) : sent;
    if (!words) continue;  // A stranger, or a host that ended.
    const auto reply = answer(*words);
    if (reply && write_all(caller.get(), with_proof(secret_, Said::by_first, *reply))) answered.insert(*words);
  }
  return {};
}

Result<std::string> ask_first(const std::string& host, const Secret& secret, const std::string& words, Time deadline,
                              int interrupt_fd) {
  if (auto ready = prepare_hmac(); !ready) return tl::unexpected(ready.error());
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0)
    return fail(Errc::not_found, "{}: {}", host, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, AddrinfoDelete> found(list);
  while (monotonic_now() < deadline) {
    for (const auto port : meeting_ports(secret)) {
      net::SocketAddress address;
      std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
      address.length = found->ai_addrlen;
      address.set_port(port);
      const UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
      // The wait of one port may not use up the time of all.
      const timeval patience{std::chrono::duration_cast<Seconds>(kPatience).count(), 0};
      ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
      if (::connect(fd.get(), address.get(), address.length) < 0) continue;
      if (!write_all(fd.get(), with_proof(secret, Said::by_host, words))) continue;
      ::shutdown(fd.get(), SHUT_WR);
      const auto sent = read_all(fd.get(), std::min(deadline, monotonic_now() + kPatience), interrupt_fd);
      if (!sent && sent.error().code == Errc::interrupted) return sent;
      if (auto answer = sent ? without_proof(secret, Said::by_first, *sent) : sent) return answer;
    }
    pollfd wait{interrupt_fd, POLLIN, 0};
    if (::poll(&wait, 1, kAskAgainMs) > 0) return fail(Errc::interrupted, "interrupted");
  }
  return fail(Errc::timeout, "host {}, the first of the step, does not answer", host);
}

}  // namespace sumac::tools
