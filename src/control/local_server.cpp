#include "control/local_server.hpp"

#include <fcntl.h>
#include <grpcpp/server_posix.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/socket_directory.hpp"
#include "base/unix_address.hpp"
#include "control/endpoint.hpp"

namespace sumac::control {
namespace {

constexpr int kBacklog = 1024;
/// While the process has no descriptor left, it cannot accept a connection; it tries again after this pause.
constexpr int kFullPauseMs = 100;

constexpr Relay::Limits kStrangerLimits{{kStrangerMessageBytesMax, kStrangerCalls},
                                        LocalServer::kStrangerConnections,
                                        kStrangerUnfinishedBytesMax,
                                        kAllStrangersUnfinishedBytesMax};

UniqueFd unix_socket() { return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

bool watch(int epoll, int fd, std::uint32_t events, int operation = EPOLL_CTL_ADD) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  return ::epoll_ctl(epoll, operation, fd, &event) == 0;
}

/// The lock is held as long as the socket is served. So a socket file whose lock is free belongs to a server that died.
Result<UniqueFd> take_lock(const std::string& path) {
  const auto file = path + ".lock";
  for (;;) {
    UniqueFd lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock) return fail_errno(file);
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
      return fail(Errc::exists, "another process serves {}: stop it, or choose another socket", path);
    // The previous server may have removed the lock file between our open and our lock; such a lock protects nothing,
    // so we try again.
    struct stat held {
    }, there{};
    if (::fstat(lock.get(), &held) == 0 && ::stat(file.c_str(), &there) == 0 && held.st_ino == there.st_ino)
      return lock;
  }
}

}  // namespace

Result<std::unique_ptr<LocalServer>> LocalServer::start(const std::string& path, DaemonUsers users, MakeService make) {
  std::error_code ignored;
  const auto directory = std::filesystem::absolute(path, ignored).parent_path();
  if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST)
    return fail_errno(
        fmt::format("make directory {} for the socket (give one of your own: unix:PATH)", directory.string()));
  auto real = own_socket_path(path);
  if (!real) return tl::unexpected(real.error());
  auto stop = WakeEvent::make();
  if (!stop) return tl::unexpected(stop.error());
  auto relay = Relay::make(kStrangerLimits);
  if (!relay) return tl::unexpected(relay.error());
  std::unique_ptr<LocalServer> server(
      new LocalServer(*std::move(real), std::move(users), std::move(make), *std::move(stop), *std::move(relay)));
  if (auto listens = server->listen(); !listens) return tl::unexpected(listens.error());
  server->thread_ = std::thread([raw = server.get()] { raw->run(); });
  return server;
}

Result<> LocalServer::listen() {
  auto address = unix_address(path_);
  if (!address) return tl::unexpected(address.error());
  auto lock = take_lock(path_);
  if (!lock) return tl::unexpected(lock.error());
  lock_ = *std::move(lock);
  struct stat found {};
  if (::lstat(path_.c_str(), &found) == 0) {
    if (!S_ISSOCK(found.st_mode)) return fail(Errc::exists, "{} is there and is no socket: move it away", path_);
    if (::unlink(path_.c_str()) != 0) return fail_errno(fmt::format("remove the dead socket {}", path_));
  }
  listener_ = unix_socket();
  epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!listener_ || !epoll_) return fail_errno("socket");
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
    return fail_errno(fmt::format("bind {}", path_));
  if (::chmod(path_.c_str(), 0666) != 0 || ::listen(listener_.get(), kBacklog) != 0)
    return fail_errno(fmt::format("listen at {}", path_));
  if (!watch(epoll_.get(), listener_.get(), EPOLLIN) || !watch(epoll_.get(), stop_.fd(), EPOLLIN) ||
      !watch(epoll_.get(), relay_.fd(), EPOLLIN))
    return fail_errno("epoll_ctl");
  return {};
}

