#include "manager/status.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sumac::manager {
namespace {

using nlohmann::json;

/// So many versions are listed, with so many of their hosts each: ten thousand sharpds of one version are one line.
constexpr std::size_t kVersionsMax = 16, kHostsOfVersionMax = 8;

struct OfVersion {
  std::size_t hosts = 0;
  json some = json::array();
};

json json_of(const Facts& facts, std::size_t n) {
  const auto& node = facts.nodes[n];
  const auto is_root = [&](const TreeFacts& tree) { return !tree.lost && tree.shape->root == n; };
  const auto name_of = [&](std::uint32_t parent) {
    return parent == topo::kNone ? json() : json(facts.nodes[parent].name);
  };
  // The first tree's values stand by themselves, because most fabrics have one tree; a list has those of all trees.
  json entry{{"id", n + 1},
             {"name", node.name},
             {"registered", node.registered},
             {"root", !facts.trees.empty() && is_root(facts.trees[0])},
             {"in_tree", node.in_tree},
             {"parent", node.parts.empty() ? json() : name_of(node.parts[0].parent)},
             {"trees", json::array()}};
  if (node.silent) entry["silent"] = node.silence;
  if (node.registered) {
    entry["version"] = node.release;
    entry["pid"] = node.pid;
    entry["osts"] = node.osts;
    entry["groups"] = node.groups;
    entry["link_up"] = true;
  }
  for (std::size_t i = 0; i < node.parts.size(); ++i) {
    const auto& part = node.parts[i];
    if (!part.works) continue;
    json one{{"tree", i},
             {"parent", name_of(part.parent)},
             {"root", is_root(facts.trees[i])},
             {"address", part.address},
             {"link_up", part.link_up},
             {"osts_granted", part.granted.osts},
             {"groups_granted", part.granted.groups}};
    if (!part.link_up && node.registered) {
      entry["link_up"] = false;
      entry["link_why"] = one["link_why"] = part.link_why;
    }
    if (!entry.contains("address") && !part.address.empty()) entry["address"] = part.address;
    entry["trees"].push_back(std::move(one));
  }
  return entry;
}

json json_of(const JobFacts& job, Time now) {
  const auto& record = *job.record;
  return {{"id", number_of(record.job_id)},
          {"number", record.number},
          {"holder", record.holder},
          {"uid", record.uid},
          {"reservation", record.reservation},
          {"running", job.granted},
          {"hosts", record.hosts.size()},
          {"trees", record.shares.size()},
          {"osts", record.quota.osts},
          {"max_groups", record.quota.max_groups},
          {"payload_per_ost", record.quota.payload_per_ost},
          {"stream_window", record.quota.stream_window},
          {"age_ms", std::chrono::duration_cast<Millis>(now - job.begun).count()},
          {"lease_ms", std::chrono::duration_cast<Millis>(job.lease_until - now).count()}};
}

json json_of(const WaitingFacts& waiting, Time now) {
  const auto& held = *waiting.held;
  const auto ms = [](Duration time) { return std::chrono::duration_cast<Millis>(time).count(); };
  return {{"id", number_of(held.begin.job_id)},
          {"holder", held.begin.holder},
          {"uid", held.begin.uid},
          {"hosts", held.begin.hosts.size()},
          {"osts", held.begin.quota.osts},
          {"max_groups", held.begin.quota.max_groups},
          {"age_ms", ms(now - held.since)},
          {"left_ms", ms(held.until - now)}};
}

/// The amounts granted at the fullest node of each tree, and those left for a job on all of its hosts.
void add_trees(json& top, const Facts& facts) {
  Usage granted, free;
  bool all_registered = facts.all_registered;
  top["trees"] = json::array();
  for (std::size_t i = 0; i < facts.trees.size(); ++i) {
    const auto& tree = facts.trees[i];
    json entry{{"tree", i},           {"id", number_of(tree.id)},          {"lost", tree.lost},
               {"nodes", tree.nodes}, {"osts_granted", tree.granted.osts}, {"groups_granted", tree.granted.groups}};
    if (!tree.lost) entry["root"] = facts.nodes[tree.shape->root].name;
    granted = {std::max(granted.osts, tree.granted.osts), std::max(granted.groups, tree.granted.groups)};
    if (tree.complete) {
      entry["osts_free"] = tree.osts_free;
      entry["groups_free"] = tree.groups_free;
      free = {std::max(free.osts, tree.osts_free), std::max(free.groups, tree.groups_free)};
    } else {
      all_registered = false;
    }
    top["trees"].push_back(std::move(entry));
  }
  top["osts_granted"] = granted.osts;
  top["groups_granted"] = granted.groups;
  if (!all_registered) return;
  top["osts_free"] = free.osts;
  top["groups_free"] = free.groups;
}

void add_sharpds(json& top, const Sharpds& sharpds) {
  std::map<std::string_view, OfVersion> versions;
  top["sharpds"] = sharpds.size();
  top["sharpds_elsewhere"] = json::array();
  for (const auto& [stream, sharpd] : sharpds) {
    if (sharpd.host == topo::kNone && top["sharpds_elsewhere"].size() < kHostsOfVersionMax)
      top["sharpds_elsewhere"].push_back(sharpd.name);
    if (versions.size() == kVersionsMax && !versions.contains(sharpd.release)) continue;
    auto& of = versions[sharpd.release];
    if (++of.hosts <= kHostsOfVersionMax) of.some.push_back(sharpd.name);
  }
  top["sharpd_versions"] = json::array();
  for (auto& [version, of] : versions)
    top["sharpd_versions"].push_back({{"version", version}, {"hosts", of.hosts}, {"some", std::move(of.some)}});
}

}  // namespace

