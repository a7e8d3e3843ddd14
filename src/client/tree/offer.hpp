#pragma once
// The members of a future communicator tell each other of the tree in an exchange that their caller makes anyway. So its group
// costs one more trip, and not three exchanges of its own. Each member tells its world rank, and the one of rank 0 the groups that it
// has opened beforehand.
//
// All members see where one can't take part, or rank 0 has no group. Then they go the long way together: Comm::make() finds out
// what can still be had, and names who can not.
#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "client/comm.hpp"

namespace sumac::client {

struct Offer {
  static constexpr std::size_t kGroupsMax = 4;  ///< A job with more groups for each communicator goes the long way.

  std::uint32_t is_made = 0;  ///< The member has a job.
  std::uint32_t groups = 0;   ///< Rank 0 has opened so many.
  WorldRank world_rank{};
  std::uint32_t lasts = 0;       ///< As in OpenedGroups.
  TreeMask unusable = 0;         ///< Trees that it does not reach.
  std::uint32_t generation = 0;  ///< As in OpenedGroups.
  std::uint32_t reserved = 0;
  std::array<OpenedGroup, kGroupsMax> group{};
};
static_assert(std::is_trivially_copyable_v<Offer> && sizeof(Offer) <= 64);

/// `opens`: this is the member of rank 0, of a communicator of `members`; it waits for the trees' roots. Called without the lock.
Offer make_offer(Context& context, std::uint32_t members, bool opens);

/// True if the members of these offers can be joined by them. The same at every member.
bool suffice(std::span<const Offer> offers) noexcept;

/// Joins the groups of rank 0's offer. It is not known whether the others could too. Called without the lock.
Outcome<std::unique_ptr<Comm>> join_by(Context& context, std::uint32_t rank, std::span<const Offer> offers);

}  // namespace sumac::client
