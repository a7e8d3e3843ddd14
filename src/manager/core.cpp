#include "manager/core.hpp"

#include <algorithm>

#include "manager/core_messages.hpp"

namespace sumac::manager {
namespace {

/// While jobs run, tick() is wanted at least so often. A longer silence means that the manager itself stood still ...
constexpr Duration kLook = Seconds(1);
/// ... and what it did not hear meanwhile is nobody's fault.
constexpr Duration kStoodStill = Seconds(2);

/// The tree in one line: jobs of another one than today's can't go on.
std::string text_of(const topo::AggregationTree& tree) {
  std::string text;
  for (const auto& node : tree.nodes)
    text += fmt::format("{}{}<{}", text.empty() ? "" : " ", node.name,
                        !node.in_tree     ? "!"
                        : node.parent < 0 ? "-"
                                          : tree.nodes[static_cast<std::size_t>(node.parent)].name);
  return text;
}

}  // namespace

Core::Core(const topo::Fabric& fabric, const topo::AggregationTree& tree, CoreRules rules, Journal& journal)
    : rules_(rules), journal_(journal), fabric_text_(text_of(tree)), root_(tree.root) {
  for (const auto& node : tree.nodes) {
    node_by_name_[node.name] = nodes_.size();
    nodes_.push_back(Node{.name = node.name, .parent = node.parent, .in_tree = node.in_tree});
  }
  for (std::size_t i = 0; i < fabric.hosts.size(); ++i) leaf_of_host_[fabric.hosts[i].name] = tree.leaf_of_host[i];
}

Actions Core::restore(const SavedState& saved, Time now) {
  Actions out;
  last_number_ = saved.last_number;
  looked_ = now;
  if (saved.fabric.empty()) return out;  // a first life
  settled_at_ = now + rules_.settle;
  if (saved.fabric != fabric_text_) {
    // Nodes hear of no such job when they register, and revoke it; its ranks leave what they have in their own time.
    for (const auto& record : saved.jobs)
      out.push_back(Say{LogLevel::warn, "JOBS",
                        fmt::format("job_id_external: {} job_id_sharp: {} released: the fabric's tree is another one "
                                    "than when it began",
                                    record.job_id, record.number)});
    return out;  // the journal forgets them when the root registers
  }
  tree_id_ = saved.tree_id;
  for (const auto& record : saved.jobs) {
    Job job;
    job.record = record;
    job.wait_for.assign(nodes_.size(), 0);
    job.granted = true;
    job.begun = now;
    job.lease_until = now + rules_.lease;
    use(job, true);
    by_ticket_[{record.life, record.ticket}] = record.job_id;
    jobs_.emplace(record.job_id, std::move(job));
  }
  out.push_back(Say{LogLevel::info, "GENERAL",
                    fmt::format("restarted: tree {:#x} and {} jobs are known; their sharpds have {} ms to renew them",
                                tree_id_, jobs_.size(), std::chrono::duration_cast<Millis>(rules_.lease).count())});
  return out;
}

void Core::use(const Job& job, bool more) {
  const auto& grant = job.record.grant;
  auto& user = users_[job.record.uid];
  const auto move = [&](std::uint32_t& held, std::uint32_t by) { held = more ? held + by : held - by; };
  move(used_.osts, grant.osts);
  move(used_.groups, grant.max_groups);
  move(user.jobs, 1);
  move(user.osts, grant.osts);
  move(user.groups, grant.max_groups);
  if (user.jobs == 0) users_.erase(job.record.uid);
}

Actions Core::tick(Time now) {
  Actions out;
  if (const auto silence = now - looked_; silence > kStoodStill && !jobs_.empty()) {
    out.push_back(Say{LogLevel::warn, "GENERAL",
                      fmt::format("the manager itself stood still for {} ms: leases go on from here",
                                  std::chrono::duration_cast<Millis>(silence).count())});
    for (auto& [id, job] : jobs_) {
      job.lease_until = std::min(job.lease_until + silence, now + rules_.lease);
      if (!job.granted) job.deadline = std::min(job.deadline + silence, now + rules_.grant_timeout);
    }
  }
  looked_ = now;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const auto job = at++;
    if (job->second.lease_until <= now)
      release(out, job,
              fmt::format("{} has not renewed it for {} ms: its sharpd or its host is gone", job->second.record.holder,
                          std::chrono::duration_cast<Millis>(rules_.lease).count()));
    else if (!job->second.granted && job->second.deadline <= now)
      fail_begin(out, job, missing_for(job->second));
  }
  if (settled_at_ <= now) retry_held(out, now);
  return out;
}

Time Core::next_deadline() const {
  Time next = held_.empty() ? kNever : settled_at_;
  if (!jobs_.empty()) next = std::min(next, looked_ + kLook);
  for (const auto& [id, job] : jobs_) {
    next = std::min(next, job.lease_until);
    if (!job.granted) next = std::min(next, job.deadline);
  }
  return next;
}

}  // namespace sumac::manager
