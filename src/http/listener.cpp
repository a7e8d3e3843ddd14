#include "http/listener.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/bound_port.hpp"
#include "base/read_file.hpp"
#include "base/socket_directory.hpp"
#include "base/text.hpp"
#include "base/unix_address.hpp"

namespace sumac::http {
namespace {

constexpr std::size_t kTokenBytesMin = 16;

Result<TcpAddress> parse_tcp(const std::string& option, const std::string& text) {
  const auto wrong = [&] {
    return fail(Errc::invalid, "--{}-listen {}: give 127.0.0.1:PORT, another ADDRESS:PORT in numbers, or unix:PATH",
                option, text);
  };
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return wrong();
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc{} || at != end) return wrong();
  auto host = text.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  TcpAddress address;
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) {
    auto& in = reinterpret_cast<sockaddr_in&>(address.storage);
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    in.sin_addr = four;
    address.length = sizeof in;
    address.loopback = ntohl(four.s_addr) >> 24 == 127;
    return address;
  }
  in6_addr six{};
  if (host.size() > 2 && host.front() == '[' && host.back() == ']' &&
      ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &six) == 1) {
    auto& in = reinterpret_cast<sockaddr_in6&>(address.storage);
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    in.sin6_addr = six;
    address.length = sizeof in;
    address.loopback = IN6_IS_ADDR_LOOPBACK(&six) != 0;
    return address;
  }
  return wrong();
}

/// A secret that others can read is none.
Result<> check_private(const std::string& option, const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return within(fmt::format("--{} {}", option, path), fail_errno("open").value());
  if ((info.st_mode & 027) != 0)
    return fail(Errc::denied, "--{} {}: others may read or change this file (mode {:04o}): chmod 600 it", option, path,
                info.st_mode & 07777);
  return {};
}

Result<std::string> read_token(const std::string& option, const std::string& path) {
  if (auto good = check_private(option + "-token", path); !good) return tl::unexpected(good.error());
  auto text = read_file(path, "token");
  if (!text) return within(fmt::format("--{}-token", option), text.error());
  std::string token(trimmed(std::string_view(*text).substr(0, text->find('\n'))));
  const bool printable = std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; });
  if (!printable || token.size() < kTokenBytesMin)
    return fail(Errc::invalid,
                "--{}-token {}: it must hold one word of at least {} characters: `openssl rand -hex 32 > {}` makes "
                "one",
                option, path, kTokenBytesMin, path);
  return token;
}

std::string openssl_words() {
  const auto code = ERR_get_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? "no reason given" : reason;
}

/// True if a process listens there.
bool answers(const sockaddr_un& address) {
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe) return true;  // Without a socket we cannot tell, so the file must stay.
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
         errno != ECONNREFUSED;
}

}  // namespace

Result<Listener> Listener::open(const ListenOptions& options) {
  Listener listener;
  if (!options.token.empty()) {
    auto token = read_token(options.name, options.token);
    if (!token) return tl::unexpected(token.error());
    listener.token = *std::move(token);
  }
  const bool is_unix = options.listen.starts_with("unix:");
  auto opened = is_unix ? listener.open_unix(options) : listener.open_tcp(options);
  if (!opened) return tl::unexpected(opened.error());
  if (options.log != nullptr && listener.fd) SUMAC_INFO(*options.log, "{} at {}", options.name, listener.address);
  return listener;
}

Listener::~Listener() {
  if (path_.empty()) return;
  struct stat now {};
  if (::lstat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_) ::unlink(path_.c_str());
}

