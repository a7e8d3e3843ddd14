#include "bindings/python/core/messages_here.hpp"

#include <algorithm>

#include "base/copy.hpp"

namespace sumac::python {

struct MessagesHere::Pipe {
  alignas(64) std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> read;
  alignas(64) std::byte ring[1];  ///< ring_bytes() of them.
};

namespace {

struct Header {
  std::uint64_t bytes;
  std::uint32_t tag;
  std::uint32_t unused;
};

constexpr std::size_t kPipeBytes = 128;  ///< Two counters, each in a line of its own.

void copy_in(std::byte* ring, std::size_t size, std::uint64_t at, const std::byte* from, std::size_t bytes) {
  const std::size_t first = std::min<std::size_t>(bytes, size - at % size);
  copy_bytes(ring + at % size, from, first);
  copy_bytes(ring, from + first, bytes - first);
}

void copy_out(std::byte* to, const std::byte* ring, std::size_t size, std::uint64_t at, std::size_t bytes) {
  const std::size_t first = std::min<std::size_t>(bytes, size - at % size);
  copy_bytes(to, ring + at % size, first);
  copy_bytes(to + first, ring, bytes - first);
}

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

// The pipes of all pairs together stay below 64 MiB; pages are taken only where bytes flow.
std::size_t MessagesHere::ring_bytes(int ranks) noexcept {
  constexpr std::size_t kAll = std::size_t{64} << 20, kMost = std::size_t{128} << 10, kLeast = std::size_t{4} << 10;
  const auto pairs = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks);
  std::size_t ring = kMost;
  while (ring > kLeast && ring * pairs > kAll) ring /= 2;
  return ring;
}

std::size_t MessagesHere::bytes_for(int ranks) noexcept {
  return static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks) * (kPipeBytes + ring_bytes(ranks));
}

MessagesHere::MessagesHere(std::byte* memory, const std::vector<int>& here, int index, Matcher& matcher)
    : memory_(memory),
      here_(here),
      index_(index),
      ranks_(static_cast<int>(here.size())),
      matcher_(matcher),
      ring_(ring_bytes(ranks_)),
      stride_(kPipeBytes + ring_),
      peers_(here.size()) {}

MessagesHere::Pipe& MessagesHere::pipe(int from, int to) const noexcept {
  return *reinterpret_cast<Pipe*>(memory_ + static_cast<std::size_t>(from * ranks_ + to) * stride_);
}

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
    for (int peer = 0; peer < ranks_; ++peer) {
      has_moved |= push(peer, ended);
      has_moved |= pull(peer, ended);
    }
  }
  matcher_.conclude(ended);
  return has_moved;
}

bool MessagesHere::push(int to, Ended& ended) {
  auto& out = peers_[static_cast<std::size_t>(to)].out;
  bool has_moved = false;
  while (!out.empty()) {
    Message& message = *out.front();
    Pipe& through = pipe(index_, to);
    std::uint64_t at = through.written.load(std::memory_order_relaxed);  // Only we store it.
    // An acquire load: the reader has copied the bytes that we overwrite.
    const std::uint64_t unread = at - through.read.load(std::memory_order_acquire);
    if (unread > ring_) return broken(to, ended);
    std::size_t room = ring_ - unread;
    if (!message.has_header) {
      if (room < sizeof(Header)) return has_moved;
      const Header header{message.bytes, message.tag, 0};
      copy_in(through.ring, ring_, at, reinterpret_cast<const std::byte*>(&header), sizeof header);
      at += sizeof header;
      room -= sizeof header;
      message.has_header = has_moved = true;
    }
    const std::size_t part = std::min(room, message.bytes - message.moved);
    copy_in(through.ring, ring_, at, message.data + message.moved, part);
    message.moved += part;
    has_moved |= part > 0;
    // A release store: a reader that sees the number sees the bytes. Test: MessagesHere.* under TSan.
    through.written.store(at + part, std::memory_order_release);
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
    Pipe& through = pipe(from, index_);
    std::uint64_t at = through.read.load(std::memory_order_relaxed);  // Only we store it.
    // An acquire load pairs with push().
    std::size_t there = through.written.load(std::memory_order_acquire) - at;
    if (there > ring_) return broken(from, ended);
    if (!arriving.is_known) {
      if (there < sizeof(Header)) return has_moved;
      Header header{};
      copy_out(reinterpret_cast<std::byte*>(&header), through.ring, ring_, at, sizeof header);
      at += sizeof header;
      there -= sizeof header;
      arriving = {.is_known = true,
                  .tag = header.tag,
                  .bytes = header.bytes,
                  .message = matcher_.claim(rank_of(from), header.tag)};
      // A message of another size is read as one that nobody asked for, so that the next one can be read.
      if (!arriving.message || arriving.message->bytes != header.bytes) arriving.kept.resize(header.bytes);
      has_moved = true;
    }
    const std::size_t part = std::min(there, arriving.bytes - arriving.moved);
    std::byte* const to = arriving.kept.empty() && arriving.message ? arriving.message->data : arriving.kept.data();
    copy_out(to + arriving.moved, through.ring, ring_, at, part);
    arriving.moved += part;
    has_moved |= part > 0;
    // A release store: the writer may overwrite what we have copied.
    through.read.store(at + part, std::memory_order_release);
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

}  // namespace sumac::python
