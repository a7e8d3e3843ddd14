// The page shows the events and a snapshot of the records; both are made here.
#include <algorithm>

#include "manager/core.hpp"

namespace sumac::manager {

void Manager::happened(page::EventKind kind, std::string subject, std::string text) {
  events_.add({.kind = kind, .subject = std::move(subject), .text = std::move(text)}, now_);
}

void Manager::happened(page::EventKind kind, JobId job, std::uint32_t uid, std::string text) {
  events_.add({.kind = kind, .subject = fmt::format("job {}", job), .text = std::move(text), .owner = uid, .job = job},
              now_);
}

page::JobState Manager::view_of(const Job& job, bool leaving) const {
  if (!job.view) {
    const auto& record = job.record;
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
    job.view = std::move(view);
  }
  return {.job = job.view, .granted = job.granted, .leaving = leaving};
}

page::FabricView Manager::fabric_view() const {
  page::FabricView view{.fabric = fabric_, .trees = {}, .described = !rules_.open};
  for (const auto& tree : trees_) view.trees.push_back({tree.lost, tree.id, tree.shape});
  // Here a node that is away is a part of the fabric, as hosts and switches are; NodeView says that it is not
  // registered.
  for (std::size_t n = 0; n < nodes_.size(); ++n) view.fabric.nodes[n].up = nodes_[n].described;
  return view;
}

page::Snapshot Manager::snapshot(const page::Known& known, Time now) const {
  page::Snapshot out;
  out.made = now;
  out.version = {.state = 0, .fabric = fabric_version_, .sharpds = sharpds_version_, .events = events_.version()};
  if (known.fabric != fabric_version_) out.fabric = std::make_shared<const page::FabricView>(fabric_view());
  if (known.sharpds != sharpds_version_ || out.fabric) {
    auto there = std::make_shared<std::vector<bool>>(fabric_.hosts.size());
    for (const auto& [stream, host] : hosts_)
      if (const auto at = host_by_name_.find(host.name); at != host_by_name_.end())
        (*there)[at->second] = true;
      else
        ++out.sharpds_elsewhere;
    out.sharpds = std::move(there);
  }
  if (known.events != events_.version()) out.events = std::make_shared<const page::Events>(events_.recent(now));
  out.events_dropped = events_.dropped();
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const auto& node = nodes_[n];
    page::NodeView view{.registered = node.stream != 0};
    if (view.registered) {
      view.pid = node.who.pid;
      if (node.silent) view.silent = who_hears_nothing_of(node);
      view.osts = node.who.osts;
      view.groups = node.who.groups;
    }
    for (std::uint32_t i = 0; i < trees_.size(); ++i) {
      const auto& part = node.parts[i];
      const bool up = view.registered && (parent_of(i, n) == topo::kNone || part.link_up);
      view.parts.push_back({.works = part.works,
                            .link_up = up,
                            .link_why = up ? std::string() : part.link_why,
                            .osts = part.used.osts,
                            .groups = part.used.groups});
    }
    out.nodes.push_back(std::move(view));
  }
  out.jobs.reserve(jobs_.size() + leaving_.size());
  for (const auto& [id, job] : jobs_) out.jobs.push_back(view_of(job, false));
  for (const auto& one : leaving_) out.jobs.push_back(view_of(one.job, true));
  if (!leaving_.empty()) std::ranges::sort(out.jobs, {}, [](const auto& one) { return one.job->id; });
  for (const auto& [uid, usage] : users_) out.users.push_back({uid, usage.jobs, usage.osts, usage.groups});
  for (std::uint32_t i = 0; i < trees_.size(); ++i) {
    const auto usage = usage_of(i);
    out.trees.push_back({.complete = usage.complete,
                         .nodes = static_cast<std::uint32_t>(usage.nodes),
                         .osts = usage.granted.osts,
                         .groups = usage.granted.groups,
                         .osts_free = usage.osts_free,
                         .groups_free = usage.groups_free});
  }
  out.waiting_begins = static_cast<std::uint32_t>(held_.size());
  out.jobs_granted = done_.jobs_granted;
  out.jobs_refused = done_.jobs_refused;
  out.jobs_released = done_.jobs_released;
  out.rank_deaths = done_.rank_deaths;
  const auto all = user_capacity();
  const auto share = [&](std::uint32_t total) {
    return static_cast<std::uint32_t>(std::uint64_t{total} * rules_.user.share_max_percent / 100);
  };
  out.user_jobs_max = rules_.user.jobs_max;
  out.user_share_max_percent = rules_.user.share_max_percent;
  out.default_quota_percent = rules_.quota.default_percent;
  out.user_osts_max = share(all.osts);
  out.user_groups_max = share(all.groups);
  return out;
}

}  // namespace sumac::manager
