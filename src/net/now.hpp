#pragma once
// The system calls of a message. glibc's functions of these names are points where a thread can be cancelled, which costs a process of
// several threads 60 instructions a call (callgrind); no thread of this library is ever cancelled.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace sumac::net {

/// As epoll_wait().
inline int epoll_within(int epoll, epoll_event* events, int most, int milliseconds) noexcept {
  return static_cast<int>(::syscall(SYS_epoll_pwait, epoll, events, most, milliseconds, nullptr, std::size_t{0}));
}

/// The bytes that are there.
inline ssize_t receive_now(int fd, void* to, std::size_t bytes) noexcept {
  return ::syscall(SYS_recvfrom, fd, to, bytes, MSG_DONTWAIT, nullptr, nullptr);
}

/// `more`: MSG_MORE, or 0.
inline ssize_t send_now(int fd, const msghdr& message, int more = 0) noexcept {
  return ::syscall(SYS_sendmsg, fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT | more);
}

}  // namespace sumac::net
