#pragma once
// The page of a process: its last collectives, by communicator. It is a memfd that the process keeps open, so that its user and
// root find it at /proc/PID/fd and read it while the process hangs. It leaves nothing behind.
//
// The hot path of a collective takes 12 instructions for it and reads no clock (docs/adr/0088). The clock is read for each operation that begins more
// than a millisecond after the one before; in a tight loop only for every 64th.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sumac::recorder {

inline constexpr char kMemfdName[] = "sumac-recorder";
inline constexpr std::uint64_t kPageMagic = 0x53554d4143524331;  // "SUMACRC1": the number rises with the layout
inline constexpr std::size_t kTracksMax = 120, kEntries = 16, kMissingMax = 8, kNameBytes = 64;
/// Counters step by the size of an entry, so that their lowest byte is the place in the ring.
inline constexpr std::uint64_t kStep = 16;
static_assert(kEntries * kStep == 256);

/// Bits of Entry::what above the number of the collective (enum sumac_coll).
inline constexpr std::uint32_t kPosted = 0x100, kPassed = 0x200, kWhatMask = 0x3ff;

struct Entry {
  std::uint64_t bytes;
  std::uint32_t what;
  std::uint32_t reserved;
};
static_assert(sizeof(Entry) == kStep);

/// One communicator. Its collectives come one after another, so one thread writes at a time, and a reader takes the whole for a
/// picture that may be one operation old.
struct alignas(64) TrackMemory {
  std::uint64_t begun;   ///< kStep x the operations begun.
  std::uint64_t ended;   ///< kStep x those that are over; its writer is the thread that moves the team.
  std::uint64_t passed;  ///< kStep x those of them that other software did, in place of `ended`.
  std::uint64_t passed_begun;
  std::uint32_t until;    ///< Operations until the clock is read.
  std::uint32_t every;    ///< The clock is read for one operation of so many.
  std::int64_t stamp_ns;  ///< CLOCK_MONOTONIC when the operation with `stamp_begun` began.
  std::uint64_t stamp_begun;
  std::int64_t wait_ns;  ///< The process found at that time that it waits in the one with `wait_begun`.
  std::uint64_t wait_begun;
  std::uint64_t expected_begun;  ///< `begun` of an operation that waits for other ranks before it begins.
  std::int64_t expected_ns;
  Entry expected;
  std::uint64_t missing_begun;                    ///< `missing` belongs to this operation.
  std::array<std::int32_t, kMissingMax> missing;  ///< Ranks that had not begun it, as far as the process heard.
  std::uint32_t missing_count;
  std::uint32_t is_used;
  std::uint64_t id;  ///< The same at all ranks of the communicator.
  std::int32_t rank, size;
  std::array<char, kNameBytes> name;
  std::array<Entry, kEntries> ring;
};
static_assert(sizeof(TrackMemory) == 512 && std::is_trivially_copyable_v<TrackMemory>);

struct alignas(64) PageHeader {
  std::uint64_t magic;
  std::int32_t pid;  ///< As the process sees itself: a forked child has its parent's page open too.
  std::int32_t world_rank, world_size;
  std::uint32_t unlisted;  ///< Communicators for which there was no room.
  std::uint64_t job;       ///< The same at all ranks of the job; 0: not known.
  std::int64_t since_ns;   ///< CLOCK_REALTIME.
  /// Operations of communicators that outlive their trees which have ended on a tree, and among their members.
  std::uint64_t on_tree, among_members;
};
static_assert(sizeof(PageHeader) == 64);

struct Page {
  PageHeader header;
  std::array<TrackMemory, kTracksMax> tracks;
};

}  // namespace sumac::recorder
