#include "client/tree/offer.hpp"

#include <algorithm>

namespace sumac::client {
Offer make_offer(Context& context, std::uint32_t members, bool opens) {
  Offer offer{.is_made = 1, .world_rank = context.world_rank(), .unusable = closed_trees(context)};
  const auto may_open_early = [&] {
    auto guard = context.lock();
    offer.generation = context.generation();
    return context.opens_early() && groups_wanted(context, context.links().size()) <= Offer::kGroupsMax;
  };
  const bool opens_early = may_open_early();
  if (!opens || offer.unusable != 0 || !opens_early) return offer;
  const auto opened = open_groups(context, members, 0);
  if (!opened) {
    // The long way tries again, and names the reason for all.
    auto guard = context.lock();
    context.open_no_more_early();
    return offer;
  }
  offer.groups = opened->count;
  offer.lasts = opened->lasts;
  offer.generation = opened->generation;
  std::copy_n(opened->group.begin(), opened->count, offer.group.begin());
  return offer;
}

bool suffice(std::span<const Offer> offers) noexcept {
  const std::uint32_t groups = offers.front().groups, generation = offers.front().generation;
  const auto can = [&](const Offer& offer) {
    return offer.is_made == 1 && offer.unusable == 0 && offer.generation == generation;
  };
  return groups > 0 && groups <= Offer::kGroupsMax && std::ranges::all_of(offers, can);
}

Outcome<std::unique_ptr<Comm>> join_by(Context& context, std::uint32_t rank, std::span<const Offer> offers) {
  std::vector<WorldRank> world_ranks;
  for (const Offer& offer : offers) world_ranks.push_back(offer.world_rank);
  OpenedGroups groups;
  groups.count = offers.front().groups;
  groups.lasts = offers.front().lasts;
  groups.generation = offers.front().generation;
  std::copy_n(offers.front().group.begin(), groups.count, groups.group.begin());
  return Comm::make_known(context, rank, std::move(world_ranks), groups);
}

}  // namespace sumac::client
