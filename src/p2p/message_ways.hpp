#pragma once
// Which way a message takes: to a rank of this host by its pipe, to another host by the group between hosts, and a receive to what
// has come already.
#include <memory>

#include "p2p/matcher.hpp"
#include "p2p/messages_between.hpp"
#include "p2p/messages_here.hpp"

namespace sumac::p2p {

struct MessageWays {
  Matcher& matcher;
  MessagesHere& here;
  MessagesBetween* between;  ///< Null where all ranks are on this host.
  const Ranks& ranks;

  /// `asked`, `tag`, `data`, `bytes` and `sends` are set.
  void post(const std::shared_ptr<Message>& message) const;
  /// Takes a message out that is not done; false: it is, or is being moved. The caller concludes it.
  bool take_out(const std::shared_ptr<Message>& message) const;
};

/// Makes a message that is sent, and one that is received.
std::shared_ptr<Message> message_to(int rank, std::uint32_t tag, const void* data, std::size_t bytes,
                                    std::function<void(const Error*)> then);
std::shared_ptr<Message> message_from(int rank, std::uint32_t tag, void* data, std::size_t bytes,
                                      std::function<void(const Error*)> then);

}  // namespace sumac::p2p
