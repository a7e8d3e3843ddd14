#pragma once
// The layout of a segment. It is pure arithmetic, so every process that knows the shape computes the same offsets.
//
//   header | table of the host's members | group 0 | group 1 | ...
//   a group: control lines of each member | inline lines of each | eager buffers of each | large area of each |
//            rooted area of each
//
// Everything that a member writes begins at a cache line of its own. A member's eager, large and rooted areas begin at pages of
// their own, so that the first touch allocates them on that member's NUMA node (in a memfd; a file in /dev/shm is reserved
// as a whole by its creator). Several members' lines share a page, and touch_own_lines() decides who touches it first. Neighbours' areas begin at different
// offsets within the page, because otherwise all members' buffers would compete for the same few sets of the cache.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sumac::shm {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kPage = 4096;
inline constexpr int kMembersMax = 256;

/// The unit into which vectors are cut: whole elements, and whole cache lines where that is possible. Whole lines also
/// keep a complex number together, which is one element for MPI and two for us.
constexpr std::size_t unit_for(std::size_t element_bytes) noexcept {
  return kCacheLine % element_bytes == 0 ? kCacheLine : element_bytes;
}

/// Inline lines and eager buffers are rings: round r uses line r % kLineRing and eager buffer r % kEagerRing.
inline constexpr std::size_t kLineRing = 8;
inline constexpr std::size_t kEagerRing = 4;
inline constexpr std::size_t kInlineBytes = 104;
inline constexpr std::size_t kFirstLineBytes = 48;  ///< So many of them lie in the same cache line as the round number.
/// The rings of a member's rooted area (rooted.hpp): lines, and buffers of two sizes. A longer message uses an eager buffer.
/// The area takes at most 128 KiB. In a memfd the system allocates its pages when rooted collectives first write them.
inline constexpr std::size_t kRootedRing = 64;
inline constexpr std::size_t kRootedSmallBytes = 256;
inline constexpr std::size_t kRootedMiddleRing = 24;
inline constexpr std::size_t kRootedMiddleBytes = 4096;
/// Monotone counters for algorithms that need more than one number per round, for example to pipeline chunks.
inline constexpr std::size_t kCounters = 4;

/// One member's entry for one round: the number says that the payload (and the eager buffer of the round) is complete.
/// It has two cache lines with a number in each: a reader that waits for both reads both at once, so that they arrive
/// together and not one after the other. Two lines also avoid false sharing where a core fetches lines in pairs: the
/// other half of the pair does not belong to the next round.
struct alignas(2 * kCacheLine) Line {
  std::atomic<std::uint64_t> round;
  std::uint64_t word;  ///< A value that the algorithm publishes beside the payload (alltoallv: its largest block).
  std::byte payload[kInlineBytes];
  std::atomic<std::uint64_t> tail_round;  ///< Stored only with a payload that reaches into the second line.
};
static_assert(sizeof(Line) == 2 * kCacheLine);
static_assert(offsetof(Line, payload) + kFirstLineBytes == kCacheLine);

struct alignas(kCacheLine) Counter {
  std::atomic<std::uint64_t> value;
};

/// One member's rings for rooted collectives.
struct RootedArea {
  Line lines[kRootedRing];
  std::byte small[kRootedRing][kRootedSmallBytes];
  /// Neighbours begin at different offsets within the page, because otherwise all buffers would compete for the same few
  /// sets of the cache.
  std::byte middle[kRootedMiddleRing][kRootedMiddleBytes + kCacheLine];
};

/// The most slices that a member's large area has (turns.hpp).
inline constexpr std::size_t kSlicesMax = 16;

/// Only the member itself writes these, except for `meetings`.
struct Control {
  Counter done;  ///< The last round that this member has completed: it reads nothing of earlier rounds any more.
  Counter counters[kCounters];  ///< Group::counter(). They only grow; never reset.
  /// The CPU on which it last waited (crowd.hpp), plus one; 0 if unknown. It has a line of its own because it hardly
  /// ever changes.
  alignas(kCacheLine) std::atomic<std::int32_t> cpu_plus_one;
  std::atomic<std::int64_t> waited_ns;  ///< Group::note_waiting(): so it hardly ever changes either.
  /// Group::meeting(). They only grow; never reset.
  alignas(kCacheLine) std::atomic<std::uint64_t> meetings[kSlicesMax];
};
static_assert(sizeof(Control) == (4 + kCounters) * kCacheLine);

/// The shape that all members of a host's team know before there is a segment.
struct Shape {
  int members = 1;               ///< The number of ranks on the host that attach.
  std::vector<int> group_sizes;  ///< One group per entry; each at most `members`.
  std::size_t eager_bytes = 8192;
  std::size_t large_bytes = 1024 * 1024;  ///< Per member and group. The creator may have to halve it; Handle then
                                          ///< carries the real value.
};

struct GroupLayout {
  std::size_t controls = 0, lines = 0, eager = 0, large = 0, rooted = 0;  ///< Offsets in the segment.
  std::size_t eager_stride = 0, large_stride = 0;  ///< The distance from one member's area to the next.
  std::size_t eager_bytes = 0;                     ///< From the shape, but at least one cache line for each member.
  std::size_t end = 0;
};

constexpr std::size_t round_up(std::size_t value, std::size_t to) noexcept { return (value + to - 1) / to * to; }
constexpr std::size_t stagger(int member) noexcept { return static_cast<std::size_t>(member % 16) * 256; }
/// The distance from one member's rooted area to the next; the last page leaves room for stagger().
inline constexpr std::size_t kRootedStride = round_up(sizeof(RootedArea), kPage) + kPage;
static_assert(kRootedStride <= 128 * 1024);

/// Returns the offset of group 0, after the header's page and the table of members.
std::size_t groups_begin(const Shape& shape) noexcept;
GroupLayout layout_of(const Shape& shape, std::size_t group) noexcept;
std::size_t segment_bytes(const Shape& shape) noexcept;

}  // namespace sumac::shm
