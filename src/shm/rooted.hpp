#pragma once
// Rounds of rooted collectives. A member that only writes returns when its part is in memory, and its next calls write
// further slots of its rings, so a late reader does not hold it up. Each member has in its rooted area
//   - 64 lines, with a payload of up to 104 bytes in them,
//   - 64 buffers of 256 bytes and 24 of 4 KiB;
// a longer payload uses the eager buffers, a ring of 4. Round r uses the slot r % ring of each ring. As in all rounds, who
// reads stores `done`, and a writer looks at it only when a ring is full (Group::room_ahead).
//
// The slots have fixed positions, so a reader knows the address before the line arrives, and a member whose size differs by
// mistake spoils that call only. In a bcast, a reduce and a gather a member writes its own slots; in a scatter the root writes
// the receivers', because then the memory for running ahead grows with the members.
#include "shm/rounds.hpp"

namespace sumac::shm::rooted {

inline Line& line(const Group& group, int member, std::uint64_t round) noexcept {
  return group.rooted(member).lines[round % kRootedRing];
}

/// Returns how many rounds with `bytes` of payload may be under way.
constexpr std::size_t ring_for(std::size_t bytes) noexcept {
  return bytes <= kRootedSmallBytes ? kRootedRing : bytes <= kRootedMiddleBytes ? kRootedMiddleRing : kEagerRing;
}

/// Returns where the payload of a member's slot lies.
inline std::byte* payload(const Group& group, int member, std::uint64_t round, std::size_t bytes) noexcept {
  RootedArea& area = group.rooted(member);
  if (bytes <= kInlineBytes) return area.lines[round % kRootedRing].payload;
  if (bytes <= kRootedSmallBytes) return area.small[round % kRootedRing];
  if (bytes <= kRootedMiddleBytes) return area.middle[round % kRootedMiddleRing];
  return group.eager(member, round);
}

inline bool room(Group& group, std::uint64_t round, std::size_t bytes) noexcept {
  return group.room_ahead(round, ring_for(bytes));
}

/// Prefetches the lines of a slot of `round`, which this member is about to write, from the members that read them last: a
/// copy alone waits for a few lines at a time. If all have met just before, it prefetches only the first ones, because more prefetches
/// would delay the copy. Two Xeon cores (model 167), ns a call of bcast without / with it: in a row 1 KiB 210 / 100, 4 KiB
/// 510 / 350; behind a barrier 1 KiB 270 / 235, 4 KiB 570 / 540 (by prefetching all lines 650).
inline void claim_slot(const Group& group, std::uint64_t round, std::byte* slot, std::size_t bytes) noexcept {
  constexpr std::size_t kFirst = 1024;
  if (bytes > kInlineBytes) claim(slot, std::min(bytes, group.met_before(round) ? kFirst : kRootedMiddleBytes));
}

/// Copies into a slot of `round`.
inline void write(Group& group, std::uint64_t round, std::byte* slot, const std::byte* from,
                  std::size_t bytes) noexcept {
  claim_slot(group, round, slot, bytes);
  copy_in(group, slot, from, bytes);
}

/// Publishes a slot, and prefetches the line of a later round for writing. The next call begins with an atomic exchange (a
/// team's turn), which waits until earlier stores are done, and a store into a line that a reader holds takes 50 to 100 ns.
/// bench-host's rows of 8 B on two Xeon cores (model 167), us without / with it: bcast 0.054 / 0.040, scatter 0.080 / 0.044, reduce
/// 0.083 / 0.057, gather 0.069 / 0.062 (by two rounds ahead 0.073).
inline void publish_slot(const Group& group, int owner, std::uint64_t round, std::size_t bytes) noexcept {
  constexpr std::uint64_t kRoundsAhead = 4;
  publish(line(group, owner, round), round, bytes);
  claim(reinterpret_cast<std::byte*>(&line(group, owner, round + kRoundsAhead)), 1);
}

}  // namespace sumac::shm::rooted
