#include "bindings/python/core/mail.hpp"

#include <algorithm>

#include "base/copy.hpp"

namespace sumac::python {

struct Mail::Pipe {
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

/// A letter that goes on with memory of its own, and that nobody waits for.
std::shared_ptr<Letter> copy_of(const Letter& letter) {
  auto copy = std::make_shared<Letter>();
  auto bytes = std::make_shared<std::vector<std::byte>>(letter.data, letter.data + letter.bytes);
  copy->peer = letter.peer;
  copy->tag = letter.tag;
  copy->data = bytes->data();
  copy->bytes = letter.bytes;
  copy->moved = letter.moved;
  copy->has_header = true;
  copy->then = [bytes](const Error*) {};
  return copy;
}

}  // namespace

// The pipes of all pairs together stay below 64 MiB; pages are taken only where bytes flow.
std::size_t Mail::ring_bytes(int ranks) noexcept {
  constexpr std::size_t kAll = std::size_t{64} << 20, kMost = std::size_t{128} << 10, kLeast = std::size_t{4} << 10;
  const auto pairs = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks);
  std::size_t ring = kMost;
  while (ring > kLeast && ring * pairs > kAll) ring /= 2;
  return ring;
}

std::size_t Mail::bytes_for(int ranks) noexcept {
  return static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks) * (kPipeBytes + ring_bytes(ranks));
}

Mail::Mail(std::byte* memory, const std::vector<int>& here, int index, Inbox& inbox)
    : memory_(memory),
      here_(here),
      index_(index),
      ranks_(static_cast<int>(here.size())),
      inbox_(inbox),
      ring_(ring_bytes(ranks_)),
      stride_(kPipeBytes + ring_),
      peers_(here.size()) {}

Mail::Pipe& Mail::pipe(int from, int to) const noexcept {
  return *reinterpret_cast<Pipe*>(memory_ + static_cast<std::size_t>(from * ranks_ + to) * stride_);
}

void Mail::send(std::shared_ptr<Letter> letter) {
  const auto at = std::ranges::find(here_, letter->peer) - here_.begin();
  const std::lock_guard guard(lock_);
  peers_[static_cast<std::size_t>(at)].out.push_back(std::move(letter));
}

bool Mail::progress() {
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
  inbox_.conclude(ended);
  return has_moved;
}

bool Mail::push(int to, Ended& ended) {
  auto& out = peers_[static_cast<std::size_t>(to)].out;
  bool has_moved = false;
  while (!out.empty()) {
    Letter& letter = *out.front();
    Pipe& through = pipe(index_, to);
    std::uint64_t at = through.written.load(std::memory_order_relaxed);  // Only we store it.
    // An acquire load: the reader has copied the bytes that we overwrite.
    const std::uint64_t unread = at - through.read.load(std::memory_order_acquire);
    if (unread > ring_) return broken(to, ended);
    std::size_t room = ring_ - unread;
    if (!letter.has_header) {
      if (room < sizeof(Header)) return has_moved;
      const Header header{letter.bytes, letter.tag, 0};
      copy_in(through.ring, ring_, at, reinterpret_cast<const std::byte*>(&header), sizeof header);
      at += sizeof header;
      room -= sizeof header;
      letter.has_header = has_moved = true;
    }
    const std::size_t part = std::min(room, letter.bytes - letter.moved);
    copy_in(through.ring, ring_, at, letter.data + letter.moved, part);
    letter.moved += part;
    has_moved |= part > 0;
    // A release store: a reader that sees the number sees the bytes. Test: Mail.* under TSan.
    through.written.store(at + part, std::memory_order_release);
    if (letter.moved < letter.bytes) return has_moved;
    ended.emplace_back(std::move(out.front()), std::nullopt);
    out.pop_front();
  }
  return has_moved;
}

bool Mail::is_wanted(int from) const {
  // A message that is under way is read to its end: its letter no longer waits in the inbox.
  return peers_[static_cast<std::size_t>(from)].arriving.is_known || inbox_.is_wanted(rank_of(from));
}

bool Mail::pull(int from, Ended& ended) {
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
                  .letter = inbox_.claim(rank_of(from), header.tag)};
      // A message of another size is read as one that nobody asked for, so that the next one can be read.
      if (!arriving.letter || arriving.letter->bytes != header.bytes) arriving.kept.resize(header.bytes);
      has_moved = true;
    }
    const std::size_t part = std::min(there, arriving.bytes - arriving.moved);
    std::byte* const to = arriving.kept.empty() && arriving.letter ? arriving.letter->data : arriving.kept.data();
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

bool Mail::broken(int peer, Ended& ended) {
  const Error why{Errc::invalid,
                  fmt::format("another process has written to the shared memory of rank {}", rank_of(peer))};
  Peer& one = peers_[static_cast<std::size_t>(peer)];
  for (auto& letter : one.out) ended.emplace_back(std::move(letter), why);
  one.out.clear();
  if (one.arriving.letter) ended.emplace_back(std::move(one.arriving.letter), why);
  one.arriving = {};
  inbox_.fail([&](int from) { return from == rank_of(peer); }, why, ended);
  return true;
}

void Mail::arrived(int from, Ended& ended) {
  Arriving arriving = std::exchange(peers_[static_cast<std::size_t>(from)].arriving, {});
  Inbox::Kept message{arriving.tag, arriving.bytes, std::move(arriving.kept), std::nullopt};
  // It may have been posted meanwhile.
  if (!arriving.letter) arriving.letter = inbox_.claim_or_keep(rank_of(from), message);
  if (!arriving.letter) return;
  std::optional<Error> why;
  if (arriving.letter->bytes != arriving.bytes)
    why = wrong_size(*arriving.letter, arriving.bytes);
  else if (!message.bytes.empty())
    why = give(*arriving.letter, message.bytes);
  ended.emplace_back(std::move(arriving.letter), std::move(why));
}

bool Mail::withdraw(const std::shared_ptr<Letter>& letter) {
  const std::lock_guard guard(lock_);
  bool is_found = false;
  for (Peer& peer : peers_) {
    if (!peer.out.empty() && peer.out.front() == letter && letter->has_header) {
      peer.out.front() = copy_of(*letter);  // The receiver has the header already, so the rest must follow.
      inbox_.begin();
      return true;
    }
    is_found = is_found || std::erase(peer.out, letter) > 0;
    if (peer.arriving.letter != letter) continue;
    // The rest of the message is read into memory of ours.
    peer.arriving.letter = nullptr;
    peer.arriving.kept.resize(peer.arriving.bytes);
    is_found = true;
  }
  return is_found;
}

void Mail::fail(const Error& why) {
  Ended ended;
  {
    const std::lock_guard guard(lock_);
    for (Peer& peer : peers_) {
      for (auto& letter : peer.out) ended.emplace_back(std::move(letter), why);
      peer.out.clear();
      if (peer.arriving.letter) ended.emplace_back(std::move(peer.arriving.letter), why);
      peer.arriving = {};
    }
  }
  inbox_.conclude(ended);
}

}  // namespace sumac::python
