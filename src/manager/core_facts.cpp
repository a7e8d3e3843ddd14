// Fills the facts.
#include <algorithm>

#include "manager/core.hpp"

namespace sumac::manager {

void Manager::happened(ActionList& out, Happened::Kind kind, std::string subject, std::string text) {
  out.push_back(Happened{.kind = kind, .subject = std::move(subject), .text = std::move(text)});
}

void Manager::happened(ActionList& out, Happened::Kind kind, JobId job, std::uint32_t uid, std::string text) {
  out.push_back(
      Happened{.kind = kind, .subject = fmt::format("job {}", job), .text = std::move(text), .owner = uid, .job = job});
}

NodeFacts Manager::facts_of(std::size_t n) const {
  const auto& node = nodes_[n];
  NodeFacts facts{.name = node.name,
                  .registered = node.stream != 0,
                  .in_tree = in_a_tree(n),
                  .described = node.described,
                  .silent = node.silent};
  if (node.silent) facts.silence = who_hears_nothing_of(node);
  if (facts.registered) {
    facts.pid = node.who.pid;
    facts.osts = node.who.osts;
    facts.groups = node.who.groups;
    facts.release = std::string_view(node.who.release).substr(0, kReleaseMax);
  }
  facts.parts.reserve(node.parts.size());
  for (std::uint32_t i = 0; i < trees_.size(); ++i) {
    const auto& part = node.parts[i];
    const auto parent = parent_of(i, n);
    facts.parts.push_back({.works = part.works,
                           .link_up = facts.registered && (parent == topo::kNone || part.link_up),
                           .parent = parent,
                           .address = part.address,
                           .link_why = part.link_why,
                           .granted = part.used});
  }
  return facts;
}

TreeFacts Manager::facts_of(const Tree& tree) const {
  TreeFacts facts{.lost = tree.lost, .id = tree.id, .shape = &tree.shape};
  const auto index = static_cast<std::uint32_t>(&tree - trees_.data());
  std::vector<std::uint32_t> at;
  for (std::uint32_t n = 0; n < nodes_.size(); ++n)
    if (nodes_[n].parts[index].works) at.push_back(n);
  facts.nodes = at.size();
  for (const auto n : at) {
    const auto& used = nodes_[n].parts[index].used;
    facts.granted = {std::max(facts.granted.osts, used.osts), std::max(facts.granted.groups, used.groups)};
  }
  facts.complete = !at.empty() && describe_missing(at).empty();
  if (!facts.complete) return facts;
  const auto [least, used] = capacity(index, at);
  facts.osts_free = least.osts - used.osts;
  facts.groups_free = least.groups - used.groups;
  return facts;
}

Facts Manager::facts() const {
  Facts facts{.fabric_version = fabric_version_,
              .sharpds_version = sharpds_version_,
              .fabric = &fabric_,
              .hosts = host_by_name_.size(),
              .all_registered = missing_nodes().empty(),
              .sharpds = &sharpds_,
              .waiting_begins = held_.size(),
              .users = &users_,
              .user_capacity = user_capacity(),
              .counts = counts_,
              .rules = &rules_,
              .reservations = &reservations_};
  facts.nodes.reserve(nodes_.size());
  for (std::size_t n = 0; n < nodes_.size(); ++n) facts.nodes.push_back(facts_of(n));
  for (const auto& tree : trees_) facts.trees.push_back(facts_of(tree));
  facts.jobs.reserve(jobs_.size());
  for (const auto& [id, job] : jobs_)
    facts.jobs.push_back({&job.record, job.granted, false, job.begun, job.lease_until});
  for (const auto& one : leaving_)
    facts.leaving.push_back({&one.job.record, one.job.granted, true, one.job.begun, one.job.lease_until});
  return facts;
}

}  // namespace sumac::manager
