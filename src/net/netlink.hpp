#pragma once
// One question to the kernel's tables of routes and neighbours, by rtnetlink, which needs no privileges.
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::net {

template <class Body>
struct Question {
  nlmsghdr header{};
  Body body{};
  alignas(RTA_ALIGNTO) char attributes[64]{};

  explicit Question(unsigned short type) {
    header.nlmsg_type = type;
    header.nlmsg_flags = NLM_F_REQUEST;
    header.nlmsg_len = NLMSG_LENGTH(sizeof(Body));
  }
  void append(unsigned short type, const void* data, std::size_t bytes) {
    auto* attribute = reinterpret_cast<rtattr*>(reinterpret_cast<char*>(this) + NLMSG_ALIGN(header.nlmsg_len));
    attribute->rta_type = type;
    attribute->rta_len = static_cast<unsigned short>(RTA_LENGTH(bytes));
    std::memcpy(RTA_DATA(attribute), data, bytes);
    header.nlmsg_len = NLMSG_ALIGN(header.nlmsg_len) + static_cast<std::uint32_t>(RTA_ALIGN(attribute->rta_len));
  }
};

/// One message of the kernel.
struct Answer {
  alignas(NLMSG_ALIGNTO) char bytes[4096];
  std::size_t length = 0;

  const nlmsghdr* header() const noexcept { return reinterpret_cast<const nlmsghdr*>(bytes); }
  /// An errno if the message reports one; 0: it does not.
  int error() const noexcept {
    return header()->nlmsg_type == NLMSG_ERROR ? -static_cast<const nlmsgerr*>(NLMSG_DATA(header()))->error : 0;
  }
  /// The bytes of an attribute behind a Body; empty if there is none.
  template <class Body>
  std::span<const std::uint8_t> attribute(unsigned short type) const noexcept {
    auto left = static_cast<int>(header()->nlmsg_len - NLMSG_LENGTH(sizeof(Body)));
    const auto* at = reinterpret_cast<const rtattr*>(bytes + NLMSG_ALIGN(NLMSG_LENGTH(sizeof(Body))));
    for (; RTA_OK(at, left); at = RTA_NEXT(at, left))
      if (at->rta_type == type) return {static_cast<const std::uint8_t*>(RTA_DATA(at)), RTA_PAYLOAD(at)};
    return {};
  }
};

template <class Body>
Result<Answer> ask(const Question<Body>& question) {
  const UniqueFd fd{socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)};
  if (!fd || send(fd.get(), &question, question.header.nlmsg_len, 0) < 0) return fail_errno("routing table");
  Answer answer;
  ssize_t bytes = -1;
  while ((bytes = recv(fd.get(), answer.bytes, sizeof answer.bytes, 0)) < 0 && errno == EINTR) {
  }
  if (bytes < 0) return fail_errno("routing table");
  answer.length = static_cast<std::size_t>(bytes);
  if (!NLMSG_OK(answer.header(), answer.length)) return fail(Errc::io, "routing table: the answer is cut short");
  return answer;
}

}  // namespace sumac::net
