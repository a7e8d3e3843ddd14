#pragma once
// A gRPC server on a unix socket that knows whose process calls. gRPC shows nothing of a unix socket's other end, so we accept ourselves, ask the
// kernel (SO_PEERCRED), and hand each connection to the gRPC server of its user: a call belongs to the user whose server received it. A table of
// connections would have to go by descriptors, which are used again while calls of a former connection may still be under way.
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "control/caller.hpp"
#include "control/signals.hpp"

namespace sumac::control {

/// Makes the service of one kind of callers; it lives as long as calls of theirs may come.
using MakeService = std::function<std::unique_ptr<grpc::Service>(CallerOf caller_of)>;

class LocalServer {
 public:
  /// Any user of the machine may connect; the directory's mode is the operator's means to restrict it. A directory that is missing is made, for this
  /// user alone to write. Errc::denied: somebody else could replace the socket. Errc::exists: another process serves there.
  static Result<std::unique_ptr<LocalServer>> start(const std::string& path, DaemonUsers users, MakeService make);
  ~LocalServer();  ///< Ends all calls and removes the socket.
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  /// Connections that one ordinary user may have open at once, and all of them together.
  static constexpr std::size_t kStrangerConnections = 64, kAllStrangersConnections = 512;

 private:
  /// Callers of one user.
  struct Room {
    std::unique_ptr<grpc::Service> service;
    std::unique_ptr<grpc::Server> server;
    std::size_t connections = 0;  ///< Of an ordinary user.
  };
  /// A connection of an ordinary user.
  struct Stranger {
    UniqueFd watched;  ///< A second descriptor of it: gRPC owns the first and does not say when it ends.
    uid_t uid = 0;
  };

  LocalServer(std::string path, DaemonUsers users, MakeService make, WakeEvent stop)
      : path_(std::move(path)), users_(std::move(users)), make_(std::move(make)), stop_(std::move(stop)) {}
  Result<> listen();
  void run();
  bool accept_one();
  void serve(UniqueFd connection, uid_t uid);
  void ended(int watched);
  static std::unique_ptr<grpc::Server> make_server(grpc::Service& service, bool stranger);

  std::string path_;
  DaemonUsers users_;
  MakeService make_;
  WakeEvent stop_;
  UniqueFd lock_, listener_, epoll_;
  std::map<uid_t, Room> rooms_;
  std::map<int, Stranger> strangers_;  ///< By `watched`.
  std::thread thread_;
};

/// A nonblocking connection to the daemon at `path`, whose owner may be that daemon. Errc::lost: nobody is there; Errc::denied: somebody else.
Result<UniqueFd> connect_local(const std::string& path);

}  // namespace sumac::control
