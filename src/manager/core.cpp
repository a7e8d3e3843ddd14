#include "manager/core.hpp"

#include <algorithm>

#include "manager/core_messages.hpp"
#include "manager/saved_tree.hpp"

namespace sumac::manager {
namespace {

/// While jobs run, tick() must be called at least this often.
constexpr Duration kLook = Seconds(1);
/// A longer silence means that the manager itself stood still, so the sharpds are not to blame for renewals that it
/// missed.
constexpr Duration kStoodStill = Seconds(2);

}  // namespace

Manager::Manager(topo::Fabric fabric, Rules rules, Journal& journal)
    : rules_(rules), journal_(journal), fabric_(std::move(fabric)), fabric_text_(text_of(fabric_)) {
  for (std::size_t i = 0; i < fabric_.hosts.size(); ++i)
    host_by_name_[fabric_.hosts[i].name] = static_cast<std::uint32_t>(i);
  build_trees();
  for (const auto& node : fabric_.nodes) add_node(node.name);
  note_who_works();
}

ActionList Manager::restore(const SavedState& saved, Time now) {
  ActionList out;
  now_ = now;
  last_number_ = saved.last_number;
  looked_ = now;
  expect_nodes(now);
  if (saved.fabric.empty()) return out;  // An empty fabric means that this is the manager's first life.
  settled_at_ = now + rules_.settle;
  const auto drop_all = [&](const char* why) {
    // The nodes find that they have no such job when they register, and revoke it; its ranks leave in their own time.
    for (const auto& record : saved.jobs) {
      out.push_back(
          Say{LogLevel::warn, "JOBS",
              fmt::format("job_id_external: {} job_id_sharp: {} released: {}", record.job_id, record.number, why)});
      if (auto removed = journal_.remove(record.job_id); !removed)
        out.push_back(Say{LogLevel::error, "JOBS", removed.error().context});
    }
    keep_trees(out);
    return out;
  };
  if (rules_.open && fabric_.nodes.empty() && fabric_.hosts.empty()) open_fabric_of(saved.fabric);
  if (saved.fabric != fabric_text_) return drop_all("the fabric has changed since it began");
  std::vector<Tree> trees;
  for (const auto& one : saved.trees) {
    Tree tree;
    if (!one.shape.empty()) {
      auto shape = tree_of(one.shape, fabric_);
      if (!shape) return drop_all("its tree in the state file does not fit the fabric");
      tree.shape = *std::move(shape);
      tree.shape.id = next_shape_++;
      tree.id = one.id;
      tree.lost = false;
    }
    trees.push_back(std::move(tree));
  }
  if (!saved.jobs.empty()) {
    trees_ = std::move(trees);
    patched_ = true;
  } else {
    for (std::size_t i = 0; i < trees.size() && i < trees_.size(); ++i)
      if (!trees[i].lost && !trees_[i].lost && trees[i].shape.root == trees_[i].shape.root) trees_[i].id = trees[i].id;
  }
  note_who_works();
  // A node that is in no tree was down when the journal was written.
  for (std::size_t n = 0; n < nodes_.size() && !saved.jobs.empty(); ++n) {
    if (in_a_tree(n)) continue;
    fabric_.nodes[n].up = false;
    nodes_[n].away_at = kNever;
  }
  for (const auto& record : saved.jobs) {
    const auto age = saved.ages.find(record.job_id);
    restore_job(out, record, age == saved.ages.end() ? Seconds{} : age->second, now);
  }
  expect_nodes(now);
  keep_trees(out);
  out.push_back(Say{LogLevel::info, "GENERAL",
                    fmt::format("restarted: tree {:#x} and {} jobs are known; their sharpds have {} ms to renew them",
                                trees_.empty() ? TreeId{} : trees_[0].id, jobs_.size(),
                                std::chrono::duration_cast<Millis>(rules_.lease).count())});
  return out;
}

void Manager::restore_job(ActionList& out, const JobRecord& record, Seconds age, Time now) {
  Job job;
  job.record = record;
  for (const auto& share : record.shares) {
    const auto known = [&](std::uint32_t n) { return n < nodes_.size() && nodes_[n].parts[share.tree].works; };
    const bool is_sound = share.tree < trees_.size() && !trees_[share.tree].lost && trees_[share.tree].id == share.id &&
                          std::all_of(share.nodes.begin(), share.nodes.end(), known) &&
                          std::all_of(record.hosts.begin(), record.hosts.end(),
                                      [&](std::uint32_t host) { return host < fabric_.hosts.size(); });
    if (!is_sound) {
      out.push_back(Say{LogLevel::warn, "JOBS",
                        fmt::format("job_id_external: {} job_id_sharp: {} released: its tree {} has changed",
                                    record.job_id, record.number, share.tree + 1)});
      if (auto removed = journal_.remove(record.job_id); !removed)
        out.push_back(Say{LogLevel::error, "JOBS", removed.error().context});
      return;
    }
    job.trees.push_back(job_tree_of(share, record.hosts));
    job.reserved.push_back(reserved_for(share));
  }
  job.granted = true;
  job.begun = now - age;
  job.lease_until = now + rules_.lease;
  use(job, true);
  by_ticket_[{record.life, record.ticket}] = record.job_id;
  jobs_.emplace(record.job_id, std::move(job));
}

/// Rebuilds an undescribed fabric, which consists of the nodes and hosts that registered; the journal lists them in
/// order.
void Manager::open_fabric_of(const std::string& saved) {
  for (std::size_t at = 0; at < saved.size();) {
    const auto end = std::min(saved.find('\n', at), saved.size());
    const auto line = std::string_view(saved).substr(at, end - at);
    at = end + 1;
    const auto name = [&](std::size_t from) { return std::string(line.substr(from, line.find(' ', from) - from)); };
    if (line.starts_with("node "))
      add_open_node(name(5));
    else if (line.starts_with("host "))
      add_open_host(name(5));
  }
  fabric_text_ = text_of(fabric_);
}

void Manager::use_nodes(const Job& job, std::size_t share, const std::vector<std::uint32_t>& nodes, bool more) {
  const auto& grant = job.record.quota;
  for (const auto n : nodes) {
    auto& used = nodes_[n].parts[job.record.shares[share].tree].used;
    used.osts = more ? used.osts + grant.osts : used.osts - grant.osts;
    used.groups = more ? used.groups + grant.max_groups : used.groups - grant.max_groups;
  }
}

void Manager::use(const Job& job, bool more) {
  for (std::size_t i = 0; i < job.record.shares.size(); ++i) use_nodes(job, i, job.reserved[i], more);
  const auto& grant = job.record.quota;
  const auto trees = static_cast<std::uint32_t>(job.record.shares.size());
  auto& user = users_[job.record.uid];
  const auto move = [&](std::uint32_t& held, std::uint32_t by) { held = more ? held + by : held - by; };
  move(user.jobs, 1);
  move(user.osts, grant.osts * trees);
  move(user.groups, grant.max_groups * trees);
  if (user.jobs == 0) users_.erase(job.record.uid);
}

ActionList Manager::node_says(StreamId stream, const FromNode& word, Time now) {
  return std::visit(overloaded{
                        [&](const NodeRegister& who) { return node_registers(stream, who, now); },
                        [&](const Ack& ack) { return node_acks(stream, ack.sequence, now); },
                        [&](const Deferred& deferred) { return node_defers(stream, deferred); },
                        [&](const Link& link) { return node_link(stream, link, now); },
                        [&](const Neighbour& neighbour) { return node_neighbour(stream, neighbour, now); },
                        [&](const Listening& listening) { return node_listens(stream, listening, now); },
                        [&](const Inspectable& at) {
                          node_inspectable(stream, at.address);
                          return ActionList{};
                        },
                    },
                    word);
}

ActionList Manager::host_says(StreamId stream, const FromHost& word, Time now) {
  return std::visit(overloaded{
                        [&](const HostRegister& who) { return host_registers(stream, who, now); },
                        [&](const JobBegin& begin) { return job_begins(stream, begin, now); },
                        [&](const JobEnd& end) { return job_ends(stream, end, now); },
                        [&](const Renew& renew) { return host_renews(stream, renew, now); },
                        [&](const RankDied& died) { return rank_died(stream, died); },
                        [&](const Inspectable& at) {
                          host_inspectable(stream, at.address);
                          return ActionList{};
                        },
                        [&](const JobDaemonsAsked& asked) { return job_daemons(stream, asked); },
                    },
                    word);
}

ActionList Manager::tick(Time now) {
  ActionList out;
  now_ = now;
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
      lapse(out, job);
    else if (!job->second.granted && job->second.deadline <= now)
      fail_begin(out, job, missing_for(job->second));
  }
  give_up_absent(out, now);
  judge_silent(out);
  erase_left(out);
  build_if_nobody_runs(out);
  if (settled_at_ <= now) retry_held(out, now);
  return out;
}

Time Manager::next_deadline() const {
  Time next = next_judgement();
  for (const auto& held : held_) next = std::min(next, held.until);
  for (const auto& one : leaving_) next = std::min(next, one.until);
  if (!jobs_.empty()) next = std::min(next, looked_ + kLook);
  for (const auto& node : nodes_) next = std::min(next, node.away_at);
  for (const auto& [id, job] : jobs_) {
    next = std::min(next, job.lease_until);
    if (!job.granted) next = std::min(next, job.deadline);
  }
  return next;
}

}  // namespace sumac::manager
