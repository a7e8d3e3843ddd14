#pragma once
// The connection between the client library and sharpd: whole messages of fixed size over a unix SOCK_SEQPACKET socket.
// The server accepts only the kernel's word about the identity of its peers, never a pid or user named in a message.
// The server side is nonblocking with one epoll set. The client side blocks with a time limit (attach and job begin are
// set-up, not data path).
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
#include "base/subordinate_ids.hpp"
#include "wire/host.hpp"

namespace sumac::net {

/// The identity of the process at the other end, by SO_PEERCRED: as it was at its connect().
struct PeerIdentity {
  pid_t pid = 0;  ///< 0 means a process in a pid namespace that is not visible here.
  uid_t uid = 0;
  gid_t gid = 0;
  uid_t person = 0;  ///< The user for whose share it counts: HostServer knows whose subordinate id `uid` is.
};
Result<PeerIdentity> peer_identity(int fd);

/// Returns a descriptor that becomes readable when the peer's process has ended. It is exact if the kernel provides one
/// for the socket (6.5 and later). With an earlier kernel it is opened by pid, and a pid that was reused in the instant
/// since the connect goes unnoticed.
Result<UniqueFd> peer_pidfd(int fd);

/// One attached client of a server. 0 is none; values are not reused.
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
  /// The client has handed over a descriptor with the message that comes next. It may be one of anything.
  virtual void on_descriptor(HostClientId, UniqueFd) {}
  /// The client is gone, or sent a malformed message; not called after our own close().
  virtual void on_closed(HostClientId client, const Error& why) = 0;

 protected:
  ~HostServerEvents() = default;
};

class HostServer {
 public:
  /// Listens at `path` (a missing directory is made); any local user may connect. A socket file whose server is dead is
  /// replaced. Returns Errc::exists if a server answers there.
  static Result<HostServer> listen(const std::string& path, std::size_t clients_max = 4096);
  HostServer(HostServer&&) noexcept;
  HostServer& operator=(HostServer&&) noexcept;
  ~HostServer();  ///< Removes the socket file if it is still ours.

  const std::string& path() const noexcept { return path_; }
  int wake_fd() const noexcept { return epoll_.get(); }
  std::size_t progress(HostServerEvents& events, std::size_t budget = 64);
  /// Delivers what the client has sent until now. Its process has ended, so only its children could send more.
  void read_rest(HostClientId client, HostServerEvents& events) { read_some(client, events, kRestMax); }
  /// Queues the message if the client does not read at the moment. Returns Errc::lost if there is no such client, or if
  /// it was given up because it had not read for too long.
  Errc send(HostClientId client, const wire::HostMessage& message);
  void close(HostClientId client);
  /// The client's socket, for peer_pidfd(); -1 if it is gone.
  int socket_of(HostClientId client) const;
  std::size_t clients() const noexcept { return clients_.size(); }
  /// Existing clients stay. `of_user` limits the clients of all processes of one user together.
  void set_clients_max(std::size_t count, std::size_t of_user = SIZE_MAX) noexcept {
    clients_max_ = count;
    user_clients_max_ = of_user;
  }
  /// Counts clients that were closed at once, because there was no descriptor left or clients_max was reached.
  std::uint64_t turned_away() const noexcept { return turned_away_; }
  /// Counts clients beyond the limit of one user, and names the user of the last one; all his uids are one user.
  struct Crowd {
    std::uint64_t turned_away = 0;
    uid_t uid = 0;
  };
  const Crowd& crowd() const noexcept { return crowd_; }

 private:
  static constexpr std::size_t kRestMax = 1024;  ///< More does not fit into a socket.
  struct Client {
    UniqueFd fd;
    uid_t person = 0;
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
  std::unordered_map<uid_t, std::size_t> of_person_;
  SubordinateIds persons_;
  std::deque<std::pair<HostClientId, Error>> ended_;
  std::uint64_t turned_away_ = 0;
  Crowd crowd_;
  UniqueFd spare_;  ///< Released for a moment, to accept and close a client when no other descriptor is left.
  UniqueFd listener_, epoll_;
};

class HostClient {
 public:
  /// Returns Errc::not_found if no process listens at `path`; the text explains it to a user.
  static Result<HostClient> connect(const std::string& path, Duration timeout);

  /// `handed`, unless it is -1, is a descriptor for the server to keep.
  Result<> send(const wire::HostMessage& message, Duration timeout, int handed = -1);
  /// Returns the next message, with every field checked. Returns Errc::timeout, or Errc::lost if the server went away.
  Result<wire::HostMessage> receive(Duration timeout);
  int fd() const noexcept { return fd_.get(); }

 private:
  explicit HostClient(PrivateFd fd) : fd_(std::move(fd)) {}
  PrivateFd fd_;
};

}  // namespace sumac::net
