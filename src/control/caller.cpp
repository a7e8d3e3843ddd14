#include "control/caller.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/fd.hpp"

namespace sumac::control {
namespace {

/// sharp_daemons_setup.sh creates these users, one for each daemon.
constexpr std::string_view kUnitUsers[] = {"sumac-am", "sumac-an", "sumac-sharpd"};

struct Place {
  int family = AF_UNSPEC;
  std::uint8_t address[16]{};
  std::uint16_t port = 0;
};

/// Accepts "ADDR:PORT" or "[ADDR]:PORT" with a numeric address and port.
std::optional<Place> parse_place(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  Place place;
  const auto port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), place.port);
  if (error != std::errc{} || end != port.data() + port.size()) return std::nullopt;
  std::string host(text.substr(0, colon));
  if (host == "localhost") host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  for (const int family : {AF_INET, AF_INET6})
    if (::inet_pton(family, host.c_str(), place.address) == 1) {
      place.family = family;
      return place;
    }
  return std::nullopt;
}

/// gRPC escapes the brackets of an IPv6 address: "ipv6:%5B::1%5D:40000".
std::string plain(std::string_view peer) {
  std::string text(peer);
  for (const auto& [coded, letter] : {std::pair{"%5B", "["}, {"%5D", "]"}})
    if (const auto at = text.find(coded); at != text.npos) text.replace(at, 3, letter);
  return text;
}

Place place_of_peer(std::string_view peer) {
  const auto text = plain(peer);
  if (!text.starts_with("ipv4:") && !text.starts_with("ipv6:")) return {};
  return parse_place(std::string_view(text).substr(5)).value_or(Place{});
}

/// Asks the kernel for one connection, seen from the side of `from`. The kernel reports user 0 for a socket whose
/// process has closed it, and may do so for one that no process has open any more. So only an established connection
/// with an inode counts as having an owner.
std::optional<std::uint32_t> uid_of_socket(const Place& from, const Place& to) {
  const UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!fd) return std::nullopt;
  struct {
    nlmsghdr header{};
    inet_diag_req_v2 body{};
  } request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = static_cast<__u8>(from.family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0u;
  auto& id = request.body.id;
  id.idiag_sport = htons(from.port);
  id.idiag_dport = htons(to.port);
  std::memcpy(id.idiag_src, from.address, sizeof from.address);
  std::memcpy(id.idiag_dst, to.address, sizeof to.address);
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (::send(fd.get(), &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request)) return std::nullopt;
  alignas(nlmsghdr) char answer[4096];
  const auto got = ::recv(fd.get(), answer, sizeof answer, 0);  // The kernel answers within send().
  nlmsghdr header{};
  if (got < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof(inet_diag_msg))) return std::nullopt;
  std::memcpy(&header, answer, sizeof header);
  // NLMSG_ERROR means that there is no such connection.
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  inet_diag_msg found{};
  std::memcpy(&found, answer + NLMSG_HDRLEN, sizeof found);
  if (found.idiag_state != TCP_ESTABLISHED || found.idiag_inode == 0) return std::nullopt;
  return found.idiag_uid;
}

}  // namespace

Result<DaemonUsers> DaemonUsers::parse(std::string_view list) {
  DaemonUsers users;
  while (!list.empty()) {
    const auto word = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), word.size() + 1));
    if (word.empty()) continue;
    uid_t uid = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), uid);
    if (error == std::errc{} && end == word.data() + word.size()) {
      users.more_.push_back(uid);
      continue;
    }
    const passwd* entry = ::getpwnam(std::string(word).c_str());
    if (entry != nullptr)
      users.more_.push_back(entry->pw_uid);
    else if (std::ranges::find(kUnitUsers, word) == std::end(kUnitUsers))
      return fail(Errc::invalid, "--daemon-users: this machine has no user '{:.64}': names or numbers, commas between",
                  word);
  }
  return users;
}

bool DaemonUsers::has(uid_t uid) const noexcept {
  return uid == 0 || uid == ::geteuid() || std::ranges::find(more_, uid) != more_.end();
}

std::optional<std::uint32_t> uid_of_peer(std::string_view peer, std::string_view server) {
  const auto from = place_of_peer(peer);
  auto to = parse_place(server);
  if (from.family == AF_UNSPEC || !to) return std::nullopt;
  if (from.family == to->family)
    if (auto uid = uid_of_socket(from, *to)) return uid;
  // If the server listens on all addresses, a local process most likely connected with one address for both ends, or
  // over loopback.
  Place same = from;
  same.port = to->port;
  if (auto uid = uid_of_socket(from, same)) return uid;
  if (from.family != AF_INET) return std::nullopt;
  const std::uint8_t loopback[] = {127, 0, 0, 1};
  std::memcpy(same.address, loopback, sizeof loopback);
  return uid_of_socket(from, same);
}

bool calls_from_here(std::string_view peer) {
  auto from = place_of_peer(peer);
  if (from.family == AF_UNSPEC) return true;  // An address that cannot be read is not proven to be elsewhere.
  constexpr std::uint8_t kMapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (from.family == AF_INET6 && std::memcmp(from.address, kMapped, sizeof kMapped) == 0) {
    std::memmove(from.address, from.address + sizeof kMapped, 4);
    from.family = AF_INET;
  }
  if (from.family == AF_INET && from.address[0] == 127) return true;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return true;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != from.family) continue;
    if (from.family == AF_INET) {
      sockaddr_in own{};
      std::memcpy(&own, at->ifa_addr, sizeof own);
      if (std::memcmp(&own.sin_addr, from.address, sizeof own.sin_addr) == 0) return true;
    } else {
      sockaddr_in6 own{};
      std::memcpy(&own, at->ifa_addr, sizeof own);
      if (std::memcmp(&own.sin6_addr, from.address, sizeof own.sin6_addr) == 0) return true;
    }
  }
  return false;
}

Caller local_caller(uid_t uid, const DaemonUsers& users) {
  Caller caller;
  caller.uid = uid;
  if (!users.has(uid))
    caller.no_daemon = fmt::format(
        "it runs as user {} on the manager's machine: only root, user {} and users of --daemon-users may run daemons "
        "here",
        uid, ::geteuid());
  return caller;
}

Caller clear_text_caller(std::string_view peer, std::string_view server, const DaemonUsers& users) {
  if (!calls_from_here(peer)) return {};
  if (const auto uid = uid_of_peer(peer, server)) return local_caller(*uid, users);
  return {{}, {}, "it calls from the manager's machine, and the kernel does not report its user: use unix:PATH there"};
}

bool Caller::is_operator() const noexcept {
  if (certificate) return certificate->role == CertRole::admin || certificate->role == CertRole::manager;
  return uid && (*uid == 0 || *uid == ::geteuid());
}

Result<> Caller::may_be(CertRole role, std::string_view name) const {
  if (certificate) {
    if (certificate->role == role && certificate->name == name) return {};
    return fail(Errc::denied,
                "its certificate is for {}, but it registers as {} {:.64}: give it the files of that name (sumac pki "
                "issue DIR {} "
                "{:.64}), or the name in its certificate",
                control::describe(*certificate), to_string(role), name, to_string(role), name);
  }
  if (no_daemon.empty()) return {};
  return fail(Errc::denied, "{}", no_daemon);
}

std::string Caller::describe() const {
  if (certificate) return control::describe(*certificate);
  return uid ? fmt::format("user {}", *uid) : "somebody without a certificate";
}

}  // namespace sumac::control