std::string status_json(const Facts& facts, Time now, std::uint64_t heard, const page::Viewer& viewer) {
  const bool has_tree = !facts.trees.empty() && !facts.trees[0].lost;
  json top{{"tree_id", has_tree ? number_of(facts.trees[0].id) : 0},
           {"root", has_tree ? facts.nodes[facts.trees[0].shape->root].name : ""},
           {"hosts", facts.hosts},
           {"nodes", json::array()},
           {"jobs", json::array()},
           {"messages", heard},
           {"jobs_total", facts.jobs.size()},
           {"waiting_total", facts.waiting.size()}};
  for (std::size_t n = 0; n < facts.nodes.size(); ++n) top["nodes"].push_back(json_of(facts, n));
  add_trees(top, facts);
  for (const auto& job : facts.jobs)
    if (viewer.sees(job.record->uid)) top["jobs"].push_back(json_of(job, now));
  top["waiting"] = json::array();
  for (const auto& one : facts.waiting)
    if (viewer.sees(one.held->begin.uid)) top["waiting"].push_back(json_of(one, now));
  top["reservations"] = json::array();
  for (const auto& one : *facts.kept)
    if (viewer.sees(one.uid))
      top["reservations"].push_back({{"name", one.name}, {"uid", one.uid}, {"osts", one.osts}, {"hosts", one.hosts}});
  add_sharpds(top, *facts.sharpds);
  // A part of what is granted that belongs to no job above, because ranks of ended jobs have not left.
  std::uint32_t osts_leaving = 0;
  for (const auto& job : facts.leaving) osts_leaving += job.record->quota.osts;
  top["osts_leaving"] = osts_leaving;
  top["rules"] = {{"default_quota_percent", facts.rules->quota.default_percent},
                  {"user_jobs_max", facts.rules->user.jobs_max},
                  {"user_share_max_percent", facts.rules->user.share_max_percent},
                  {"reservation_mode", facts.reservations->on()},
                  {"reservations", facts.reservations->count()}};
  // Names come from other processes, and invalid UTF-8 must not throw here.
  return top.dump(2, ' ', false, json::error_handler_t::replace);
}

}  // namespace sumac::manager
