#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstring>
#include <span>

#include "net/unix_path.hpp"
#include "net/unix_seqpacket.hpp"
#include "wire/host_codec.hpp"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77  // From Linux 6.5; the headers of Debian 12 lack it.
#endif

namespace sumac::net {
namespace {

/// A client with more unread messages (256 KiB) is given up.
inline constexpr std::size_t kQueueMax = 256;
inline constexpr int kReportsPerPass = 64;
inline constexpr int kAcceptsPerPass = 16;

/// Receives a message and the descriptor that came with it, of which there is room for one: the kernel closes further ones.
ssize_t receive(int fd, std::span<std::byte> bytes, UniqueFd& handed) {
  alignas(cmsghdr) char control[CMSG_LEN(sizeof(int))]{};
  iovec part{bytes.data(), bytes.size()};
  msghdr whole{};
  whole.msg_iov = &part;
  whole.msg_iovlen = 1;
  whole.msg_control = control;
  whole.msg_controllen = sizeof control;
  const ssize_t n = ::recvmsg(fd, &whole, MSG_TRUNC | MSG_CMSG_CLOEXEC);
  const cmsghdr* const head = n < 0 ? nullptr : CMSG_FIRSTHDR(&whole);
  if (head == nullptr || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) return n;
  int number = -1;
  std::memcpy(&number, CMSG_DATA(head), sizeof number);
  handed = UniqueFd(number);
  return n;
}

Error lost(std::string text) { return Error{Errc::lost, std::move(text)}; }

}  // namespace

Result<PeerIdentity> peer_identity(int fd) {
  ucred who{};
  socklen_t length = sizeof who;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) return fail_errno("SO_PEERCRED");
  return PeerIdentity{who.pid, who.uid, who.gid, who.uid};
}

Result<UniqueFd> peer_pidfd(int fd) {
  int pidfd = -1;
  socklen_t length = sizeof pidfd;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) == 0) return UniqueFd{pidfd};
  auto who = peer_identity(fd);
  if (!who) return tl::unexpected(who.error());
  pidfd = static_cast<int>(syscall(SYS_pidfd_open, who->pid, 0));
  if (pidfd < 0 && (errno == EMFILE || errno == ENFILE))
    return fail(Errc::exhausted, "no descriptor is left to watch process {} by", who->pid);
  if (pidfd < 0) return fail_errno(fmt::format("pidfd_open of process {}", who->pid));
  return UniqueFd{pidfd};
}

Result<HostServer> HostServer::listen(const std::string& path, std::size_t clients_max) {
  HostServer server;
  server.clients_max_ = clients_max;
  server.epoll_ = UniqueFd{epoll_create1(EPOLL_CLOEXEC)};
  if (!server.epoll_) return fail_errno("epoll_create1");
  auto listener = listen_at(path);
  if (!listener) return tl::unexpected(listener.error());
  server.listener_ = std::move(*listener);
  server.path_ = path;
  struct stat made {};
  if (stat(path.c_str(), &made) != 0) return fail_errno(path);
  server.device_ = made.st_dev;
  server.inode_ = made.st_ino;
  epoll_event event{};
  event.events = EPOLLIN;
  server.spare_ = UniqueFd{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  if (epoll_ctl(server.epoll_.get(), EPOLL_CTL_ADD, server.listener_.get(), &event) != 0)
    return fail_errno("epoll_ctl");
  return server;
}

HostServer::HostServer(HostServer&& other) noexcept { *this = std::move(other); }

HostServer& HostServer::operator=(HostServer&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  std::swap(clients_max_, other.clients_max_);
  std::swap(user_clients_max_, other.user_clients_max_);
  std::swap(next_id_, other.next_id_);
  std::swap(clients_, other.clients_);
  std::swap(of_person_, other.of_person_);
  std::swap(persons_, other.persons_);
  std::swap(ended_, other.ended_);
  std::swap(turned_away_, other.turned_away_);
  std::swap(crowd_, other.crowd_);
  std::swap(spare_, other.spare_);
  std::swap(listener_, other.listener_);
  std::swap(epoll_, other.epoll_);
  return *this;
}

HostServer::~HostServer() {
  if (!listener_) return;
  struct stat now {};
  // Another server may have taken over the path, for instance while this process was stopped.
  if (stat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_) unlink(path_.c_str());
}

void HostServer::forget(HostClientId id) {
  const auto it = clients_.find(id);
  if (it == clients_.end()) return;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, it->second.fd.get(), nullptr);
  if (const auto user = of_person_.find(it->second.person); --user->second == 0) of_person_.erase(user);
  clients_.erase(it);
}

void HostServer::close(HostClientId client) { forget(client); }

int HostServer::socket_of(HostClientId client) const {
  const auto it = clients_.find(client);
  return it == clients_.end() ? -1 : it->second.fd.get();
}

