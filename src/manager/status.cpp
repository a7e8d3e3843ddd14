// The state of the manager as JSON, for `sumac status` and people.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "manager/core.hpp"

namespace sumac::manager {

TreeUsage Manager::usage_of(std::uint32_t tree) const {
  TreeUsage usage;
  usage.lost = trees_[tree].lost;
  std::vector<std::uint32_t> at;
  for (std::uint32_t n = 0; n < nodes_.size(); ++n)
    if (nodes_[n].parts[tree].works) at.push_back(n);
  usage.nodes = at.size();
  for (const auto n : at) {
    usage.granted.osts = std::max(usage.granted.osts, nodes_[n].parts[tree].used.osts);
    usage.granted.groups = std::max(usage.granted.groups, nodes_[n].parts[tree].used.groups);
  }
  usage.complete = !at.empty() && describe_missing(at).empty();
  if (!usage.complete) return usage;
  const auto [least, used] = capacity(tree, at);
  usage.osts_free = least.osts - used.osts;
  usage.groups_free = least.groups - used.groups;
  return usage;
}

CoreNumbers Manager::numbers() const {
  auto all = done_;
  all.jobs = jobs_.size();
  all.leaving_jobs = leaving_.size();
  all.waiting_begins = held_.size();
  all.users = users_.size();
  all.hosts = host_by_name_.size();
  all.sharpds = hosts_.size();
  all.nodes = nodes_.size();
  all.nodes_registered =
      static_cast<std::size_t>(std::ranges::count_if(nodes_, [](const Node& node) { return node.stream != 0; }));
  all.nodes_silent = static_cast<std::size_t>(std::ranges::count_if(nodes_, &Node::silent));
  for (std::uint32_t i = 0; i < trees_.size(); ++i) all.trees.push_back(usage_of(i));
  return all;
}

namespace {

/// So many versions are listed, with so many of their hosts each: ten thousand sharpds of one version are one line.
constexpr std::size_t kVersionsMax = 16, kHostsOfVersionMax = 8;

struct OfVersion {
  std::size_t hosts = 0;
  nlohmann::json some = nlohmann::json::array();
};

}  // namespace

std::string Manager::status_json(Time now, std::uint64_t heard, const Viewer& viewer) const {
  using nlohmann::json;
  json nodes = json::array(), jobs = json::array(), trees = json::array();
  bool all_registered = missing_nodes().empty();
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const auto& node = nodes_[n];
    json entry{{"id", number_of(id_of(n))}, {"name", node.name}, {"registered", node.stream != 0}};
    // The first tree's values stand by themselves, because most fabrics have one tree; a list has those of all trees.
    entry["root"] = !trees_.empty() && !trees_[0].lost && trees_[0].shape.root == n;
    entry["in_tree"] = in_a_tree(n);
    if (node.silent) entry["silent"] = who_hears_nothing_of(node);
    const auto above = trees_.empty() ? topo::kNone : parent_of(0, n);
    entry["parent"] = above == topo::kNone ? json() : json(nodes_[above].name);
    if (node.stream != 0) {
      entry["version"] = node.who.release.substr(0, kReleaseMax);
      entry["pid"] = node.who.pid;
      entry["osts"] = node.who.osts;
      entry["groups"] = node.who.groups;
      entry["link_up"] = true;
    }
    entry["trees"] = json::array();
    for (std::uint32_t i = 0; i < trees_.size(); ++i) {
      const auto& part = node.parts[i];
      if (!part.works) continue;
      const auto parent = parent_of(i, n);
      json one{{"tree", i},
               {"parent", parent == topo::kNone ? json() : json(nodes_[parent].name)},
               {"root", !trees_[i].lost && trees_[i].shape.root == n},
               {"address", part.address},
               {"link_up", node.stream != 0 && (parent == topo::kNone || part.link_up)},
               {"osts_granted", part.used.osts},
               {"groups_granted", part.used.groups}};
      if (!one["link_up"] && node.stream != 0) {
        entry["link_up"] = false;
        entry["link_why"] = one["link_why"] = part.link_why;
      }
      if (!entry.contains("address") && !part.address.empty()) entry["address"] = part.address;
      entry["trees"].push_back(std::move(one));
    }
    nodes.push_back(std::move(entry));
  }
  // The amounts granted at the fullest node of each tree, and those left for a job on all of its hosts.
  std::uint32_t osts_granted = 0, groups_granted = 0, osts_free = 0, groups_free = 0;
  for (std::uint32_t i = 0; i < trees_.size(); ++i) {
    json entry{{"tree", i}, {"id", number_of(trees_[i].id)}, {"lost", trees_[i].lost}};
    const auto usage = usage_of(i);
    entry["nodes"] = usage.nodes;
    if (!trees_[i].lost) entry["root"] = nodes_[trees_[i].shape.root].name;
    entry["osts_granted"] = usage.granted.osts;
    entry["groups_granted"] = usage.granted.groups;
    osts_granted = std::max(osts_granted, usage.granted.osts);
    groups_granted = std::max(groups_granted, usage.granted.groups);
    if (usage.complete) {
      entry["osts_free"] = usage.osts_free;
      entry["groups_free"] = usage.groups_free;
      osts_free = std::max(osts_free, usage.osts_free);
      groups_free = std::max(groups_free, usage.groups_free);
    } else {
      all_registered = false;
    }
    trees.push_back(std::move(entry));
  }
  for (const auto& [id, job] : jobs_) {
    if (!viewer.everything && viewer.uid != job.record.uid) continue;
    jobs.push_back({{"id", number_of(id)},
                    {"number", job.record.number},
                    {"holder", job.record.holder},
                    {"uid", job.record.uid},
                    {"reservation", job.record.reservation},
                    {"running", job.granted},
                    {"hosts", job.record.hosts.size()},
                    {"trees", job.record.shares.size()},
                    {"osts", job.record.quota.osts},
                    {"max_groups", job.record.quota.max_groups},
                    {"payload_per_ost", job.record.quota.payload_per_ost},
                    {"stream_window", job.record.quota.stream_window},
                    {"age_ms", std::chrono::duration_cast<Millis>(now - job.begun).count()},
                    {"lease_ms", std::chrono::duration_cast<Millis>(job.lease_until - now).count()}});
  }
  const bool has_tree = !trees_.empty() && !trees_[0].lost;
  json top{{"tree_id", has_tree ? number_of(trees_[0].id) : 0},
           {"root", has_tree ? nodes_[trees_[0].shape.root].name : ""},
           {"hosts", host_by_name_.size()},
           {"sharpds", hosts_.size()},
           {"nodes", std::move(nodes)},
           {"trees", std::move(trees)},
           {"jobs", std::move(jobs)},
           {"osts_granted", osts_granted},
           {"groups_granted", groups_granted}};
  std::map<std::string_view, OfVersion> versions;
  for (const auto& [stream, host] : hosts_) {
    if (versions.size() == kVersionsMax && !versions.contains(host.release)) continue;
    auto& of = versions[host.release];
    if (++of.hosts <= kHostsOfVersionMax) of.some.push_back(host.name);
  }
  top["sharpd_versions"] = json::array();
  for (auto& [version, of] : versions)
    top["sharpd_versions"].push_back({{"version", version}, {"hosts", of.hosts}, {"some", std::move(of.some)}});
  top["sharpds_elsewhere"] = json::array();
  for (const auto& [stream, host] : hosts_)
    if (!host.in_fabric && top["sharpds_elsewhere"].size() < kHostsOfVersionMax)
      top["sharpds_elsewhere"].push_back(host.name);
  top["messages"] = heard;
  top["jobs_total"] = jobs_.size();
  // A part of what is granted that belongs to no job above, because ranks of ended jobs have not left.
  std::uint32_t osts_leaving = 0;
  for (const auto& one : leaving_) osts_leaving += one.job.record.quota.osts;
  top["osts_leaving"] = osts_leaving;
  top["rules"] = {{"default_quota_percent", rules_.quota.default_percent},
                  {"user_jobs_max", rules_.user.jobs_max},
                  {"user_share_max_percent", rules_.user.share_max_percent},
                  {"reservation_mode", reservations_.on()},
                  {"reservations", reservations_.count()}};
  if (all_registered) {
    top["osts_free"] = osts_free;
    top["groups_free"] = groups_free;
  }
  // Names come from other processes, and invalid UTF-8 must not throw here.
  return top.dump(2, ' ', false, json::error_handler_t::replace);
}

}  // namespace sumac::manager
