#pragma once
// Messages from rank to rank inside a host. Each pair of ranks has a pipe in each direction: a ring of bytes with two
// counters. A message is a header (tag and length) and its bytes; one that is longer than the ring flows through it.
//
// A receiver reads a pipe only while it waits for something that may come out of it. A message with another tag that
// comes out first is kept until somebody asks for it, so that two sides that use tags in different orders do not lock.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "bindings/python/core/ticket.hpp"

namespace sumac::python {

/// One message that is sent or received.
struct Letter : Ticket {
  static constexpr int kAnyone = -1;

  int peer = kAnyone;  ///< The other rank's index on this host. A letter received from anyone is set to its sender.
  std::uint32_t tag = 0;
  std::byte* data = nullptr;  ///< Only read, if it is sent.
  std::size_t bytes = 0;
  std::size_t moved = 0;  ///< Bytes in the pipe or out of it so far.
  bool sends = false;
  bool has_header = false;  ///< The header has been written.
};

class Mail {
 public:
  static std::size_t ring_bytes(int ranks) noexcept;
  static std::size_t bytes_for(int ranks) noexcept;

  /// `memory` holds bytes_for(ranks) zeros at first, and outlives the mail.
  Mail(std::byte* memory, int index, int ranks);

  void send(std::shared_ptr<Letter> letter);
  void receive(std::shared_ptr<Letter> letter);
  /// Moves what can move. Calls the letters' `then`. Returns false if nothing moved.
  bool progress();
  /// True while letters wait.
  bool is_busy() const noexcept { return waiting_.load(std::memory_order_relaxed) > 0; }
  /// Takes the letter out, unless it is done: its memory is not used any more. Returns false if it is done.
  bool withdraw(const std::shared_ptr<Letter>& letter);
  /// Ends all letters that wait for this rank, or all (kAnyone).
  void fail(int peer, const Error& why);

 private:
  struct Pipe;
  /// The message that is coming out of a pipe.
  struct Arriving {
    bool is_known = false;  ///< The header has been read.
    std::uint32_t tag = 0;
    std::size_t bytes = 0, moved = 0;
    std::shared_ptr<Letter> letter;  ///< Its receiver; none: it is kept.
    std::vector<std::byte> kept;
  };
  struct Kept {
    std::uint32_t tag = 0;
    std::vector<std::byte> bytes;
  };
  struct Peer {
    std::deque<std::shared_ptr<Letter>> out;
    Arriving arriving;
    std::deque<Kept> kept;
  };
  using Ended = std::vector<std::pair<std::shared_ptr<Letter>, std::optional<Error>>>;

  Pipe& pipe(int from, int to) const noexcept;
  bool push(int to, Ended& ended);
  bool pull(int from, Ended& ended);
  bool take_kept(Ended& ended);
  bool is_wanted(int from) const;
  std::shared_ptr<Letter> claim(int from, std::uint32_t tag);
  void arrived(int from, Ended& ended);
  void conclude(Ended& ended);

  std::byte* memory_ = nullptr;
  int index_ = 0, ranks_ = 0;
  std::size_t ring_ = 0, stride_ = 0;
  mutable std::mutex lock_;  ///< Guards all below.
  std::vector<Peer> peers_;
  std::list<std::shared_ptr<Letter>> wanted_;  ///< Posted receives, in their order.
  std::atomic<int> waiting_{0};
};

}  // namespace sumac::python