/// Any user may connect; the operator can restrict that by the mode of the directory.
Result<> Listener::open_unix(const ListenOptions& options) {
  const auto path = options.listen.substr(5);
  const auto layer = fmt::format("--{}-listen {}", options.name, options.listen);
  const auto wanted = unix_address(path);
  if (path.empty() || !wanted) return fail(Errc::invalid, "{}: give a path of at most 107 bytes", layer);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::absolute(path).parent_path(), error);
  if (error) return fail(Errc::io, "{}: make its directory: {}", layer, error.message());
  const auto real = own_socket_path(path);
  if (!real) return within(layer, real.error());
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0) {
    if (!S_ISSOCK(found.st_mode))
      return fail(Errc::exists, "{}: that file is no socket: move it away, or name another path", layer);
    if (answers(*wanted)) return fail(Errc::exists, "{}: another process listens there: name another path", layer);
    if (::unlink(path.c_str()) != 0) return within(layer, fail_errno("remove the dead socket").value());
  }
  fd = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*wanted), sizeof *wanted) != 0 ||
      ::chmod(path.c_str(), 0666) != 0 || ::listen(fd.get(), SOMAXCONN) != 0 || ::lstat(path.c_str(), &found) != 0)
    return within(layer, fail_errno("listen").value());
  path_ = *real;
  device_ = found.st_dev;
  inode_ = found.st_ino;
  address = "unix:" + path;
  return {};
}

Result<> Listener::open_tcp(const ListenOptions& options) {
  const auto wanted = parse_tcp(options.name, options.listen);
  if (!wanted) return tl::unexpected(wanted.error());
  const bool has_tls = !options.cert.empty() && !options.key.empty();
  if (options.cert.empty() != options.key.empty())
    return fail(Errc::invalid, "--{0}-cert and --{0}-key belong together: give both", options.name);
  if (!wanted->loopback && (!has_tls || (options.token_from_file && token.empty())))
    return fail(Errc::denied,
                "--{0}-listen {1}: other machines reach this address: give --{0}-cert{2} with it, or listen at "
                "127.0.0.1{3} or unix:PATH",
                options.name, options.listen,
                options.token_from_file ? fmt::format(", --{0}-key and --{0}-token", options.name)
                                        : fmt::format(" and --{}-key", options.name),
                options.listen.substr(options.listen.rfind(':')));
  if (has_tls)
    if (auto loaded = load_tls(options); !loaded) return loaded;
  wanted_ = *wanted;
  name_ = options.name;
  address = options.listen;
  if (const auto bound = bind_tcp(); !bound) {
    if (bound.error().code != Errc::exists || options.log == nullptr)
      return within(fmt::format("--{}-listen {}", options.name, options.listen), bound.error());
    log_ = options.log;
    SUMAC_WARN(*log_, "--{}-listen {}: {}; until it is free there is none; we try again each second", name_, address,
               bound.error().context);
  }
  return {};
}

Result<> Listener::bind_tcp() {
  UniqueFd made(::socket(wanted_.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!made || ::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) return fail_errno("socket");
  if (::bind(made.get(), wanted_.get(), wanted_.length) != 0 || ::listen(made.get(), SOMAXCONN) != 0) {
    if (errno == EADDRINUSE)
      return fail(Errc::exists, "another process has this port (`ss -ltnp` shows it): choose another port");
    return fail_errno("listen");
  }
  address = fmt::format("{}:{}", address.substr(0, address.rfind(':')), bound_port(made.get()));
  fd = std::move(made);
  return {};
}

bool Listener::listen_again() {
  if (!bind_tcp()) return false;
  SUMAC_INFO(*log_, "{} at {}", name_, address);
  return true;
}

Result<> Listener::load_tls(const ListenOptions& options) {
  if (auto good = check_private(options.name + "-key", options.key); !good) return good;
  tls.reset(SSL_CTX_new(TLS_server_method()));
  if (!tls) return fail(Errc::internal, "OpenSSL: {}", openssl_words());
  SSL_CTX_set_min_proto_version(tls.get(), TLS1_2_VERSION);
  // A buffer may have moved between two attempts to write the same bytes, because the answer is a string.
  SSL_CTX_set_mode(tls.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // A request is a single one, so a session to resume would only cost memory.
  SSL_CTX_set_session_cache_mode(tls.get(), SSL_SESS_CACHE_OFF);
  if (SSL_CTX_use_certificate_chain_file(tls.get(), options.cert.c_str()) != 1)
    return fail(Errc::invalid, "--{}-cert {}: no certificate in PEM: {}", options.name, options.cert, openssl_words());
  if (SSL_CTX_use_PrivateKey_file(tls.get(), options.key.c_str(), SSL_FILETYPE_PEM) != 1)
    return fail(Errc::invalid, "--{}-key {}: no key of this certificate in PEM: {}", options.name, options.key,
                openssl_words());
  return {};
}

}  // namespace sumac::http
