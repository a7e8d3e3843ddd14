// Connects to the daemons' ports. A port that refuses has nobody behind it; one that does not answer is behind a
// filter.
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "tools/doctor/collect.hpp"

namespace sumac::tools::doctor {
namespace {

constexpr Duration kConnectWithin = Seconds(2);
constexpr std::size_t kPortsMax = 256;

const char* state_of(int error) {
  switch (error) {
    case 0: return "open";
    case ECONNREFUSED: return "refused";
    case ETIMEDOUT:
    case EINPROGRESS: return "filtered";
    default: return "unreachable";
  }
}

struct Trial {
  std::size_t port = 0;
  UniqueFd fd;
};

/// Begins to connect; returns the error, EINPROGRESS where the answer is still to come.
/// A node's address is a number; a name there, which the manager chose, would make many questions to the resolver.
int begin(const std::string& address, bool is_name_allowed, UniqueFd& fd) {
  const auto colon = address.rfind(':');
  auto host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (!is_name_allowed) hints.ai_flags = AI_NUMERICHOST;
  if (colon == std::string::npos || ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found) != 0)
    return -1;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  fd = UniqueFd(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  return ::connect(fd.get(), found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
}

}  // namespace

void collect_ports(Facts& facts) {
  if (!facts.manager.endpoint.starts_with("unix:") && facts.manager.state != "wrong")
    facts.ports.push_back({"sharp_am", facts.manager.endpoint, ""});
  // A connection to ucx's port can end the process behind it, so only those of tcp are tried.
  for (const auto& node : facts.manager.nodes)
    if (node.address.starts_with("tcp:") && facts.ports.size() < kPortsMax)
      facts.ports.push_back({"sharp_an " + node.name, node.address.substr(4), ""});
  std::vector<Trial> waiting;
  for (std::size_t i = 0; i < facts.ports.size(); ++i) {
    Trial trial{i, {}};
    const int error = begin(facts.ports[i].address, facts.ports[i].address == facts.manager.endpoint, trial.fd);
    facts.ports[i].state = error == -1 ? "unresolved" : state_of(error);
    if (error == EINPROGRESS) waiting.push_back(std::move(trial));
  }
  const Time deadline = deadline_after(monotonic_now(), kConnectWithin);
  while (!waiting.empty()) {
    const auto left = std::chrono::ceil<Millis>(deadline - monotonic_now()).count();
    if (left <= 0) return;
    std::vector<pollfd> wait;
    for (const auto& trial : waiting) wait.push_back({trial.fd.get(), POLLOUT, 0});
    if (::poll(wait.data(), wait.size(), static_cast<int>(left)) < 0 && errno != EINTR) return;
    for (std::size_t i = wait.size(); i-- > 0;) {
      if (wait[i].revents == 0) continue;
      int error = 0;
      socklen_t bytes = sizeof error;
      ::getsockopt(waiting[i].fd.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
      facts.ports[waiting[i].port].state = state_of(error);
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

}  // namespace sumac::tools::doctor
