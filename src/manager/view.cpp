#include "manager/view.hpp"

#include <algorithm>

namespace sumac::manager {
namespace {

page::EventKind kind_of(Happened::Kind kind) {
  using From = Happened::Kind;
  using To = page::EventKind;
  switch (kind) {
    case From::job_granted: return To::job_granted;
    case From::job_refused: return To::job_refused;
    case From::job_ended: return To::job_ended;
    case From::job_released: return To::job_released;
    case From::rank_died: return To::rank_died;
    case From::node_registered: return To::node_registered;
    case From::node_lost: return To::node_lost;
    case From::link_up: return To::link_up;
    case From::link_down: return To::link_down;
    case From::tree_lost: return To::tree_lost;
    case From::tree_changed: return To::tree_changed;
    case From::host_registered: return To::host_registered;
    case From::host_lost: return To::host_lost;
    case From::fabric_changed: break;
  }
  return To::fabric_changed;
}

std::shared_ptr<const page::FabricView> fabric_view(const Facts& facts) {
  auto view = std::make_shared<page::FabricView>();
  view->fabric = *facts.fabric;
  view->described = !facts.rules->open;
  for (const auto& tree : facts.trees) view->trees.push_back({tree.lost, tree.id, *tree.shape});
  // Here a node that is away is a part of the fabric, as hosts and switches are; NodeView says that it is not
  // registered.
  for (std::size_t n = 0; n < facts.nodes.size(); ++n) view->fabric.nodes[n].up = facts.nodes[n].described;
  return view;
}

page::NodeView view_of(const NodeFacts& node) {
  page::NodeView view{.registered = node.registered};
  if (view.registered) {
    view.pid = node.pid;
    view.silent = node.silence;
    view.osts = node.osts;
    view.groups = node.groups;
    view.hop = node.hop;
  }
  for (const auto& part : node.parts)
    view.parts.push_back({.works = part.works,
                          .link_up = part.link_up,
                          .link_why = part.link_up ? std::string() : std::string(part.link_why),
                          .osts = part.granted.osts,
                          .groups = part.granted.groups});
  return view;
}

std::shared_ptr<const page::JobView> view_of(const WaitingFacts& waiting) {
  const auto& begin = waiting.held->begin;
  auto view = std::make_shared<page::JobView>();
  view->id = begin.job_id;
  view->uid = begin.uid;
  view->holder = begin.holder;
  view->quota = begin.quota;
  view->hosts = waiting.hosts;
  view->begun = waiting.held->since;
  return view;
}

}  // namespace

void View::add(const Happened& event, Time now) {
  events_.add({.kind = kind_of(event.kind),
               .subject = event.subject,
               .text = event.text,
               .owner = event.owner,
               .job = event.job},
              now);
}

std::shared_ptr<const page::JobView> View::view_of(const JobFacts& job) {
  const auto& record = *job.record;
  const auto id = [](const auto& one) { return one->id; };
  const auto at = std::ranges::lower_bound(jobs_, record.job_id, {}, id);
  // An id may be used again; the job's number is not.
  if (at != jobs_.end() && (*at)->number == record.number) return *at;
  auto view = std::make_shared<page::JobView>();
  view->id = record.job_id;
  view->number = record.number;
  view->uid = record.uid;
  view->holder = record.holder;
  view->reservation = record.reservation;
  view->quota = record.quota;
  view->hosts = record.hosts;
  for (const auto& share : record.shares)
    view->shares.push_back({share.tree, share.id, share.nodes, share.parents, share.leaves});
  view->begun = job.begun;
  return view;
}

page::Snapshot View::snapshot(const Facts& facts, const page::Known& known, Time now) {
  page::Snapshot out;
  out.made = now;
  out.version = {
      .state = 0, .fabric = facts.fabric_version, .sharpds = facts.sharpds_version, .events = events_.version()};
  if (known.fabric != facts.fabric_version) out.fabric = fabric_view(facts);
  if (known.sharpds != facts.sharpds_version || out.fabric) {
    auto there = std::make_shared<std::vector<bool>>(facts.fabric->hosts.size());
    for (const auto& [stream, sharpd] : *facts.sharpds)
      if (sharpd.host != topo::kNone)
        (*there)[sharpd.host] = true;
      else
        ++out.sharpds_elsewhere;
    out.sharpds = std::move(there);
  }
  if (known.events != events_.version()) out.events = std::make_shared<const page::Events>(events_.recent(now));
  out.events_dropped = events_.dropped();
  out.nodes.reserve(facts.nodes.size());
  for (const auto& node : facts.nodes) out.nodes.push_back(manager::view_of(node));
  out.jobs.reserve(facts.jobs.size() + facts.leaving.size());
  for (const auto* list : {&facts.jobs, &facts.leaving})
    for (const auto& job : *list)
      out.jobs.push_back({.job = view_of(job), .granted = job.granted, .leaving = job.leaving});
  for (const auto& waiting : facts.waiting) out.jobs.push_back({.job = manager::view_of(waiting), .waiting = true});
  if (!facts.leaving.empty() || !facts.waiting.empty())
    std::ranges::sort(out.jobs, {}, [](const auto& one) { return one.job->id; });
  jobs_.clear();
  for (const auto& job : out.jobs)
    if (!job.waiting) jobs_.push_back(job.job);
  for (const auto& [uid, usage] : *facts.users) out.users.push_back({uid, usage.jobs, usage.osts, usage.groups});
  for (const auto& tree : facts.trees)
    out.trees.push_back({.complete = tree.complete,
                         .nodes = static_cast<std::uint32_t>(tree.nodes),
                         .osts = tree.granted.osts,
                         .groups = tree.granted.groups,
                         .osts_free = tree.osts_free,
                         .groups_free = tree.groups_free});
  out.jobs_granted = facts.counts.jobs_granted;
  out.jobs_refused = facts.counts.jobs_refused;
  out.jobs_released = facts.counts.jobs_released;
  out.rank_deaths = facts.counts.rank_deaths;
  const auto& user = facts.rules->user;
  const auto share = [&](std::uint32_t total) {
    return static_cast<std::uint32_t>(std::uint64_t{total} * user.share_max_percent / 100);
  };
  out.user_jobs_max = user.jobs_max;
  out.user_share_max_percent = user.share_max_percent;
  out.default_quota_percent = facts.rules->quota.default_percent;
  out.user_osts_max = share(facts.user_capacity.osts);
  out.user_groups_max = share(facts.user_capacity.groups);
  return out;
}

}  // namespace sumac::manager
