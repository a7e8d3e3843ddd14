#include "p2p/message_ways.hpp"

namespace sumac::p2p {

void MessageWays::post(const std::shared_ptr<Message>& message) const {
  message->peer = message->asked;
  matcher.begin();
  if (message->sends) {
    ranks.is_here(message->asked) ? here.send(message) : between->send(message);
  } else if (const auto kept = matcher.post(message); !kept) {
    if (between) between->check(message);
  } else if (kept->offer) {
    between->fetch(message, *kept);
  } else {
    if (!ranks.is_here(message->peer)) between->release(message->peer);
    matcher.conclude(message, give(*message, kept->bytes));
  }
}

/// A receive leaves the matcher only for one of the other two, so this order misses none.
bool MessageWays::take_out(const std::shared_ptr<Message>& message) const {
  return matcher.withdraw(message) || here.withdraw(message) || (between && between->withdraw(message));
}

std::shared_ptr<Message> message_from(int rank, std::uint32_t tag, void* data, std::size_t bytes,
                                      std::function<void(const Error*)> then) {
  auto message = std::make_shared<Message>();
  message->then = std::move(then);
  message->asked = rank;
  message->tag = tag;
  message->data = static_cast<std::byte*>(data);
  message->bytes = bytes;
  return message;
}

std::shared_ptr<Message> message_to(int rank, std::uint32_t tag, const void* data, std::size_t bytes,
                                    std::function<void(const Error*)> then) {
  // A message that is sent is only read.
  auto message = message_from(rank, tag, const_cast<void*>(data), bytes, std::move(then));
  message->sends = true;
  return message;
}

}  // namespace sumac::p2p
