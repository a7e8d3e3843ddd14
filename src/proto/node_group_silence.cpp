// A neighbour node is silent, and may only be late: groups that outlive their tree do not wait for it.
#include "proto/node_group.hpp"

namespace sumac::proto {

bool NodeGroup::child_silent(LinkId link, std::uint16_t index, Time now) {
  Child& child = children_[index];
  if (!outlives() || child.link != link || child.closed || child.silent) return false;
  child.silent = true;
  live(closed_event(child, wire::TroubleReason::lost_connection), now);
  return true;
}

bool NodeGroup::parent_silent(Time now) {
  if (!outlives()) return false;
  const wire::TroubleBody trouble{
      .reason = wire::TroubleReason::lost_connection, .culprit = lowest_rank_, .lost = ctx_.lost};
  const std::size_t before = life_.index();
  live(group_life::ParentSilent{without_parent(), trouble}, now);
  return life_.index() != before;
}

}  // namespace sumac::proto
