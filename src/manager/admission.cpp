#include "manager/admission.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "manager/saved_tree.hpp"
#include "topo/named_ports.hpp"

namespace sumac::manager {

/// The part of one tree that a job could get.
struct Admission::Choice {
  JobShare share;
  std::vector<std::uint32_t> reserved;
  Capacity capacity;
  Usage used;
};

Result<Job> Admission::admit(const Sharpd& sharpd, const JobBegin& begin) const {
  if (begin.hosts.empty()) return fail(Errc::invalid, "the job names no host");
  if (begin.world_size < begin.hosts.size())
    return fail(Errc::invalid, "{} ranks can't be on {} hosts", begin.world_size, begin.hosts.size());
  // The certificate of a sharpd proves only its host, so a sharpd may not begin jobs of other hosts.
  if (std::ranges::find(begin.hosts, sharpd.name) == begin.hosts.end())
    return fail(Errc::denied, "host {:.64} is none of the job's hosts: a job begins on one of its own", sharpd.name);
  Job job;
  auto& record = job.record;
  record.job_id = begin.job_id;
  record.life = sharpd.life;
  record.ticket = begin.ticket;
  record.uid = begin.uid;
  record.holder = begin.holder.substr(0, 200);
  auto hosts = hosts_of(begin);
  if (!hosts) return tl::unexpected(hosts.error());
  record.hosts = *std::move(hosts);
  auto reservation = reservations_.covering(begin.hosts, begin.uid);
  if (!reservation) return tl::unexpected(reservation.error());
  record.reservation = reservation->empty() ? kept_.covering(begin.hosts, begin.uid) : *std::move(reservation);
  record.outlives_trees = begin.outlives_trees;
  record.devices = begin.devices;
  if (auto given = give_trees(job, begin); !given) return tl::unexpected(given.error());
  if (auto may = check_place(record); !may) return tl::unexpected(may.error());
  return job;
}

Result<> Admission::check_place(const JobRecord& record) const {
  auto whole = record.quota;
  whole.osts *= record.quota.num_trees;
  whole.max_groups *= record.quota.num_trees;
  return check_user(rules_.user, holdings_.user_capacity(), holdings_.of(record.uid), record.uid, whole);
}

Result<> Admission::admit_again(Job& job) const {
  JobBegin begin{.quota = job.record.quota, .devices = job.record.devices};
  for (const auto host : job.record.hosts) begin.hosts.push_back(cluster_.fabric().hosts[host].name);
  Job next = job;
  if (auto given = give_trees(next, begin); !given) return given;
  if (auto may = check_place(next.record); !may) return may;
  job = std::move(next);
  return {};
}

Result<std::vector<std::uint32_t>> Admission::hosts_of(const JobBegin& begin) const {
  std::vector<std::uint32_t> hosts;
  std::set<std::string_view> seen;
  for (const auto& name : begin.hosts) {
    const auto host = cluster_.host_named(name);
    if (!host && rules_.open)
      return fail(Errc::not_found, "host {:.64} has not registered: start its sharpd, or give it --host NAME", name);
    if (!host)
      return fail(Errc::not_found,
                  "host {:.64} is not in the fabric: add it to sharp_am's fabric file, or give its sharpd --host NAME",
                  name);
    if (!seen.insert(name).second) return fail(Errc::invalid, "host {:.64} is named twice", name);
    hosts.push_back(*host);
  }
  return hosts;
}

Error Admission::why_no_tree() const {
  const auto trees = forest_.check();
  if (trees) return {Errc::not_found, "the fabric has no tree"};
  if (trees.error().code == Errc::not_found) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t n = 0; n < cluster_.nodes().size(); ++n) all.push_back(n);
    if (auto who = cluster_.describe_missing(all); !who.empty()) return {Errc::lost, std::move(who)};
    if (all.empty()) return {Errc::lost, "no node has registered: start a sharp_an"};
  }
  return {Errc::not_found, trees.error().context};
}

