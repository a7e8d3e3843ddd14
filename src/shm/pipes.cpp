#include "shm/pipes.hpp"

#include <algorithm>
#include <atomic>

#include "base/copy.hpp"

namespace sumac::shm {

struct Pipes::Pipe {
  alignas(64) std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> read;
  alignas(64) std::byte ring[1];  ///< As long as the memory allows.
};

namespace {

constexpr std::size_t kCountersBytes = 128;  ///< Two counters, each in a cache line of its own.

std::size_t index(int rank) noexcept { return static_cast<std::size_t>(rank); }

}  // namespace

// The pipes of all pairs together stay below 64 MiB, unless the shortest rings need more.
std::vector<std::size_t> Pipes::sizes(int ranks) {
  constexpr std::size_t kAll = std::size_t{64} << 20, kMost = std::size_t{128} << 10, kLeast = std::size_t{4} << 10;
  std::vector<std::size_t> found;
  const std::size_t pairs = index(ranks) * index(ranks);
  for (std::size_t ring = kMost; ring >= kLeast; ring /= 2)
    if (ring * pairs <= kAll || ring == kLeast) found.push_back(pairs * (kCountersBytes + ring));
  return found;
}

Pipes::Pipes(std::byte* memory, std::size_t bytes, int ranks, int me)
    : memory_(memory),
      ranks_(ranks),
      me_(me),
      stride_(bytes / (index(ranks) * index(ranks))),
      ring_(stride_ - kCountersBytes),
      put_(index(ranks)),
      taken_(index(ranks)) {}

Pipes::Pipe& Pipes::pipe(int from, int to) const noexcept {
  return *reinterpret_cast<Pipe*>(memory_ + index(from * ranks_ + to) * stride_);
}

std::optional<std::size_t> Pipes::room(int to) const noexcept {
  // An acquire load: the reader has copied the bytes that put() overwrites.
  const std::uint64_t unread = put_[index(to)] - pipe(me_, to).read.load(std::memory_order_acquire);
  return unread > ring_ ? std::nullopt : std::optional(ring_ - unread);
}

void Pipes::put(int to, std::span<const std::byte> bytes) noexcept {
  std::byte* const ring = pipe(me_, to).ring;
  const std::size_t at = put_[index(to)] % ring_, first = std::min(bytes.size(), ring_ - at);
  copy_bytes(ring + at, bytes.data(), first);
  copy_bytes(ring, bytes.data() + first, bytes.size() - first);
  put_[index(to)] += bytes.size();
}

void Pipes::publish(int to) noexcept {
  // A release store: a reader that sees the number sees the bytes. Test: Team.MessagesFindTheirReceivers under TSan.
  pipe(me_, to).written.store(put_[index(to)], std::memory_order_release);
}

std::optional<std::size_t> Pipes::filled(int from) const noexcept {
  // An acquire load pairs with publish().
  const std::uint64_t there = pipe(from, me_).written.load(std::memory_order_acquire) - taken_[index(from)];
  return there > ring_ ? std::nullopt : std::optional<std::size_t>(there);
}

void Pipes::take(int from, std::span<std::byte> bytes) noexcept {
  const std::byte* const ring = pipe(from, me_).ring;
  const std::size_t at = taken_[index(from)] % ring_, first = std::min(bytes.size(), ring_ - at);
  copy_bytes(bytes.data(), ring + at, first);
  copy_bytes(bytes.data() + first, ring, bytes.size() - first);
  taken_[index(from)] += bytes.size();
}

void Pipes::release(int from) noexcept {
  // A release store: the writer may overwrite what we have copied.
  pipe(from, me_).read.store(taken_[index(from)], std::memory_order_release);
}

}  // namespace sumac::shm
