#pragma once
// Where everything lies in a segment: arithmetic only, the same in every process that knows the shape.
//
//   header | table of the host's members | group 0 | group 1 | ...
//   a group: control lines of each member | inline lines of each | eager buffers of each | large area of each
//
// Everything a member writes begins at a cache line of its own. Its eager and large areas lie in pages of their own, so
// that the first touch puts them into that member's NUMA node, and begin at an offset that differs from its neighbours',
// or all members' buffers would fall into the same few sets of the cache.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sumac::shm {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kPage = 4096;
inline constexpr int kMembersMax = 256;

/// What vectors are cut into: whole elements, and whole cache lines if that can be. That also keeps together what MPI counts as
/// one element and we as two (complex numbers).
constexpr std::size_t unit_for(std::size_t element_bytes) noexcept {
  return kCacheLine % element_bytes == 0 ? kCacheLine : element_bytes;
}

/// Inline lines and eager buffers are rings: round r uses line r % kLineRing and eager buffer r % kEagerRing.
inline constexpr std::size_t kLineRing = 8;
inline constexpr std::size_t kEagerRing = 4;
inline constexpr std::size_t kInlineBytes = 104;
inline constexpr std::size_t kFirstLineBytes = 48;  ///< Of them, those that lie in the number's own cache line.
/// Monotone counters for algorithms with more to say than one number per round (pipelined chunks and the like).
inline constexpr std::size_t kCounters = 4;

/// One member's word in one round: the number says that payload (and the eager buffer of the round) are there. Two cache
/// lines with a number in each: who waits for both looks at both, so that they come at the same time, not one after the
/// other. And where a core fetches lines in pairs, the other half of the pair isn't the next round's.
struct alignas(2 * kCacheLine) Line {
  std::atomic<std::uint64_t> round;
  std::uint64_t word;  ///< What the algorithm has to say besides payload (alltoallv: its largest block).
  std::byte payload[kInlineBytes];
  std::atomic<std::uint64_t> tail_round;  ///< Stored only with a payload that reaches into the second line.
};
static_assert(sizeof(Line) == 2 * kCacheLine);
static_assert(offsetof(Line, payload) + kFirstLineBytes == kCacheLine);

struct alignas(kCacheLine) Counter {
  std::atomic<std::uint64_t> value;
};

/// Slices of a member's large area, at most (turns.hpp).
inline constexpr std::size_t kSlicesMax = 16;

/// Written by its member alone, but for `meetings`.
struct Control {
  Counter done;  ///< The last round this member has completed: it reads nothing of earlier ones any more.
  Counter counters[kCounters];  ///< Group::counter(). They only grow; never reset.
  /// Where it was when it last waited (crowd.hpp); 0: not known. In a line that hardly ever changes.
  alignas(kCacheLine) std::atomic<std::int32_t> cpu_plus_one;
  /// Group::meeting(). They only grow; never reset.
  alignas(kCacheLine) std::atomic<std::uint64_t> meetings[kSlicesMax];
};
static_assert(sizeof(Control) == (4 + kCounters) * kCacheLine);

/// What all members of a host's team know alike before there is a segment.
struct Shape {
  int members = 1;               ///< Ranks of the host that attach.
  std::vector<int> group_sizes;  ///< One group per entry; each at most `members`.
  std::size_t eager_bytes = 8192;
  std::size_t large_bytes = 1024 * 1024;  ///< Per member and group; the creator may have to halve it (Handle says).
};

struct GroupLayout {
  std::size_t controls = 0, lines = 0, eager = 0, large = 0;  ///< Offsets in the segment.
  std::size_t eager_stride = 0, large_stride = 0;             ///< From one member's area to the next.
  std::size_t eager_bytes = 0;                                ///< Of the shape, or a cache line for each member.
  std::size_t end = 0;
};

constexpr std::size_t round_up(std::size_t value, std::size_t to) noexcept { return (value + to - 1) / to * to; }
constexpr std::size_t stagger(int member) noexcept { return static_cast<std::size_t>(member % 16) * 256; }

/// Offset of group 0: behind the header's page and the table of members.
std::size_t groups_begin(const Shape& shape) noexcept;
GroupLayout layout_of(const Shape& shape, std::size_t group) noexcept;
std::size_t segment_bytes(const Shape& shape) noexcept;

}  // namespace sumac::shm
