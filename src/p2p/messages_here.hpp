#pragma once
// Messages from rank to rank inside a host, through pipes (shm/pipes.hpp): each is a header (tag and length) and its bytes.
//
// A receiver reads a pipe only while it waits for something that may come out of it. A message with another tag that
// comes out first is kept in the matcher until somebody asks for it, so that two sides that use tags in different orders do
// not lock.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "p2p/matcher.hpp"
#include "shm/pipes.hpp"

namespace sumac::p2p {

class MessagesHere {
 public:
  /// `memory` holds `bytes` zeros at first, one of shm::Pipes::sizes(here.size()), and outlives the object. `here` are the ranks of
  /// this host, and this one is here[index].
  MessagesHere(std::byte* memory, std::size_t bytes, const std::vector<int>& here, int index, Matcher& matcher);

  void send(std::shared_ptr<Message> message);
  /// Moves what can move, and ends messages. Returns false if nothing moved.
  bool progress();
  /// Gives the receives that wait what lies in the pipe of a rank that writes no more. The caller concludes `ended`.
  void drain(int rank, Matcher::Ended& ended);
  /// Takes the message out, unless it is done: its memory is not used any more. Returns false if it is done, or waits in
  /// the matcher.
  bool withdraw(const std::shared_ptr<Message>& message);
  /// Ends all messages that are sent or arriving.
  void fail(const Error& why);

 private:
  /// The message that is coming out of a pipe.
  struct Arriving {
    bool is_known = false;  ///< The header has been read.
    std::uint32_t tag = 0;
    std::size_t bytes = 0, moved = 0;
    std::shared_ptr<Message> message;  ///< Its receiver; none: it is kept.
    std::vector<std::byte> kept;
  };
  struct Peer {
    std::deque<std::shared_ptr<Message>> out;
    Arriving arriving;
  };
  using Ended = Matcher::Ended;

  bool push(int to, Ended& ended);
  bool pull(int from, Ended& ended);
  bool is_wanted(int from) const;
  /// The counters of a pipe can't be those of a rank of ours. Ends all messages to and from that peer.
  bool broken(int peer, Ended& ended);
  void arrived(int from, Ended& ended);

  int rank_of(int index) const noexcept { return here_[static_cast<std::size_t>(index)]; }

  std::vector<int> here_;
  Matcher& matcher_;
  mutable std::mutex lock_;  ///< Guards all below.
  shm::Pipes pipes_;
  std::vector<Peer> peers_;
};

}  // namespace sumac::p2p
