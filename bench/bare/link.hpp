#pragma once
// One TCP connection of the bare tree. Nobody reads the content of a message, so a link only counts: bytes received, and
// messages still owed to the other side.
#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::bare {

inline constexpr std::size_t kHeaderBytes = 64;  ///< The size of wire::AggHeader, which precedes every message of the
                                                 ///< real tree.

/// The lengths of the messages of one direction: one length for all, or a table with one for each.
class Lengths {
 public:
  explicit Lengths(std::size_t each) : each_(each) {}
  explicit Lengths(const std::vector<std::size_t>& lengths);

  /// Returns the bytes of the first `messages` messages.
  std::uint64_t bytes(std::uint64_t messages) const { return ends_.empty() ? messages * each_ : ends_[messages]; }
  /// Returns the number of messages that are complete in the first `bytes` bytes.
  std::uint64_t whole(std::uint64_t bytes) const;

 private:
  std::size_t each_ = 0;
  std::vector<std::uint64_t> ends_;  // Bytes of the first 0, 1, ... messages; empty if all have one length.
};

class Link {
 public:
  explicit Link(UniqueFd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }

  /// Call it when all earlier messages have been sent and received; from now on messages have these lengths. `out` and
  /// `in` are the memory that they come from and go to, message after message and then from the start again; empty: a
  /// scratch buffer that all links share.
  void begin(Lengths sent, Lengths received, std::span<const std::byte> out = {}, std::span<std::byte> in = {});

  void owe(std::uint64_t messages) { owed_bytes_ = sent_.bytes(owed_ += messages); }
  bool idle() const { return out_bytes_ == owed_bytes_; }
  /// Sends as much as the socket accepts. Errc::lost: the other side is gone.
  Errc flush();

  /// Reads the available bytes, up to `limit` whole messages since begin(), and never a byte beyond, because later
  /// bytes belong to the next case.
  Errc receive(std::uint64_t limit);
  std::uint64_t arrived() const { return received_.whole(in_bytes_); }

  /// For the data between cases; these two block.
  Result<> write_all(std::span<const std::byte> bytes);
  Result<> read_all(std::span<std::byte> bytes);

 private:
  UniqueFd fd_;
  std::span<const std::byte> out_;
  std::span<std::byte> in_;
  std::size_t out_at_ = 0, in_at_ = 0;
  Lengths sent_{kHeaderBytes}, received_{kHeaderBytes};
  std::uint64_t in_bytes_ = 0, out_bytes_ = 0;
  std::uint64_t owed_ = 0, owed_bytes_ = 0;  // Counted since begin(), with those already sent.
};

/// Blocks until connected; `address` is "HOST:PORT".
Result<Link> connect_to(const std::string& address);

struct Listener {
  UniqueFd fd;
  std::uint16_t port = 0;
};
Result<Listener> listen_on(std::uint16_t port, int backlog);
Result<Link> accept_from(const Listener& listener);

/// Sleeps until one of the links has input, or (if it owes messages) accepts output. `spin`: polls for 20 us first.
class Waiter {
 public:
  static Result<Waiter> make(bool spin);
  Result<> add(const Link& link);
  /// Sets whether to wake up for input, and for room to send. It costs a system call only when that changes.
  void want(const Link& link, bool input, bool output);
  void wait();

 private:
  explicit Waiter(UniqueFd epoll, bool spin) : epoll_(std::move(epoll)), spin_(spin) {}
  UniqueFd epoll_;
  bool spin_;
  std::vector<std::uint32_t> armed_;  // Indexed by descriptor.
};

}  // namespace sumac::bare
