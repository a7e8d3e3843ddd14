#include "manager/holdings.hpp"

#include <algorithm>

namespace sumac::manager {

void Holdings::change(const Job& job, std::size_t share, const std::vector<std::uint32_t>& nodes, bool more) {
  const auto& grant = job.record.quota;
  const auto tree = job.record.shares[share].tree;
  if (used_.size() <= tree) used_.resize(tree + 1);
  if (used_[tree].size() < cluster_.nodes().size()) used_[tree].resize(cluster_.nodes().size());
  for (const auto n : nodes) {
    auto& used = used_[tree][n];
    used.osts = more ? used.osts + grant.osts : used.osts - grant.osts;
    used.groups = more ? used.groups + grant.max_groups : used.groups - grant.max_groups;
    if (job.record.reservation.empty()) continue;
    const std::tuple place{job.record.reservation, tree, n};
    auto& osts = of_reservations_[place];
    osts = more ? osts + grant.osts : osts - grant.osts;
    if (osts == 0) of_reservations_.erase(place);
  }
}

void Holdings::change(const Job& job, bool more) {
  for (std::size_t i = 0; i < job.record.shares.size(); ++i) change(job, i, job.reserved[i], more);
  if (job.is_remainder) return;
  const auto trees = job.record.quota.num_trees;  // A job without trees keeps its place.
  auto& user = users_[job.record.uid];
  const auto move = [&](std::uint32_t& held, std::uint32_t by) { held = more ? held + by : held - by; };
  move(user.jobs, 1);
  move(user.osts, job.record.quota.osts * trees);
  move(user.groups, job.record.quota.max_groups * trees);
  if (user.jobs == 0) users_.erase(job.record.uid);
}

void Holdings::take(const Job& job) { change(job, true); }

void Holdings::give_back(const Job& job) { change(job, false); }

void Holdings::move(const Job& job, std::size_t share, const std::vector<std::uint32_t>& to) {
  change(job, share, job.reserved[share], false);
  change(job, share, to, true);
}

Usage Holdings::at(std::uint32_t tree, std::uint32_t node) const {
  return tree < used_.size() && node < used_[tree].size() ? used_[tree][node] : Usage{};
}

UserUsage Holdings::of(std::uint32_t uid) const {
  const auto found = users_.find(uid);
  return found == users_.end() ? UserUsage{} : found->second;
}

std::uint32_t Holdings::of_reservation(const std::string& name, std::uint32_t tree, std::uint32_t node) const {
  const auto found = of_reservations_.find({name, tree, node});
  return found == of_reservations_.end() ? 0 : found->second;
}

std::pair<Capacity, Usage> Holdings::capacity(std::uint32_t tree, const std::vector<std::uint32_t>& nodes,
                                              const std::map<std::uint32_t, std::uint32_t>& kept) const {
  Capacity least{UINT32_MAX, UINT32_MAX, UINT32_MAX};
  std::uint32_t osts_free = UINT32_MAX, groups_free = UINT32_MAX;
  for (const auto n : nodes) {
    const auto& who = cluster_.node(n).who;
    auto used = at(tree, n);
    if (const auto more = kept.find(n); more != kept.end()) used.osts += more->second;
    least.osts = std::min(least.osts, who.osts);
    least.groups = std::min(least.groups, who.groups);
    least.payload_max = std::min(least.payload_max, who.payload_max);
    osts_free = std::min(osts_free, who.osts - std::min(used.osts, who.osts));
    groups_free = std::min(groups_free, who.groups - std::min(used.groups, who.groups));
  }
  return {least, {least.osts - std::min(osts_free, least.osts), least.groups - std::min(groups_free, least.groups)}};
}

Capacity Holdings::user_capacity() const {
  Capacity all{0, 0, 0};
  for (std::uint32_t i = 0; i < forest_.size(); ++i) {
    const auto nodes = forest_.working_nodes(i);
    if (nodes.empty()) continue;
    const auto least = capacity(i, nodes).first;
    all.osts += least.osts;
    all.groups += least.groups;
  }
  return all;
}

void Holdings::describe(Facts& facts) const {
  facts.users = &users_;
  facts.user_capacity = user_capacity();
  for (std::uint32_t i = 0; i < facts.trees.size(); ++i) {
    auto& tree = facts.trees[i];
    std::vector<std::uint32_t> there;
    for (std::uint32_t n = 0; n < facts.nodes.size(); ++n) {
      auto& part = facts.nodes[n].parts[i];
      part.granted = at(i, n);
      if (!part.works) continue;
      ++tree.nodes;
      tree.granted.osts = std::max(tree.granted.osts, part.granted.osts);
      tree.granted.groups = std::max(tree.granted.groups, part.granted.groups);
      if (facts.nodes[n].registered) there.push_back(n);
    }
    tree.complete = tree.nodes != 0 && there.size() == tree.nodes;
    if (!tree.complete) continue;
    const auto [least, used] = capacity(i, there);
    tree.osts_free = least.osts - used.osts;
    tree.groups_free = least.groups - used.groups;
  }
}

}  // namespace sumac::manager
