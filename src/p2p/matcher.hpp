#pragma once
// The receives of a team that wait, and the messages that came before their receive: from other hosts
// (messages_between.hpp), and from this one (messages_here.hpp). A receive from anyone takes the first message from any of them.
//
// It also counts the messages that are not over, and ends them: without a lock of ours, since the poster may call again.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ticket.hpp"

namespace sumac::p2p {

/// One message that is sent or received.
struct Message : Ticket {
  static constexpr int kAnyone = -1;

  int asked = kAnyone;  ///< The other rank as posted.
  int peer = kAnyone;   ///< The same; a receive from anyone gets its sender here, which others read when it is done.
  std::uint32_t tag = 0;
  std::byte* data = nullptr;  ///< Only read, if it is sent.
  std::size_t bytes = 0;
  std::size_t moved = 0;  ///< Inside a host: bytes in the pipe or out of it so far.
  bool sends = false;
  bool has_header = false;  ///< Inside a host: the header has been written.
};

class Matcher {
 public:
  using Ended = std::vector<std::pair<std::shared_ptr<Message>, std::optional<Error>>>;

  /// A message that came before its receive.
  struct Kept {
    std::uint32_t tag = 0;
    std::uint64_t size = 0;
    std::vector<std::byte> bytes;
    std::optional<std::uint32_t> offer;  ///< Its bytes still wait on another host; the number of the message there.
  };

  explicit Matcher(int ranks) : kept_(static_cast<std::size_t>(ranks)) {}

  /// Gives this receive a kept message; none: the receive waits.
  std::optional<Kept> post(const std::shared_ptr<Message>& message);
  /// Takes out the receive that a message is for, if one waits, and sets its peer.
  std::shared_ptr<Message> claim(int from, std::uint32_t tag);
  /// The same; if none waits, the message is moved away and kept.
  std::shared_ptr<Message> claim_or_keep(int from, Kept& unexpected);
  /// True if a receive waits that may take a message from this rank.
  bool is_wanted(int from) const;
  /// Takes a waiting receive out; false if it does not wait any more.
  bool withdraw(const std::shared_ptr<Message>& message);
  /// Moves the waiting receives for which `is_hit(peer)` to `ended`.
  void fail(const std::function<bool(int peer)>& is_hit, const Error& why, Ended& ended);
  /// The sender's offers hold no more.
  void forget_offers(int from);

  /// A message was posted. conclude() follows for it, once.
  void begin() noexcept { open_.fetch_add(1, std::memory_order_relaxed); }  // Only a hint for those that look.
  void conclude(Ended& ended);
  void conclude(const std::shared_ptr<Message>& message, std::optional<Error> why);
  /// True while messages are not over.
  bool is_busy() const noexcept { return open_.load(std::memory_order_relaxed) > 0; }

 private:
  std::shared_ptr<Message> take(int from, std::uint32_t tag);

  mutable std::mutex lock_;  ///< Guards the lists.
  std::list<std::shared_ptr<Message>> wanted_;
  std::vector<std::deque<Kept>> kept_;  ///< Each sender has its own.
  std::atomic<std::size_t> wanted_count_{0};
  std::atomic<int> open_{0};
};

/// Copies a message to its receiver. Returns the error if the sizes differ.
std::optional<Error> give(Message& message, std::span<const std::byte> bytes);
Error wrong_size(const Message& message, std::uint64_t bytes);

}  // namespace sumac::p2p
