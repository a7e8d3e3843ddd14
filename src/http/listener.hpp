#pragma once
// Opens the address where a daemon serves HTTP. An address that other machines reach needs TLS.
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <memory>
#include <string>

#include "base/fd.hpp"
#include "base/log.hpp"
#include "base/result.hpp"

namespace sumac::http {

/// The daemons' options --NAME-listen, --NAME-cert, --NAME-key and --NAME-token.
struct ListenOptions {
  std::string name;           ///< "metrics", "page": the first word of the options, for messages.
  std::string listen;         ///< "127.0.0.1:9500", "[::1]:9500", "unix:PATH".
  std::string cert{}, key{};  ///< PEM files of the server's certificate (with its chain) and its private key.
  std::string token{};        ///< A file: clients must send its text as their bearer token.
  /// True if the token of that file guards what is served: other machines reach it only with one.
  bool token_from_file = true;
  /// If another process has the port, the log names it, and the server tries again each second: whoever takes the port
  /// of something optional must not keep the daemon down. Without a log that is an error.
  const Logger* log = nullptr;
};

/// An address of either family.
struct TcpAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  bool loopback = false;
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

struct TlsDelete {
  void operator()(SSL_CTX* p) const noexcept { SSL_CTX_free(p); }
  void operator()(SSL* p) const noexcept { SSL_free(p); }
};

/// A listening socket, or one that waits for its port. The destructor removes the file of a unix socket, if it is still this one's.
class Listener {
 public:
  /// Returns Errc::invalid for an address that is none, Errc::denied for one that other machines reach without TLS (and
  /// token), Errc::exists for one that is in use. The text names the option and the remedy.
  static Result<Listener> open(const ListenOptions& options);
  Listener(Listener&& other) noexcept
      : fd(std::move(other.fd)),
        address(std::move(other.address)),
        token(std::move(other.token)),
        tls(std::move(other.tls)),
        log_(other.log_),
        name_(std::move(other.name_)),
        wanted_(other.wanted_),
        path_(std::exchange(other.path_, {})),
        device_(other.device_),
        inode_(other.inode_) {}
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  /// Takes the port if it is free now. Returns false while another process has it.
  bool listen_again();

  UniqueFd fd;                              ///< Empty while another process has the port.
  std::string address;                      ///< With the port that was bound.
  std::string token;                        ///< Empty: none is demanded.
  std::unique_ptr<SSL_CTX, TlsDelete> tls;  ///< Null: clear text.

 private:
  Listener() = default;
  Result<> open_unix(const ListenOptions& options);
  Result<> open_tcp(const ListenOptions& options);
  Result<> bind_tcp();
  Result<> load_tls(const ListenOptions& options);

  const Logger* log_ = nullptr;
  std::string name_;
  TcpAddress wanted_;
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace sumac::http
