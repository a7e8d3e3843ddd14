#pragma once
// A gRPC server on a unix socket that knows the user of each caller. gRPC does not report the other end of a unix
// socket. So we accept connections ourselves, ask the kernel for the peer (SO_PEERCRED), and hand each connection to a
// gRPC server of that user: the server that receives a call identifies the user. A table of connections by descriptor
// would not do, because a descriptor can be reused while calls of its former connection are still in progress.
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/subordinate_ids.hpp"
#include "control/caller.hpp"
#include "control/relay.hpp"
#include "control/signals.hpp"

namespace sumac::control {

/// Makes the service for one group of callers. The service lives as long as they may call.
using MakeService = std::function<std::unique_ptr<grpc::Service>(CallerOf caller_of)>;

class LocalServer {
 public:
  /// Any user of the machine may connect; the operator can restrict that with the mode of the directory. A missing
  /// directory is created, writable by this process's user only. Returns Errc::denied if another user could replace the
  /// socket, and Errc::exists if another process serves there.
  static Result<std::unique_ptr<LocalServer>> start(const std::string& path, DaemonUsers users, MakeService make);
  ~LocalServer();  ///< The destructor ends all calls and removes the socket.
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  /// The limits of open connections: of one ordinary user, and of all ordinary users together.
  static constexpr std::size_t kStrangerConnections = 16, kAllStrangersConnections = 128;

 private:
  /// The server for the callers of one user.
  struct Room {
    std::unique_ptr<grpc::Service> service;
    std::unique_ptr<grpc::Server> server;
    std::size_t connections = 0;  ///< The number of connections, counted for an ordinary user only.
  };

  LocalServer(std::string path, DaemonUsers users, MakeService make, WakeEvent stop, Relay relay)
      : path_(std::move(path)),
        users_(std::move(users)),
        make_(std::move(make)),
        stop_(std::move(stop)),
        relay_(std::move(relay)) {}
  Result<> listen();
  void run();
  bool accept_one();
  void serve(UniqueFd connection, uid_t uid);
  void serve_stranger(UniqueFd connection, uid_t uid, uid_t person);
  Room& room_of(uid_t uid, uid_t person, bool stranger);
  void ended(Relay::Id id);
  static std::unique_ptr<grpc::Server> make_server(grpc::Service& service, bool stranger);

  std::string path_;
  DaemonUsers users_;
  MakeService make_;
  WakeEvent stop_;
  Relay relay_;  ///< It carries the ordinary users' connections.
  UniqueFd lock_, listener_, epoll_;
  std::map<uid_t, Room> rooms_;
  SubordinateIds persons_;
  std::map<Relay::Id, uid_t> strangers_;  ///< The connections of ordinary users, who may run no daemon.
  Relay::Id last_id_ = 0;
  std::thread thread_;
};

/// Returns a nonblocking connection to the daemon at `path`, after a check that the socket may be that daemon's.
/// Returns Errc::lost if no process listens there, and Errc::denied if its owner is another user.
Result<UniqueFd> connect_local(const std::string& path);

}  // namespace sumac::control
