#include "manager/job.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "manager/saved_tree.hpp"

namespace sumac::manager {

bool Job::uses(std::size_t node) const {
  return std::ranges::any_of(reserved,
                             [&](const auto& nodes) { return std::ranges::find(nodes, node) != nodes.end(); });
}

void revoke(Step& step, Cluster& cluster, Job& job, const std::string& why) {
  job.wait_for.clear();
  for (std::size_t i = 0; i < job.record.shares.size(); ++i)
    for (const auto n : job.reserved[i]) {
      if (!cluster.is_there(n)) continue;
      cluster.send(step, n, Revoke{job.record.shares[i].tree, job.record.job_id, why});
      if (!cluster.node(n).silent) job.wait_for.push_back({job.record.shares[i].tree, n, cluster.node(n).sent});
    }
}

void to_holder(Step& step, const Cluster& cluster, const JobRecord& record, ForHost message) {
  if (const auto stream = cluster.stream_of(record.life)) step.send(*stream, std::move(message));
}

Grant grant_to(const Job& job, std::size_t share, std::uint32_t node, std::uint32_t links_percent) {
  const auto& part = job.record.shares[share];
  Grant message{.tree = part.tree,
                .job_id = job.record.job_id,
                .quota = job.record.quota,
                .job_key = job.record.job_key,
                .uid = job.record.uid,
                .numbers = part.numbers,
                .below = {},
                .links_percent = links_percent};
  const auto at = std::find(part.nodes.begin(), part.nodes.end(), node);
  if (at == part.nodes.end()) {
    // Above the job's root, all messages of the job come from the node before it on the path to the tree's root.
    const auto& way = job.reserved[share];
    const auto first = way.begin() + static_cast<std::ptrdiff_t>(part.nodes.size());
    const auto above = std::find(first, way.end(), node);
    if (above != way.end()) message.below.push_back(node_id(above == first ? part.nodes.front() : *(above - 1)));
    return message;
  }
  const auto index = static_cast<std::uint32_t>(at - part.nodes.begin());
  for (std::size_t child = 0; child < part.nodes.size(); ++child)
    if (part.parents[child] == index + 1) message.below.push_back(node_id(part.nodes[child]));
  message.ranks_here = std::find(part.leaves.begin(), part.leaves.end(), index) != part.leaves.end();
  return message;
}

JobGranted granted_message(const Job& job, const Cluster& cluster, const Forest& forest) {
  const auto& record = job.record;
  JobGranted message{.ticket = record.ticket,
                     .quota = record.quota,
                     .job_key = record.job_key,
                     .trees = {},
                     .hosts = topo::numbers_of(cluster.fabric(), record.hosts)};
  std::set<std::uint32_t> on_members;
  for (const auto& share : record.shares) {
    auto& tree = message.trees.emplace_back();
    tree.share = share;
    tree.numbers =
        topo::numbers_of(cluster.fabric(), forest.trees()[share.tree].shape, job_tree_of(share, record.hosts));
    for (const auto n : share.nodes) {
      tree.nodes.emplace_back(cluster.node(n).name, forest.part(share.tree, n).address);
      const auto host = cluster.host_named(cluster.fabric().nodes[n].place.at_host);
      if (host && std::ranges::find(record.hosts, *host) != record.hosts.end()) on_members.insert(n);
    }
  }
  message.nodes_on_member_hosts = static_cast<std::uint32_t>(on_members.size());
  return message;
}

std::string missing_for(const Job& job, const Cluster& cluster, const Forest& forest, Duration grant_timeout) {
  if (!job.wait_for.empty()) {
    if (!job.deferred.empty())
      return fmt::format("{}: ranks of a former job still hold them: wait until they end, or ask for less",
                         job.deferred);
    return fmt::format(
        "node {} has not acknowledged the grant in {} ms: is its process stopped, or its machine overloaded?",
        cluster.node(job.wait_for.front().node).name, std::chrono::duration_cast<Millis>(grant_timeout).count());
  }
  for (std::size_t i = 0; i < job.record.shares.size(); ++i) {
    const auto tree = job.record.shares[i].tree;
    for (const auto n : job.reserved[i])
      if (const auto& part = forest.part(tree, n); part.address.empty())
        return fmt::format("node {} does not listen for tree {}: {}", cluster.node(n).name, tree + 1,
                           part.why.empty() ? "it has not reported its address" : part.why);
    for (const auto n : job.reserved[i]) {
      const auto parent = parent_of(forest.trees(), tree, n);
      if (const auto& part = forest.part(tree, n); parent != topo::kNone && !part.link_up)
        return fmt::format("node {} is not connected to its parent {} at {}: {}", cluster.node(n).name,
                           cluster.node(parent).name, forest.part(tree, parent).address, part.link_why);
    }
  }
  return {};
}

bool is_member(const Job& job, const Sharpd& sharpd, const std::optional<Secret>& key) {
  return sharpd.host != topo::kNone && std::ranges::find(job.record.hosts, sharpd.host) != job.record.hosts.end() &&
         key && same_secret(job.record.job_key, *key);
}

void say_released(Step& step, const JobRecord& record, const std::string& why) {
  step.happened(Happened::Kind::job_released, record.job_id, record.uid, "was released: " + why);
  step.say(LogLevel::warn, "JOBS",
           fmt::format("job_id_external: {} job_id_sharp: {} released: {}", record.job_id, record.number, why));
}

void to_hosts(Step& step, const Cluster& cluster, const JobRecord& record, const std::string& but,
              const ForHost& message) {
  std::unordered_set<std::string_view> names;
  for (const auto index : record.hosts) names.insert(cluster.fabric().hosts[index].name);
  names.erase(but);
  for (const auto& [stream, sharpd] : cluster.sharpds())
    if (names.contains(sharpd.name)) step.send(stream, message);
}

void tell_deaths(Step& step, StreamId stream, const Job& job) {
  for (const auto rank : job.deaths) step.send(stream, MemberDeath{job.record.job_id, rank, job.record.job_key});
}

std::optional<JobDaemons> daemons_for(const Job& job, const Sharpd& asking, const Cluster& cluster) {
  JobDaemons answer{job.record.job_id, {}};
  if (asking.life != job.record.life) {
    const auto holder = cluster.stream_of(job.record.life);
    if (!holder) return std::nullopt;
    const auto& began = cluster.sharpds().at(*holder);
    answer.daemons.push_back({"host", began.name, began.inspectable});
    return answer;
  }
  std::unordered_map<std::string_view, const std::string*> addresses;
  for (const auto& [stream, sharpd] : cluster.sharpds()) addresses[sharpd.name] = &sharpd.inspectable;
  for (const auto index : job.record.hosts) {
    const auto& name = cluster.fabric().hosts[index].name;
    const auto found = addresses.find(name);
    answer.daemons.push_back({"host", name, found == addresses.end() ? std::string() : *found->second});
  }
  std::set<std::uint32_t> nodes;
  for (const auto& reserved : job.reserved) nodes.insert(reserved.begin(), reserved.end());
  for (const auto n : nodes)
    if (const auto& node = cluster.node(n); !node.inspectable.empty())
      answer.daemons.push_back({"node", node.name, node.inspectable});
  return answer;
}

}  // namespace sumac::manager