LocalServer::~LocalServer() {
  stop_.set();
  if (thread_.joinable()) thread_.join();
  for (auto& [uid, room] : rooms_) {
    // A deadline of now cancels the open streams instead of waiting for them.
    room.server->Shutdown(std::chrono::system_clock::now());
    room.server->Wait();
  }
  if (!listener_) return;
  ::unlink(path_.c_str());
  ::unlink((path_ + ".lock").c_str());
}

void LocalServer::run() {
  bool full = false;
  for (;;) {
    epoll_event events[64];
    const int wait_ms = poll_timeout(monotonic_now(), relay_.next_deadline());
    const int count = ::epoll_wait(epoll_.get(), events, 64, full ? kFullPauseMs : wait_ms);
    if (count < 0 && errno != EINTR) return;  // epoll_wait cannot fail otherwise with an epoll set of our own.
    if (full) watch(epoll_.get(), listener_.get(), EPOLLIN, EPOLL_CTL_MOD);
    full = false;
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd == stop_.fd()) return;
      if (fd == listener_.get() && !accept_one()) full = watch(epoll_.get(), fd, 0, EPOLL_CTL_MOD);
    }
    for (const auto& connection : relay_.progress(monotonic_now())) ended(connection.id);
  }
}

/// Accepts one connection. Returns false if no descriptor is left.
bool LocalServer::accept_one() {
  UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!connection) return errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS;
  if (const auto uid = peer_uid(connection.get())) serve(std::move(connection), *uid);
  return true;
}

void LocalServer::serve(UniqueFd connection, uid_t uid) {
  const auto person = persons_.owner_of(uid);
  if (!users_.has(uid)) return serve_stranger(std::move(connection), uid, person);
  grpc::AddInsecureChannelFromFd(room_of(uid, person, false).server.get(), connection.release());
}

void LocalServer::serve_stranger(UniqueFd connection, uid_t uid, uid_t person) {
  if (strangers_.size() >= kAllStrangersConnections) return;
  const auto id = ++last_id_;
  auto grpcs = relay_.add(id, {.fd = std::move(connection)}, fmt::format("user {}", person));
  if (!grpcs) return;  // For instance, he has kStrangerConnections already.
  auto& room = room_of(uid, person, true);
  ++room.connections;
  strangers_[id] = uid;
  grpc::AddInsecureChannelFromFd(room.server.get(), grpcs->release());
}

LocalServer::Room& LocalServer::room_of(uid_t uid, uid_t person, bool stranger) {
  auto& room = rooms_[uid];
  if (room.server) return room;
  auto caller = local_caller(uid, users_);
  caller.person = person;
  room.service = make_([caller](const grpc::ServerContextBase&) { return caller; });
  room.server = make_server(*room.service, stranger);
  return room;
}

void LocalServer::ended(Relay::Id id) {
  const auto found = strangers_.find(id);
  if (found == strangers_.end()) return;
  const auto uid = found->second;
  strangers_.erase(found);
  auto& room = rooms_[uid];
  if (--room.connections > 0) return;
  // Many users may come and go, so the server of a user without connections is ended. No client is left to receive the
  // answers that are still outstanding.
  room.server->Shutdown(std::chrono::system_clock::now());
  room.server->Wait();
  rooms_.erase(uid);
}

std::unique_ptr<grpc::Server> LocalServer::make_server(grpc::Service& service, bool stranger) {
  grpc::ServerBuilder builder;
  set_server_options(builder, stranger ? Callers::strangers : Callers::daemons);
  builder.RegisterService(&service);
  return builder.BuildAndStart();
}

Result<UniqueFd> connect_local(const std::string& path) {
  auto address = unix_address(path);
  if (!address) return tl::unexpected(address.error());
  UniqueFd fd = unix_socket();
  if (!fd) return fail_errno("socket");
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    const int error = errno;
    return fail(error == EACCES ? Errc::denied : Errc::lost, "{}",
                error == EAGAIN ? "it does not accept: is it stopped?" : std::strerror(error));
  }
  const auto listener = peer_uid(fd.get());
  if (!listener) return tl::unexpected(listener.error());
  if (auto trusted = check_listener(path, *listener); !trusted) return tl::unexpected(trusted.error());
  return fd;
}

}  // namespace sumac::control
