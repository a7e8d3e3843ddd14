#include "p2p/messages_here.hpp"

#include <algorithm>

namespace sumac::p2p {

namespace {

struct Header {
  std::uint64_t bytes;
  std::uint32_t tag;
  std::uint32_t unused;
};

/// A message that goes on with memory of its own, and that nobody waits for.
std::shared_ptr<Message> copy_of(const Message& message) {
  auto copy = std::make_shared<Message>();
  auto bytes = std::make_shared<std::vector<std::byte>>(message.data, message.data + message.bytes);
  copy->peer = message.peer;
  copy->tag = message.tag;
  copy->data = bytes->data();
  copy->bytes = message.bytes;
  copy->moved = message.moved;
  copy->has_header = true;
  copy->then = [bytes](const Error*) {};
  return copy;
}

}  // namespace

MessagesHere::MessagesHere(std::byte* memory, std::size_t bytes, const std::vector<int>& here, int index,
                           Matcher& matcher)
    : here_(here),
      matcher_(matcher),
      pipes_(memory, bytes, static_cast<int>(here.size()), index),
      peers_(here.size()) {}

void MessagesHere::send(std::shared_ptr<Message> message) {
  const auto at = std::ranges::find(here_, message->peer) - here_.begin();
  const std::lock_guard guard(lock_);
  peers_[static_cast<std::size_t>(at)].out.push_back(std::move(message));
}

bool MessagesHere::progress() {
  Ended ended;
  bool has_moved = false;
  {
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard) return false;  // Another thread moves it.
    for (int peer = 0; peer < static_cast<int>(here_.size()); ++peer) {
      has_moved |= push(peer, ended);
      has_moved |= pull(peer, ended);
    }
  }
  matcher_.conclude(ended);
  return has_moved;
}

void MessagesHere::drain(int rank, Ended& ended) {
  const auto at = std::ranges::find(here_, rank) - here_.begin();
  const std::lock_guard guard(lock_);
  (void)pull(static_cast<int>(at), ended);
}

bool MessagesHere::push(int to, Ended& ended) {
  auto& out = peers_[static_cast<std::size_t>(to)].out;
  bool has_moved = false;
  while (!out.empty()) {
    Message& message = *out.front();
    auto room = pipes_.room(to);
    if (!room) return broken(to, ended);
    if (!message.has_header) {
      if (*room < sizeof(Header)) return has_moved;
      const Header header{message.bytes, message.tag, 0};
      pipes_.put(to, std::as_bytes(std::span(&header, 1)));
      *room -= sizeof header;
      message.has_header = has_moved = true;
    }
    const std::size_t part = std::min(*room, message.bytes - message.moved);
    pipes_.put(to, {message.data + message.moved, part});
    message.moved += part;
    has_moved |= part > 0;
    pipes_.publish(to);
    if (message.moved < message.bytes) return has_moved;
    ended.emplace_back(std::move(out.front()), std::nullopt);
    out.pop_front();
  }
  return has_moved;
}

bool MessagesHere::is_wanted(int from) const {
  // A message that is under way is read to its end: its message no longer waits in the matcher.
  return peers_[static_cast<std::size_t>(from)].arriving.is_known || matcher_.is_wanted(rank_of(from));
}

bool MessagesHere::pull(int from, Ended& ended) {
  Arriving& arriving = peers_[static_cast<std::size_t>(from)].arriving;
  bool has_moved = false;
  while (is_wanted(from)) {
    auto there = pipes_.filled(from);
    if (!there) return broken(from, ended);
    if (!arriving.is_known) {
      if (*there < sizeof(Header)) return has_moved;
      Header header{};
      pipes_.take(from, std::as_writable_bytes(std::span(&header, 1)));
      *there -= sizeof header;
      arriving = {.is_known = true,
                  .tag = header.tag,
                  .bytes = header.bytes,
                  .message = matcher_.claim(rank_of(from), header.tag)};
      // A message of another size is read as one that nobody asked for, so that the next one can be read.
      if (!arriving.message || arriving.message->bytes != header.bytes) arriving.kept.resize(header.bytes);
      has_moved = true;
    }
    const std::size_t part = std::min(*there, arriving.bytes - arriving.moved);
    std::byte* const to = arriving.kept.empty() && arriving.message ? arriving.message->data : arriving.kept.data();
    pipes_.take(from, {to + arriving.moved, part});
    arriving.moved += part;
    has_moved |= part > 0;
    pipes_.release(from);
    if (arriving.moved < arriving.bytes) return has_moved;
    arrived(from, ended);
  }
  return has_moved;
}

bool MessagesHere::broken(int peer, Ended& ended) {
  const Error why{Errc::invalid,
                  fmt::format("another process has written to the shared memory of rank {}", rank_of(peer))};
  Peer& one = peers_[static_cast<std::size_t>(peer)];
  for (auto& message : one.out) ended.emplace_back(std::move(message), why);
  one.out.clear();
  if (one.arriving.message) ended.emplace_back(std::move(one.arriving.message), why);
  one.arriving = {};
  matcher_.fail([&](int from) { return from == rank_of(peer); }, why, ended);
  return true;
}

void MessagesHere::arrived(int from, Ended& ended) {
  Arriving arriving = std::exchange(peers_[static_cast<std::size_t>(from)].arriving, {});
  Matcher::Kept unexpected{arriving.tag, arriving.bytes, std::move(arriving.kept), std::nullopt};
  // It may have been posted meanwhile.
  if (!arriving.message) arriving.message = matcher_.claim_or_keep(rank_of(from), unexpected);
  if (!arriving.message) return;
  std::optional<Error> why;
  if (arriving.message->bytes != arriving.bytes)
    why = wrong_size(*arriving.message, arriving.bytes);
  else if (!unexpected.bytes.empty())
    why = give(*arriving.message, unexpected.bytes);
  ended.emplace_back(std::move(arriving.message), std::move(why));
}

bool MessagesHere::withdraw(const std::shared_ptr<Message>& message) {
  const std::lock_guard guard(lock_);
  bool is_found = false;
  for (Peer& peer : peers_) {
    if (!peer.out.empty() && peer.out.front() == message && message->has_header) {
      peer.out.front() = copy_of(*message);  // The receiver has the header already, so the rest must follow.
      matcher_.begin();
      return true;
    }
    is_found = is_found || std::erase(peer.out, message) > 0;
    if (peer.arriving.message != message) continue;
    // The rest of the message is read into memory of ours.
    peer.arriving.message = nullptr;
    peer.arriving.kept.resize(peer.arriving.bytes);
    is_found = true;
  }
  return is_found;
}

void MessagesHere::fail(const Error& why) {
  Ended ended;
  {
    const std::lock_guard guard(lock_);
    for (Peer& peer : peers_) {
      for (auto& message : peer.out) ended.emplace_back(std::move(message), why);
      peer.out.clear();
      if (peer.arriving.message) ended.emplace_back(std::move(peer.arriving.message), why);
      peer.arriving = {};
    }
  }
  matcher_.conclude(ended);
}

}  // namespace sumac::p2p
