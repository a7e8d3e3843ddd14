#include "lab/channel.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/socket_directory.hpp"

namespace sumac::lab {

namespace {

constexpr std::size_t kTextBytesMax = 64U << 10U;
constexpr std::size_t kFdsMax = 16;
constexpr off_t kCommandBytesMax = off_t{16}
                                   << 20U;  ///< Exceeds the most that the kernel allows for a program's arguments and
                                            ///< environment.

Result<sockaddr_un> address_of(const std::string& name, socklen_t& bytes) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof address.sun_path) return fail(Errc::invalid, "the lab's name {} is too long", name);
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // a name with a leading 0 is abstract
  bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

Result<UniqueFd> make_socket() {
  UniqueFd fd{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
  if (!fd) return fail_errno("open a unix socket");
  return fd;
}

}  // namespace

Result<> send_message(int socket, std::string_view text, const std::vector<int>& fds) {
  iovec iov{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kFdsMax * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &iov;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    auto* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(c), fds.data(), fds.size() * sizeof(int));
  }
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) return fail(Errc::lost, "the other side is gone");
    return fail_errno("send a message");
  }
  return {};
}

Result<Message> receive_message(int socket) {
  Message result;
  result.text.resize(kTextBytesMax);
  iovec iov{result.text.data(), result.text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kFdsMax * sizeof(int)) + CMSG_SPACE(sizeof(ucred))];
  msghdr message{};
  message.msg_iov = &iov;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno != ECONNRESET) return fail_errno("receive a message");
  for (auto* c = got < 0 ? nullptr : CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET) continue;
    if (c->cmsg_type == SCM_RIGHTS) {
      const auto count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
        result.fds.emplace_back(fd);
      }
    } else if (c->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(c), sizeof sender);
      result.sender = sender.pid;
    }
  }
  if (got <= 0) return fail(Errc::lost, "the other side is gone");  // the lab never sends an empty message
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
    return fail(Errc::invalid, "a message of the lab was too large");
  result.text.resize(static_cast<std::size_t>(got));
  return result;
}

Result<> want_sender(int socket) {
  const int on = 1;
  if (::setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0) return fail_errno("set SO_PASSCRED");
  return {};
}

Result<Pair> make_pair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0) return fail_errno("make a pair of sockets");
  return Pair{UniqueFd{fds[0]}, UniqueFd{fds[1]}};
}

Result<UniqueFd> listen_at(const std::string& name) {
  auto fd = make_socket();
  if (!fd) return fd;
  socklen_t bytes = 0;
  const auto address = address_of(name, bytes);
  if (!address) return tl::unexpected(address.error());
  if (::bind(fd->get(), reinterpret_cast<const sockaddr*>(&*address), bytes) < 0) {
    if (errno == EADDRINUSE) return fail(Errc::exists, "{} is taken", name);
    return fail_errno("bind the lab's socket");
  }
  if (::listen(fd->get(), 128) < 0) return fail_errno("listen at the lab's socket");
  return fd;
}

Result<UniqueFd> connect_to(const std::string& name) {
  auto fd = make_socket();
  if (!fd) return fd;
  socklen_t bytes = 0;
  const auto address = address_of(name, bytes);
  if (!address) return tl::unexpected(address.error());
  if (::connect(fd->get(), reinterpret_cast<const sockaddr*>(&*address), bytes) < 0) {
    if (errno == ECONNREFUSED) return fail(Errc::not_found, "no process listens at {}", name);
    return fail_errno("connect to the lab");
  }
  // Any user may bind an abstract name. A call contains its caller's terminal and environment, so it may go only to a
  // lab of root or of the same user.
  const auto owner = peer_uid(fd->get());
  if (!owner) return tl::unexpected(owner.error());
  if (*owner != 0 && *owner != ::geteuid())
    return fail(Errc::denied,
                "user {} listens at {}, so nothing was sent: only labs of user {} and of root are trusted", *owner,
                name, ::geteuid());
  return fd;
}

Result<UniqueFd> pack(const Command& command) {
  std::string bytes = command.directory;
  bytes += '\0';
  for (const auto* list : {&command.arguments, &command.environment}) {
    bytes += std::to_string(list->size());
    bytes += '\0';
    for (const auto& text : *list) {
      bytes += text;
      bytes += '\0';
    }
  }
  UniqueFd fd{::memfd_create("command", MFD_CLOEXEC)};
  if (!fd) return fail_errno("make a memory file");
  for (std::size_t at = 0; at < bytes.size();) {
    const auto n = ::write(fd.get(), bytes.data() + at, bytes.size() - at);
    if (n < 0) return fail_errno("write a memory file");
    at += static_cast<std::size_t>(n);
  }
  return fd;
}

Result<Command> unpack(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) < 0) return fail_errno("look at a command");
  if (info.st_size > kCommandBytesMax) return fail(Errc::invalid, "a command of {} bytes is too long", info.st_size);
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  if (::pread(fd, bytes.data(), bytes.size(), 0) != info.st_size)
    return fail(Errc::invalid, "a command could not be read whole");
  std::size_t at = 0;
  const auto next = [&](std::string& into) {
    const auto end = bytes.find('\0', at);
    if (end == std::string::npos) return false;
    into = bytes.substr(at, end - at);
    at = end + 1;
    return true;
  };
  Command command;
  const auto bad = [] { return fail(Errc::invalid, "a command is malformed"); };
  if (!next(command.directory)) return bad();
  for (auto* list : {&command.arguments, &command.environment}) {
    std::string count;
    if (!next(count)) return bad();
    list->resize(std::min<std::size_t>(std::strtoul(count.c_str(), nullptr, 10), bytes.size()));
    for (auto& text : *list) {
      if (!next(text)) return bad();
    }
  }
  if (command.arguments.empty()) return bad();
  return command;
}

}  // namespace sumac::lab