void HostServer::arm(HostClientId id, Client& client, bool out) {
  if (client.out_armed == out) return;
  client.out_armed = out;
  epoll_event event{};
  event.events = EPOLLIN | (out ? EPOLLOUT : 0u);
  event.data.u64 = id.value;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, client.fd.get(), &event);
}

std::size_t HostServer::accept_some(HostServerEvents& events) {
  std::size_t accepted = 0;
  for (int i = 0; i < kAcceptsPerPass; ++i) {
    UniqueFd fd{accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (!fd && (errno == EMFILE || errno == ENFILE)) {
      // A waiting client would be reported again and again. With the spare descriptor it is accepted and closed.
      ++turned_away_;
      spare_.reset();
      const bool taken = static_cast<bool>(UniqueFd{accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)});
      spare_ = UniqueFd{open("/dev/null", O_RDONLY | O_CLOEXEC)};
      if (taken) continue;
    }
    if (!fd) break;
    if (clients_.size() >= clients_max_) {  // A client beyond the limit is closed at once.
      ++turned_away_;
      continue;
    }
    auto who = peer_identity(fd.get());
    if (!who) continue;
    who->person = persons_.owner_of(who->uid);
    if (const auto user = of_person_.find(who->person); user != of_person_.end() && user->second >= user_clients_max_) {
      ++crowd_.turned_away;
      crowd_.uid = who->person;
      continue;
    }
    const HostClientId id{next_id_++};
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = id.value;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) continue;
    auto& client = clients_[id];
    client.fd = std::move(fd);
    client.person = who->person;
    ++of_person_[who->person];
    ++accepted;
    events.on_client(id, *who);
  }
  return accepted;
}

std::size_t HostServer::read_some(HostClientId id, HostServerEvents& events, std::size_t budget) {
  std::size_t delivered = 0;
  while (delivered < budget) {
    const int fd = socket_of(id);  // A callback may have closed the client.
    if (fd < 0) return delivered;
    std::array<std::byte, wire::kHostMessageBytes> bytes;
    UniqueFd handed;
    const ssize_t n = receive(fd, bytes, handed);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return delivered;
    ++delivered;
    Error why;
    if (n <= 0) {
      why = lost(n == 0 ? "closed by the client" : std::strerror(errno));
    } else if (static_cast<std::size_t>(n) != bytes.size()) {
      why = Error{Errc::invalid, fmt::format("malformed: {} bytes, not {}", n, bytes.size())};
    } else if (wire::HostMessage message; wire::decode(bytes, message) == Errc::ok) {
      if (handed) events.on_descriptor(id, std::move(handed));
      events.on_message(id, message);
      continue;
    } else {
      why = wire::decode_host_message(bytes).error();
      // From any header of ours the client's library learns the two versions; if its socket is full, it has to do
      // without.
      const auto ours = wire::encoded(wire::host_message(wire::HostKind::attached, JobId{}));
      if (why.code == Errc::unsupported) (void)::send(fd, ours.data(), ours.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    forget(id);
    events.on_closed(id, why);
    return delivered;
  }
  return delivered;
}

/// Sends queued messages. Returns false if the client is gone.
bool HostServer::write_some(HostClientId id, Client& client) {
  while (!client.out.empty()) {
    const auto& bytes = client.out.front();
    if (::send(client.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return false;
      arm(id, client, true);
      return true;
    }
    client.out.pop_front();
  }
  arm(id, client, false);
  return true;
}

Errc HostServer::send(HostClientId id, const wire::HostMessage& message) {
  const auto it = clients_.find(id);
  if (it == clients_.end()) return Errc::lost;
  const bool full = it->second.out.size() >= kQueueMax;
  if (!full) it->second.out.push_back(wire::encoded(message));
  if (full || !write_some(id, it->second)) {
    forget(id);
    ended_.emplace_back(id, lost(full ? "the client does not read its messages" : "closed by the client"));
    return Errc::lost;
  }
  return Errc::ok;
}

std::size_t HostServer::progress(HostServerEvents& events, std::size_t budget) {
  epoll_event reports[kReportsPerPass];
  const int count = epoll_wait(epoll_.get(), reports, kReportsPerPass, 0);
  std::size_t done = 0;
  for (int i = 0; i < count && done < budget; ++i) {
    const HostClientId id{reports[i].data.u64};
    if (id.value == 0) {
      done += accept_some(events);
      continue;
    }
    const auto it = clients_.find(id);
    if (it == clients_.end()) continue;
    if ((reports[i].events & EPOLLOUT) != 0 && !write_some(id, it->second)) {
      forget(id);
      ended_.emplace_back(id, lost("closed by the client"));
      continue;
    }
    if ((reports[i].events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) done += read_some(id, events, budget - done);
  }
  while (!ended_.empty()) {
    const auto [id, why] = std::move(ended_.front());
    ended_.pop_front();
    ++done;
    events.on_closed(id, why);
  }
  return done;
}

}  // namespace sumac::net
