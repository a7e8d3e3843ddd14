// A neighbour node is silent, and may only be late: groups that outlive their tree do not wait for it. No group that sends datagrams
// waits for a parent whose kernel takes none any more.
#include "hop/rule.h"
#include "proto/node_group.hpp"

namespace sumac::proto {

bool NodeGroup::child_silent(LinkId link, std::uint16_t index, Time now) {
  Child& child = children_[index];
  if (!outlives() || child.link != link || child.closed || child.silent) return false;
  child.silent = true;
  live(closed_event(child, wire::TroubleReason::lost_connection), now);
  return true;
}

bool NodeGroup::parent_silent(Time now) { return outlives() && leave_parent(now); }

bool NodeGroup::leave_parent(Time now) {
  const wire::TroubleBody trouble{
      .reason = wire::TroubleReason::lost_connection, .culprit = lowest_rank_, .lost = ctx_.lost};
  const std::size_t before = life_.index();
  live(group_life::ParentSilent{without_parent(), trouble}, now);
  return life_.index() != before;
}

void NodeGroup::stop(Time now) {
  if (!active() || (has_parent() && leave_parent(now))) return;
  wire::OverBody why = over_body();
  why.lost = ctx_.lost;
  live(group_life::JobOver{refusal(wire::RefuseReason::member_lost, 0, 0), why}, now);
}

/// Returns when it is to be called again.
Time NodeGroup::probe_parent(Time now) {
  constexpr std::uint32_t kMissedMost = 4;
  if (!way_ || !way_->stands || !has_parent()) return kNever;
  if (now < way_->probe_at) return way_->probe_at;
  DatagramNode& kernel = *ctx_.outbox.datagram_node();
  // A network may pass none. Then none has ever come from the parent, the members' trial had no answer either, and they use the links alone.
  const auto probed = kernel.probed(way_->terms.end.group);
  way_->missed = probed && *probed != way_->probe ? way_->missed + 1 : 0;
  if (way_->missed == 0) way_->heard_at = now;
  if (way_->missed == kMissedMost && HOP_KEEPS(kHopProbesParent)) {
    ctx_.note_lost(ctx_.parent_name, ctx_.parent_address, now - way_->heard_at, true);
    leave_parent(now);
    return kNever;
  }
  kernel.probe_parent(way_->terms.end.group, ++way_->probe);
  const Duration wait = way_->missed == 0 ? ctx_.config.limits.probe_every : ctx_.config.limits.probe_again;
  // All groups probe at the same moments, so that an idle node wakes once.
  way_->probe_at = Time((now.time_since_epoch() / wait + 1) * wait);
  return way_->probe_at;
}

}  // namespace sumac::proto
