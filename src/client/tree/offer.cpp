#include "client/tree/offer.hpp"

#include <algorithm>

namespace sumac::client {
namespace {

/// Returns how many groups open_groups() would ask for.
std::size_t groups_wanted(Context& context) {
  return std::max<std::size_t>(context.config().groups_per_comm, context.links().size());
}

}  // namespace

Offer make_offer(Context& context, std::uint32_t members, bool opens) {
  Offer offer;
  offer.world_rank = context.world_rank();
  bool opens_early = false;
  {
    auto guard = context.lock();
    context.progress();  // A connection may have ended while the program did something else.
    const auto& links = context.links();
    for (std::size_t tree = 0; tree < links.size(); ++tree)
      if (links[tree]->closed()) offer.unusable |= TreeMask{1} << tree;
    offer.is_well = std::ranges::any_of(links, [](const auto& link) { return !link->closed(); }) ? 1 : 0;
    opens_early = context.opens_early();
  }
  if (!opens || !opens_early || offer.unusable != 0 || groups_wanted(context) > Offer::kGroupsMax) return offer;
  const auto opened = open_groups(context, members, 0);
  if (!opened) {
    // The long way tries again, and names the reason for all.
    auto guard = context.lock();
    context.open_no_more_early();
    return offer;
  }
  offer.groups = opened->count;
  std::copy_n(opened->group.begin(), opened->count, offer.group.begin());
  return offer;
}

bool suffice(std::span<const Offer> offers) noexcept {
  const auto can = [](const Offer& offer) { return offer.is_well == 1 && offer.unusable == 0; };
  const std::uint32_t groups = offers.front().groups;
  return groups > 0 && groups <= Offer::kGroupsMax && std::ranges::all_of(offers, can);
}

Outcome<std::unique_ptr<Comm>> join_by(Context& context, std::uint32_t rank, std::span<const Offer> offers) {
  std::vector<WorldRank> world_ranks;
  for (const Offer& offer : offers) world_ranks.push_back(offer.world_rank);
  OpenedGroups groups;
  groups.count = offers.front().groups;
  std::copy_n(offers.front().group.begin(), groups.count, groups.group.begin());
  return Comm::make_known(context, rank, std::move(world_ranks), groups);
}

}  // namespace sumac::client
