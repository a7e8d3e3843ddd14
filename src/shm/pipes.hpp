#pragma once
// Pipes between the ranks of a host, in memory that they share: one for each pair in each direction, a ring of bytes with
// two counters. What is longer than the ring flows through it.
//
//   writer:  n = pipes.room(to);    pipes.put(to, bytes); ...      pipes.publish(to)
//   reader:  n = pipes.filled(from); pipes.take(from, memory); ...  pipes.release(from)
//
// One thread at a time uses an object.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sumac::shm {

class Pipes {
 public:
  /// The bytes of all pipes with the longest rings that are of use, with rings half as long, and so on.
  static std::vector<std::size_t> sizes(int ranks);

  /// `memory` holds `bytes` zeros at first, one of sizes(ranks), and outlives the pipes.
  Pipes(std::byte* memory, std::size_t bytes, int ranks, int me);

  /// The bytes that may be put; nothing where the counters cannot be those of a rank of ours.
  std::optional<std::size_t> room(int to) const noexcept;
  void put(int to, std::span<const std::byte> bytes) noexcept;
  /// The reader sees what was put.
  void publish(int to) noexcept;

  /// The bytes that may be taken; nothing as for room().
  std::optional<std::size_t> filled(int from) const noexcept;
  void take(int from, std::span<std::byte> bytes) noexcept;
  /// The writer may overwrite what was taken.
  void release(int from) noexcept;

 private:
  struct Pipe;
  Pipe& pipe(int from, int to) const noexcept;

  std::byte* memory_;
  int ranks_, me_;
  std::size_t stride_, ring_;
  std::vector<std::uint64_t> put_, taken_;  ///< The bytes of each pipe that this rank has put or taken, ever.
};

}  // namespace sumac::shm
