#pragma once
// Between the client library and sharpd: whole messages of fixed size over a unix SOCK_SEQPACKET socket. The server believes the
// kernel's word about who its peers are, never a pid or user named in a message. Server side: nonblocking, one epoll set.
// Client side: blocking with a time limit (attach and job begin are set-up, not data path).
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/private_fd.hpp"
#include "base/result.hpp"
#include "wire/host.hpp"

namespace sumac::net {

/// Who is at the other end, by SO_PEERCRED: as of its connect().
struct PeerIdentity {
  pid_t pid = 0;  ///< 0: a process of a pid namespace that is not visible here.
  uid_t uid = 0;
  gid_t gid = 0;
};
Result<PeerIdentity> peer_identity(int fd);

/// A descriptor that becomes readable when the peer's process has ended. Exact where the kernel gives one for the socket (6.5 and
/// later); before that by pid, where a pid reused in the instant since the connect can't be told apart.
Result<UniqueFd> peer_pidfd(int fd);

/// One attached client of a server. 0 is none; values are not used again.
struct HostClientId {
  std::uint64_t value = 0;
  friend auto operator<=>(HostClientId, HostClientId) = default;
};

/// Called only from inside HostServer::progress(); may call send() and close().
class HostServerEvents {
 public:
  virtual void on_client(HostClientId client, const PeerIdentity& who) = 0;
  /// A message whose every field was checked (wire/host_codec.hpp).
  virtual void on_message(HostClientId client, const wire::HostMessage& message) = 0;
  /// Gone, or sent something malformed; not after our own close().
  virtual void on_closed(HostClientId client, const Error& why) = 0;

 protected:
  ~HostServerEvents() = default;
};

class HostServer {
 public:
  /// Listens at `path` (its directory is made if missing); any local user may connect. A socket file whose server is dead is
  /// replaced; Errc::exists if one answers there.
  static Result<HostServer> listen(const std::string& path, std::size_t clients_max = 4096);
  HostServer(HostServer&&) noexcept;
  HostServer& operator=(HostServer&&) noexcept;
  ~HostServer();  ///< Removes the socket file if it is still ours.

  const std::string& path() const noexcept { return path_; }
  int wake_fd() const noexcept { return epoll_.get(); }
  std::size_t progress(HostServerEvents& events, std::size_t budget = 64);
  /// Queued if the client does not read at the moment. Errc::lost: no such client, or it has not read for so long that it was given up.
  Errc send(HostClientId client, const wire::HostMessage& message);
  void close(HostClientId client);
  /// The client's socket, for peer_pidfd(); -1 if it is gone.
  int socket_of(HostClientId client) const;
  std::size_t clients() const noexcept { return clients_.size(); }
  /// Those that are there stay. `of_user`: of all that one user's processes may have.
  void set_clients_max(std::size_t count, std::size_t of_user = SIZE_MAX) noexcept {
    clients_max_ = count;
    user_clients_max_ = of_user;
  }
  /// Clients that were closed at once: no descriptor left, or clients_max.
  std::uint64_t turned_away() const noexcept { return turned_away_; }
  /// Those beyond what one user may have, and whose the last one was.
  struct Crowd {
    std::uint64_t turned_away = 0;
    uid_t uid = 0;
  };
  const Crowd& crowd() const noexcept { return crowd_; }

 private:
  struct Client {
    UniqueFd fd;
    uid_t uid = 0;
    std::deque<std::array<std::byte, wire::kHostMessageBytes>> out;
    bool out_armed = false;
  };
  HostServer() = default;
  std::size_t accept_some(HostServerEvents& events);
  std::size_t read_some(HostClientId id, HostServerEvents& events, std::size_t budget);
  bool write_some(HostClientId id, Client& client);
  void arm(HostClientId id, Client& client, bool out);
  void forget(HostClientId id);

  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::size_t clients_max_ = 0, user_clients_max_ = SIZE_MAX;
  std::uint64_t next_id_ = 1;
  std::map<HostClientId, Client> clients_;
  std::unordered_map<uid_t, std::size_t> of_user_;
  std::deque<std::pair<HostClientId, Error>> ended_;
  std::uint64_t turned_away_ = 0;
  Crowd crowd_;
  UniqueFd spare_;  ///< Given up for a moment to take and close a client when there is no other descriptor.
  UniqueFd listener_, epoll_;
};

class HostClient {
 public:
  /// Errc::not_found: nobody listens at `path`; the text says so in words for a user.
  static Result<HostClient> connect(const std::string& path, Duration timeout);

  Result<> send(const wire::HostMessage& message, Duration timeout);
  /// The next message, every field checked. Errc::timeout, or Errc::lost if the server went away.
  Result<wire::HostMessage> receive(Duration timeout);
  int fd() const noexcept { return fd_.get(); }

 private:
  explicit HostClient(PrivateFd fd) : fd_(std::move(fd)) {}
  PrivateFd fd_;
};

}  // namespace sumac::net
