// Jobs when nodes come, go and acknowledge, and when trees change.
#include <algorithm>
#include <utility>

#include "manager/ledger.hpp"
#include "manager/saved_tree.hpp"

namespace sumac::manager {

// ---- nodes

bool Ledger::node_acks(Step& step, std::size_t node, std::uint64_t sequence) {
  const auto is_it = [&](const Awaited& one) { return one.node == node && one.sequence == sequence; };
  for (auto& one : leaving_)
    if (std::erase_if(one.job.wait_for, is_it) != 0 && one.job.wait_for.empty()) {
      erase_left(step);
      return true;
    }
  for (auto next = jobs_.begin(); next != jobs_.end();) {
    const auto at = next++;  // The call below may erase this job.
    if (std::erase_if(at->second.wait_for, is_it) != 0) finish_if_ready(step, at);
  }
  return false;
}

void Ledger::node_defers(Step& step, std::size_t node, const Deferred& deferred) {
  const auto is_it = [&](const Awaited& one) { return one.node == node && one.sequence == deferred.sequence; };
  for (auto& [id, job] : jobs_) {
    if (std::ranges::none_of(job.wait_for, is_it)) continue;
    job.deferred = fmt::format("node {}: {:.300}", cluster_.node(node).name, deferred.why);
    step.say(LogLevel::info, "JOBS", fmt::format("job_id_external: {} waits for {}", id, job.deferred));
  }
}

bool Ledger::uses(std::size_t node) const {
  return std::ranges::any_of(jobs_, [&](const auto& one) { return one.second.uses(node); });
}

void Ledger::node_leaves(Step& step, std::size_t node) {
  const auto& name = cluster_.node(node).name;
  std::string running;
  for (const auto& [id, job] : jobs_)
    if (job.granted && job.uses(node)) running += fmt::format(" {}", id);
  step.say(LogLevel::warn, "GENERAL",
           fmt::format("node {} is down: its stream ended; jobs on it:{}", name, running.empty() ? " none" : running));
  step.happened(Happened::Kind::node_lost, "node " + name, "is down: its stream ended");
  for (auto next = jobs_.begin(); next != jobs_.end();) {
    const auto at = next++;
    if (!at->second.uses(node)) continue;
    if (!at->second.granted)
      lose(step, at, fmt::format("node {} went down while the job began: start it again, see its log", name));
    else if (at->second.trees == Job::Trees::coming)
      lose(step, at, fmt::format("node {} went down", name));
  }
}

void Ledger::lose_forgotten(Step& step, std::size_t node) {
  const auto forgot = [&](const Job& job) {
    for (std::size_t i = 0; i < job.record.shares.size(); ++i) {
      if (std::ranges::find(job.reserved[i], node) == job.reserved[i].end()) continue;
      const auto& share = job.record.shares[i];
      const auto number = share.numbers.front().first;
      const auto has_it = [&](const auto& range) { return range.has(number); };
      if (std::ranges::none_of(forest_.part(share.tree, node).held, has_it)) return true;
    }
    return false;
  };
  for (auto at = jobs_.begin(); at != jobs_.end(); ++at)
    if (at->second.granted && at->second.record.outlives_trees && forgot(at->second))
      lose(step, at, fmt::format("node {} has been started again", cluster_.node(node).name));
}

void Ledger::begin_without(Step& step, std::size_t node) {
  for (std::uint32_t i = 0; i < forest_.size(); ++i) stop_waiting(i, node);
  erase_left(step);
  for (auto next = jobs_.begin(); next != jobs_.end();) {
    const auto at = next++;
    auto& job = at->second;
    if (job.trees == Job::Trees::coming && job.uses(node))
      lose(step, at, fmt::format("node {} is silent", cluster_.node(node).name));
    const auto stream = cluster_.stream_of(job.record.life);
    if (job.granted || !job.uses(node) || !stream) continue;
    waiting_.add({*stream, job.begin, job.deadline, job.begun});
    drop(step, at, fmt::format("node {} is silent: it begins without", cluster_.node(node).name));
  }
}

void Ledger::stop_waiting(std::uint32_t tree, std::size_t node) {
  for (auto& one : leaving_)
    std::erase_if(one.job.wait_for, [&](const Awaited& it) { return it.tree == tree && it.node == node; });
}

/// A job that was still beginning while the node was away has been refused.
std::vector<Grant> Ledger::grants_at(std::uint32_t tree, std::size_t node) const {
  std::vector<Grant> grants;
  for (const auto& [id, job] : jobs_)
    for (std::size_t i = 0; i < job.record.shares.size(); ++i)
      if (job.granted && job.record.shares[i].tree == tree &&
          std::ranges::find(job.reserved[i], node) != job.reserved[i].end())
        grants.push_back(grant_to(job, i, static_cast<std::uint32_t>(node), rules_.user.share_max_percent));
  return grants;
}

// ---- trees

void Ledger::lose_jobs(Step& step, const Forest::Change& change, const std::string& why) {
  if (change.trees.empty()) return;
  const auto text_for = [&](const Job& job) -> std::optional<std::string> {
    for (const auto& share : job.record.shares) {
      const auto& tree = change.trees[share.tree];
      const bool over = tree.fate == topo::Fate::rebuilt || tree.fate == topo::Fate::lost;
      if (over || (tree.fate == topo::Fate::repaired &&
                   topo::notices(job_tree_of(share, job.record.hosts), change.before[share.tree].shape, tree)))
        return fmt::format("{}, and tree {} has changed for this job{}", why, share.tree + 1,
                           job.record.outlives_trees ? "" : ": start it again");
    }
    return std::nullopt;
  };
  for (auto next = jobs_.begin(); next != jobs_.end();) {
    const auto at = next++;
    if (const auto text = text_for(at->second)) lose(step, at, *text);
  }
  for (auto& one : leaving_)
    if (const auto text = one.lapsed.empty() ? std::nullopt : text_for(one.job)) {
      to_holder(step, cluster_, one.job.record, JobEnded{*text, one.job.record.ticket});
      one.lapsed.clear();
    }
}

void Ledger::lose_tree(Step& step, std::uint32_t tree) {
  const auto why = fmt::format("the root {} of its tree {} is a new process: start the job again",
                               cluster_.node(forest_.trees()[tree].shape.root).name, tree + 1);
  for (auto next = jobs_.begin(); next != jobs_.end();) {
    const auto at = next++;
    if (std::ranges::any_of(at->second.record.shares, [&](const JobShare& share) { return share.tree == tree; }))
      lose(step, at, why);
  }
}

void Ledger::trees_wanted(Step& step, const Sharpd& sharpd, const TreesWanted& word) {
  const auto at = jobs_.find(word.job_id);
  if (at == jobs_.end() || !at->second.granted || !is_member(at->second, sharpd, word.job_key)) return;
  const Job& job = at->second;
  const auto& record = job.record;
  // Several ranks say so of the same trees. A job that may have no others keeps them, for the groups that can use them.
  const bool has_them = job.trees == Job::Trees::held && record.times_again == word.times_again;
  if (!record.outlives_trees || !has_them || record.times_again >= rules_.trees_again_max) return;
  lose(step, at, fmt::format("a rank on host {} cannot use them", sharpd.name));
}

void Ledger::give_again(Step& step) {
  const auto visit_others = [&](const std::function<void(const Job&)>& visit) {
    for (const auto& [id, other] : jobs_) visit(other);
    for (const auto& ended : leaving_) visit(ended.job);
  };
  for (auto& [id, job] : jobs_) again_.ask(step, job, visit_others);
}

bool Ledger::nobody_runs() const {
  const auto has_none = [](const auto& one) { return one.second.trees == Job::Trees::lost; };
  return leaving_.empty() && std::ranges::all_of(jobs_, has_none);
}

void Ledger::set_ways_up(Step& step) {
  for (auto& [id, job] : jobs_) {
    for (std::size_t i = 0; i < job.record.shares.size(); ++i) {
      const auto& share = job.record.shares[i];
      auto now = forest_.reserved_for(share);
      if (now == job.reserved[i]) continue;
      const std::set<std::uint32_t> old(job.reserved[i].begin(), job.reserved[i].end()), next(now.begin(), now.end());
      holdings_.move(job, i, now);
      job.reserved[i] = std::move(now);
      const auto has_part = [&](std::uint32_t n) { return cluster_.is_there(n) && forest_.part(share.tree, n).works; };
      for (const auto n : old)
        if (!next.contains(n) && has_part(n))
          cluster_.send(step, n, Revoke{share.tree, id, "it is not on the job's path to the root any more"});
      for (const auto n : next) {
        // A node that stays may now have another child on the path.
        const bool is_told = old.contains(n) && std::ranges::find(share.nodes, n) != share.nodes.end();
        if (is_told || !has_part(n)) continue;
        cluster_.send(step, n, grant_to(job, i, n, rules_.user.share_max_percent));
        if (!job.granted || job.trees == Job::Trees::coming)
          job.wait_for.push_back({share.tree, n, cluster_.node(n).sent});
      }
    }
  }
}

}  // namespace sumac::manager
