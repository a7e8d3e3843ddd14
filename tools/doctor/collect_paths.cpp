// Finds the largest packet that reaches another host whole. A UDP datagram to a port where nobody listens, with the
// order not to cut it, is answered by ICMP: "port unreachable" says that it arrived. The peer needs no program for
// that.
#include <time.h>
// The kernel header needs the C library's time.h before it.
#include <linux/errqueue.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "net/own_address.hpp"
#include "tools/doctor/collect.hpp"

namespace sumac::tools::doctor {
namespace {

constexpr std::uint16_t kPort =
    33499;  // It is in the range that traceroute uses, which filters let pass more often than others.
constexpr Duration kAnswerWithin = Millis(400);
/// A host answers six datagrams of one sender at once, and then one a second: after such a pause silence has a meaning.
constexpr Duration kRefilled = Millis(1100);
constexpr std::int64_t kSmall = 576;
constexpr std::size_t kPathsMax = 16;
/// Sizes of known networks, from large to small: the largest that arrives is answered first.
constexpr std::int64_t kSizes[] = {9000, 4096, 2044, 1500, 1480, 1450, 1420, 1400, 1280, 1000};

/// One datagram of `bytes`, headers included, and its answer.
struct Probe {
  std::size_t path = 0;
  std::int64_t bytes = 0;
  UniqueFd fd;
  enum class Answer { none, arrived, too_large, other } answer = Answer::none;
};

struct Peer {
  sockaddr_storage address{};
  socklen_t length = 0;
};

Probe send(std::size_t path, const Peer& peer, std::int64_t bytes) {
  Probe probe{path, bytes, {}};
  const bool v6 = peer.address.ss_family == AF_INET6;
  probe.fd = UniqueFd(::socket(peer.address.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int discover = v6 ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE, on = 1;
  if (!probe.fd ||
      ::setsockopt(probe.fd.get(), v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, &discover,
                   sizeof discover) != 0 ||
      ::setsockopt(probe.fd.get(), v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVERR : IP_RECVERR, &on, sizeof on) !=
          0 ||
      ::connect(probe.fd.get(), reinterpret_cast<const sockaddr*>(&peer.address), peer.length) != 0) {
    probe.answer = Probe::Answer::other;
    return probe;
  }
  const std::string data(static_cast<std::size_t>(bytes - (v6 ? 48 : 28)), '\0');
  if (::send(probe.fd.get(), data.data(), data.size(), 0) < 0)
    probe.answer = errno == EMSGSIZE ? Probe::Answer::too_large : Probe::Answer::other;
  return probe;
}

void hear(Probe& probe) {
  char control[512];
  msghdr message{};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(probe.fd.get(), &message, MSG_ERRQUEUE) < 0) return;
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    sock_extended_err error{};
    if (at->cmsg_len < CMSG_LEN(sizeof error)) continue;
    std::memcpy(&error, CMSG_DATA(at), sizeof error);
    probe.answer = error.ee_errno == ECONNREFUSED ? Probe::Answer::arrived
                   : error.ee_errno == EMSGSIZE   ? Probe::Answer::too_large
                                                  : Probe::Answer::other;
  }
}

/// Waits for the answers to all probes, or until no more are to be expected.
void await(std::vector<Probe>& probes, Duration limit) {
  const Time deadline = deadline_after(monotonic_now(), limit);
  for (;;) {
    std::vector<pollfd> wait;
    std::vector<Probe*> open;
    for (auto& probe : probes)
      if (probe.answer == Probe::Answer::none) wait.push_back({probe.fd.get(), 0, 0}), open.push_back(&probe);
    const auto left = std::chrono::ceil<Millis>(deadline - monotonic_now()).count();
    if (open.empty() || left <= 0) return;
    if (::poll(wait.data(), wait.size(), static_cast<int>(left)) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < open.size(); ++i)
      if (wait[i].revents != 0) hear(*open[i]);
  }
}

bool resolve(const std::string& name, Peer& peer) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICHOST;  // Names were resolved before, where a silent name service could not hold us.
  if (::getaddrinfo(name.c_str(), std::to_string(kPort).c_str(), &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  std::memcpy(&peer.address, found->ai_addr, found->ai_addrlen);
  peer.length = found->ai_addrlen;
  return true;
}

std::int64_t mtu_of(const std::string& interface) {
  std::int64_t mtu = 0;
  std::ifstream("/sys/class/net/" + interface + "/mtu") >> mtu;
  return mtu;
}

/// The peers by name and address: those that were asked for, the manager, the nodes. One path for each address.
void choose(Facts& facts, const Strings& peers) {
  const auto add = [&](const std::string& name, const std::string& address) {
    const auto known = std::ranges::find(facts.paths, address, &Path::address);
    if (address.empty() || known != facts.paths.end() || facts.paths.size() >= kPathsMax) return;
    const auto own = net::address_towards(address);
    if (!own || own->loopback || own->ip() == address || own->device.empty()) return;
    facts.paths.push_back(
        {.peer = name, .address = address, .interface = own->device, .interface_mtu = mtu_of(own->device)});
  };
  for (const auto& peer : peers)
    for (const auto& name : facts.names)
      if (name.name == peer && !name.addresses.empty()) add(peer, name.addresses.front());
  for (const auto& port : facts.ports) {
    const auto colon = port.address.rfind(':');
    if (port.state == "open" && !port.address.starts_with('[')) add(port.daemon, port.address.substr(0, colon));
  }
}

}  // namespace

void collect_paths(Facts& facts, const Strings& peers) {
  choose(facts, peers);
  std::vector<Peer> addresses(facts.paths.size());
  std::vector<bool> open(facts.paths.size());
  for (std::size_t i = 0; i < facts.paths.size(); ++i)
    open[i] = facts.paths[i].interface_mtu > kSmall && resolve(facts.paths[i].address, addresses[i]);
  // Sends datagrams of these sizes to each open path. One that arrives shows what fits.
  const auto ask = [&](auto sizes_of, Duration limit) {
    std::vector<Probe> probes;
    for (std::size_t i = 0; i < open.size(); ++i)
      if (open[i])
        for (const auto size : sizes_of(facts.paths[i])) probes.push_back(send(i, addresses[i], size));
    await(probes, limit);
    for (const auto& probe : probes) {
      auto& path = facts.paths[probe.path];
      if (probe.answer == Probe::Answer::arrived) path.fits = std::max(path.fits, probe.bytes);
      if (probe.answer == Probe::Answer::too_large) path.reported = true;
      if (path.fits >= path.interface_mtu || probe.answer == Probe::Answer::other) open[probe.path] = false;
    }
  };
  using Sizes = std::vector<std::int64_t>;
  const auto full = [](const Path& path) { return Sizes{path.interface_mtu}; };
  const auto smaller = [](const Path& path) {
    Sizes sizes;
    for (const auto size : kSizes)
      if (size < path.interface_mtu) sizes.push_back(size);
    return sizes;
  };
  ask(full, kAnswerWithin);
  ask(full, kAnswerWithin);  // A datagram may be lost.
  ask([](const Path&) { return Sizes{kSmall}; }, kAnswerWithin);
  for (std::size_t i = 0; i < open.size(); ++i)
    if (facts.paths[i].fits == 0) open[i] = false;  // Such a peer answers nothing, so silence has no meaning.
  ask(smaller, kRefilled);
  ask(full, kRefilled);
}

}  // namespace sumac::tools::doctor
