#include "page/events.hpp"

#include <algorithm>
#include <iterator>

namespace sumac::page {
namespace {

/// Events of this kind come for many hosts or nodes at once, when a manager or a cluster starts.
constexpr Duration kAtOnce = Seconds(2);
constexpr std::size_t kLookedBack = 16;

bool comes_in_crowds(EventKind kind) {
  return kind == EventKind::host_registered || kind == EventKind::host_lost || kind == EventKind::node_registered ||
         kind == EventKind::node_lost || kind == EventKind::link_up || kind == EventKind::link_down;
}

}  // namespace

std::string_view to_string(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::job_granted: return "job_granted";
    case EventKind::job_refused: return "job_refused";
    case EventKind::job_ended: return "job_ended";
    case EventKind::job_released: return "job_released";
    case EventKind::rank_died: return "rank_died";
    case EventKind::node_registered: return "node_registered";
    case EventKind::node_lost: return "node_lost";
    case EventKind::link_up: return "link_up";
    case EventKind::link_down: return "link_down";
    case EventKind::tree_lost: return "tree_lost";
    case EventKind::tree_changed: return "tree_changed";
    case EventKind::host_registered: return "host_registered";
    case EventKind::host_lost: return "host_lost";
    case EventKind::fabric_changed: return "fabric_changed";
  }
  return "?";
}

void EventLog::add(Event event, Time now) {
  event.at = now;
  auto& list = event.is_of_job() ? jobs_ : fabric_;
  event.id = ++last_id_;
  // A crowd of several kinds may come mixed: nodes register, and their links come up between.
  std::size_t looked = 0;
  for (auto at = list.rbegin();
       at != list.rend() && comes_in_crowds(event.kind) && now - (*at)->at <= kAtOnce && looked < kLookedBack;
       ++at, ++looked) {
    if ((*at)->kind != event.kind || (*at)->text != event.text) continue;
    event.count += (*at)->count;
    event.subject = (*at)->subject;
    list.erase(std::next(at).base());
    break;
  }
  if (event.owner) ++of_owner_[*event.owner];
  list.push_back(std::make_shared<const Event>(std::move(event)));
  while (!list.empty() && now - list.front()->at > kHour) forget(list, list.begin());
  if (list.size() <= kKept) return;
  forget(list, &list == &jobs_ ? oldest_of_the_busiest() : list.begin());
  ++dropped_;
}

/// One user's many jobs do not push out another's events.
EventLog::List::iterator EventLog::oldest_of_the_busiest() {
  const auto busiest = std::ranges::max_element(of_owner_, {}, [](const auto& one) { return one.second; })->first;
  return std::ranges::find_if(jobs_, [&](const auto& event) { return event->owner == busiest; });
}

void EventLog::forget(List& list, List::iterator at) {
  if (const auto owner = (*at)->owner; owner && --of_owner_[*owner] == 0) of_owner_.erase(*owner);
  list.erase(at);
}

Events EventLog::recent(Time now) const {
  Events all;
  all.reserve(jobs_.size() + fabric_.size());
  std::merge(jobs_.begin(), jobs_.end(), fabric_.begin(), fabric_.end(), std::back_inserter(all),
             [](const auto& a, const auto& b) { return a->id < b->id; });
  std::erase_if(all, [&](const auto& one) { return now - one->at > kHour; });
  return all;
}

}  // namespace sumac::page
