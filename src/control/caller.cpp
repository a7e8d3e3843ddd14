#include "control/caller.hpp"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string>

#include "base/fd.hpp"
#include "control/tls.hpp"

namespace sumac::control {
namespace {

struct Place {
  int family = AF_UNSPEC;
  std::uint8_t address[16]{};
  std::uint16_t port = 0;
};

/// "ADDR:PORT" or "[ADDR]:PORT", numbers only.
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

/// gRPC writes "ipv6:%5B::1%5D:40000".
std::string plain(std::string_view peer) {
  std::string text(peer);
  for (const auto& [coded, letter] : {std::pair{"%5B", "["}, {"%5D", "]"}})
    if (const auto at = text.find(coded); at != text.npos) text.replace(at, 3, letter);
  return text;
}

/// Asks the kernel for one connection, seen from `from`'s side.
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
  const auto got = ::recv(fd.get(), answer, sizeof answer, 0);  // the kernel answers within send()
  nlmsghdr header{};
  if (got < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof(inet_diag_msg))) return std::nullopt;
  std::memcpy(&header, answer, sizeof header);
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;  // NLMSG_ERROR: there is none
  inet_diag_msg found{};
  std::memcpy(&found, answer + NLMSG_HDRLEN, sizeof found);
  return found.idiag_uid;
}

}  // namespace

std::optional<std::uint32_t> uid_of_peer(std::string_view peer, std::string_view server) {
  const auto text = plain(peer);
  if (!text.starts_with("ipv4:") && !text.starts_with("ipv6:")) return std::nullopt;
  const auto from = parse_place(std::string_view(text).substr(5));
  auto to = parse_place(server);
  if (!from || !to) return std::nullopt;
  if (from->family == to->family)
    if (auto uid = uid_of_socket(*from, *to)) return uid;
  // A server on all addresses: a process of this machine most likely has one address for both ends, or loopback's.
  Place same = *from;
  same.port = to->port;
  if (auto uid = uid_of_socket(*from, same)) return uid;
  if (from->family != AF_INET) return std::nullopt;
  const std::uint8_t loopback[] = {127, 0, 0, 1};
  std::memcpy(same.address, loopback, sizeof loopback);
  return uid_of_socket(*from, same);
}

Result<Caller> caller_of(const grpc::ServerContextBase& context, std::string_view server, bool tls) {
  Caller caller;
  if (tls) {
    const auto shown = context.auth_context();
    auto who = shown ? identity_of(*shown) : fail(Errc::denied, "it has shown no certificate");
    if (!who) return tl::unexpected(who.error());
    caller.certificate = *std::move(who);
  } else if (server.starts_with("unix:")) {
    caller.uid = ::geteuid();  // or root: the socket's mode keeps everybody else out
  } else {
    caller.uid = uid_of_peer(context.peer(), server);
  }
  return caller;
}

bool Caller::is_operator() const noexcept {
  if (certificate) return certificate->role == CertRole::admin || certificate->role == CertRole::manager;
  return uid && (*uid == 0 || *uid == ::geteuid());
}

Result<> Caller::may_be(CertRole role, std::string_view name) const {
  if (certificate) {
    if (certificate->role == role && certificate->name == name) return {};
    return fail(Errc::denied,
                "its certificate is for {}, it says it is {} {:.64}: give it that one's files (sumac pki issue DIR {} "
                "{:.64}), or its own name",
                describe(*certificate), to_string(role), name, to_string(role), name);
  }
  if (!uid || is_operator()) return {};
  return fail(Errc::denied, "it runs as user {} on the manager's machine: only root and user {} may run daemons here",
              *uid, ::geteuid());
}

}  // namespace sumac::control