/// Returns the job's part of one tree, or the reason why it can have none.
Result<Admission::Choice> Admission::choose(std::uint32_t tree, const JobRecord& record, const JobBegin& begin) const {
  const auto& hosts = record.hosts;
  const auto ports = topo::parse_named_ports(begin.devices);
  if (!ports) return tl::unexpected(ports.error());
  const auto& fabric = cluster_.fabric();
  const auto& shape = forest_.trees()[tree].shape;
  if (const auto host = topo::host_without_way(fabric, shape, hosts, *ports))
    return fail(Errc::not_found, "ports {:.200} of host {} reach no tree: name ports that do, or none", begin.devices,
                begin.hosts[*host]);
  std::vector<bool> silent;
  for (const auto& node : cluster_.nodes()) silent.push_back(node.silent);
  // The ranks of a host's several channels are added up at its leaf, even if no other host is there.
  topo::PruneOptions how{.lift = begin.quota.max_group_channels <= 1, .avoid = std::move(silent)};
  auto part = topo::prune(fabric, shape, hosts, how);
  const auto is_crowded = [&](const topo::JobNode& node) {
    return node.children.size() + node.hosts.size() > (fabric.radix != 0 ? fabric.radix : topo::kFlatMax);
  };
  if (part && std::ranges::any_of(part->nodes, is_crowded)) {
    how.lift = false;
    part = topo::prune(fabric, shape, hosts, how);
  }
  if (!part) return tl::unexpected(part.error());
  Choice choice;
  choice.share = share_of(*part, tree, forest_.trees()[tree].id);
  choice.reserved = forest_.reserved_for(choice.share);
  if (auto absent = cluster_.describe_missing(choice.reserved); !absent.empty())
    return tl::unexpected(Error{Errc::lost, std::move(absent)});
  for (const auto n : choice.reserved)
    if (cluster_.node(n).silent)
      return fail(Errc::lost, "node {} is silent, and the hosts have no way around it: {}", cluster_.node(n).name,
                  cluster_.silence_of(forest_.trees(), n));
  std::tie(choice.capacity, choice.used) =
      holdings_.capacity(tree, choice.reserved, kept_.from_others(tree, record.reservation));
  return choice;
}

/// Gives the job as many trees as it asks for, up to all. The least used ones come first, so that jobs spread over
/// roots and links. A refusal names the first obstacle.
Result<> Admission::give_trees(Job& job, const JobBegin& begin) const {
  const auto& asked = begin.quota;
  if (const auto ports = topo::parse_named_ports(begin.devices); !ports) return tl::unexpected(ports.error());
  std::vector<Choice> choices;
  std::optional<Error> why;
  const auto no_trees = forest_.check();
  if (!no_trees && no_trees.error().code == Errc::not_found)
    if (auto first = why_no_tree(); first.code == Errc::lost) why = std::move(first);
  const auto note = [&](Error error) {
    if (!why) why = std::move(error);
  };
  for (std::uint32_t i = 0; i < forest_.size(); ++i) {
    if (forest_.trees()[i].lost) continue;
    if (auto choice = choose(i, job.record, begin))
      choices.push_back(*std::move(choice));
    else
      note(choice.error());
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.used.groups < b.used.groups; });
  std::vector<Choice> taken;
  for (auto& choice : choices) {
    if (taken.size() >= std::max(asked.num_trees, 1u)) break;
    if (auto fits = allocate(rules_.quota, choice.capacity, choice.used, asked); fits)
      taken.push_back(std::move(choice));
    else
      note(fits.error());
  }
  if (taken.empty()) return tl::unexpected(why ? *why : why_no_tree());
  std::sort(taken.begin(), taken.end(), [](const Choice& a, const Choice& b) { return a.share.tree < b.share.tree; });
  // The grant is the same in each tree, so the weakest one limits it.
  Capacity least = taken.front().capacity;
  std::uint32_t osts_free = UINT32_MAX, groups_free = UINT32_MAX;
  for (const auto& one : taken) {
    least.osts = std::min(least.osts, one.capacity.osts);
    least.groups = std::min(least.groups, one.capacity.groups);
    least.payload_max = std::min(least.payload_max, one.capacity.payload_max);
    osts_free = std::min(osts_free, one.capacity.osts - one.used.osts);
    groups_free = std::min(groups_free, one.capacity.groups - one.used.groups);
  }
  const Usage used{least.osts - std::min(osts_free, least.osts), least.groups - std::min(groups_free, least.groups)};
  auto grant = allocate(rules_.quota, least, used, asked);
  if (!grant) return tl::unexpected(grant.error());
  job.record.quota = *grant;
  job.record.quota.num_trees = static_cast<std::uint32_t>(taken.size());
  for (auto& one : taken) {
    job.record.shares.push_back(std::move(one.share));
    job.reserved.push_back(std::move(one.reserved));
  }
  return {};
}

}  // namespace sumac::manager
