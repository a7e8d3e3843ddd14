// Jobs: admission, the grant's path to the nodes and back, the leases that sharpds renew, and the end.
#include <algorithm>
#include <set>
#include <utility>

#include "control/command_line.hpp"
#include "manager/core.hpp"
#include "manager/core_messages.hpp"
#include "manager/saved_tree.hpp"
#include "topo/job_numbers.hpp"
#include "topo/named_ports.hpp"
#include "wire/host.hpp"

namespace sumac::manager {

const Sharpd* Manager::host_of(ActionList& out, StreamId stream) const {
  const auto found = sharpds_.find(stream);
  if (found != sharpds_.end()) return &found->second;
  out.push_back(Refuse{stream, Error{Errc::invalid, "a sharpd must register before it sends anything else"}});
  return nullptr;
}

void Manager::to_holder(ActionList& out, const Job& job, ForHost message) const {
  // A sharpd that is away gets the answer when it comes back: it asks again, or learns that its ticket is gone.
  if (const auto stream = stream_of_life_.find(job.record.life); stream != stream_of_life_.end())
    out.push_back(SendToHost{stream->second, std::move(message)});
}

void Manager::place_hosts(ActionList& out) {
  for (auto& [stream, host] : sharpds_) {
    const auto known = host_by_name_.find(host.name);
    host.host = known == host_by_name_.end() ? topo::kNone : known->second;
    const bool elsewhere = host.host == topo::kNone;
    if (std::exchange(host.told_elsewhere, elsewhere) != elsewhere)
      out.push_back(SendToHost{stream, HostPlace{!elsewhere}});
  }
}

ActionList Manager::host_registers(StreamId stream, const HostRegister& who, Time now) {
  now_ = now;
  ActionList out;
  if (who.version != control::kControlVersion || who.life == 0) {
    const auto why = fmt::format(
        "sharpd of host {:.64} speaks version {} of the control messages, the manager {}: "
        "install the same version everywhere",
        who.host, who.version, control::kControlVersion);
    out.push_back(Say{LogLevel::error, "GENERAL", why});
    out.push_back(Refuse{stream, Error{Errc::unsupported, why}});
    return out;
  }
  if (sharpds_.contains(stream)) {
    out.push_back(Refuse{stream, Error{Errc::invalid, "registered twice on one stream"}});
    return out;
  }
  if (const auto old = stream_of_life_.find(who.life); old != stream_of_life_.end()) {
    if (const auto& name = sharpds_.at(old->second).name; name != who.host) {
      const auto why = fmt::format("host {:.64} says it is the process that host {:.64} runs", who.host, name);
      out.push_back(Say{LogLevel::error, "GENERAL", why});
      out.push_back(Refuse{stream, Error{Errc::denied, why}});
      return out;
    }
    sharpds_.erase(old->second);
    out.push_back(Refuse{old->second, Error{Errc::lost, "the same sharpd has come back on another connection"}});
  }
  ++sharpds_version_;
  happened(out, Happened::Kind::host_registered, fmt::format("host {:.200}", who.host), "registered");
  for (const auto& [other, host] : sharpds_)
    if (host.name == who.host.substr(0, 200))
      out.push_back(Say{LogLevel::warn, "GENERAL",
                        fmt::format("host {:.64} has two sharpds, pid {} and pid {}: give each its own --host NAME, "
                                    "unless the machine of the first has just been started again",
                                    host.name, host.pid, who.pid)});
  sharpds_[stream] = Sharpd{who.host.substr(0, 200), who.life, who.release.substr(0, kReleaseMax), who.pid};
  stream_of_life_[who.life] = stream;
  if (rules_.open && who.host.size() < wire::kHostNameMax && !host_by_name_.contains(who.host)) {
    add_open_host(who.host);
    follow(out, fmt::format("host {} has come", who.host));
  } else if (!host_by_name_.contains(who.host))
    out.push_back(
        Say{LogLevel::warn, "GENERAL",
            fmt::format("sharpd pid {} calls its host {:.64}, which is not in the fabric: add it to the fabric "
                        "file, or give that sharpd --host NAME",
                        who.pid, who.host)});

  std::set<std::pair<std::uint64_t, JobId>> named;  // Pairs of the tickets and job ids that the sharpd named.
  HostRegistered registered{
      .lease_ms = static_cast<std::uint32_t>(std::chrono::duration_cast<Millis>(rules_.lease).count()),
      .renew_ms = static_cast<std::uint32_t>(std::chrono::duration_cast<Millis>(rules_.renew_every).count()),
      .gone = {}};
  for (const auto& held : who.jobs) {
    named.emplace(held.ticket, held.job_id);
    const auto known = by_ticket_.find({who.life, held.ticket});
    if (known != by_ticket_.end() && known->second == held.job_id)
      jobs_.at(known->second).lease_until = now + rules_.lease;
    else if (held.granted && !resume(out, who.life, held.ticket, now))
      registered.gone.push_back(held.ticket);
  }
  std::vector<JobId> over;
  for (auto at = by_ticket_.lower_bound({who.life, 0}); at != by_ticket_.end() && at->first.first == who.life; ++at)
    if (!named.contains({at->first.second, at->second})) over.push_back(at->second);
  out.push_back(SendToHost{stream, std::move(registered)});
  place_hosts(out);
  for (const auto id : over) release(out, jobs_.find(id), "it ended while its sharpd could not say so");
  return out;
}

ActionList Manager::host_renews(StreamId stream, const Renew& renew, Time now) {
  now_ = now;
  ActionList out;
  const Sharpd* host = host_of(out, stream);
  if (host == nullptr) return out;
  for (const auto ticket : renew.tickets)
    if (const auto known = by_ticket_.find({host->life, ticket}); known != by_ticket_.end())
      jobs_.at(known->second).lease_until = now + rules_.lease;
    else
      resume(out, host->life, ticket, now);
  return out;
}

ActionList Manager::host_stream_ended(StreamId stream, Time now) {
  ActionList out;
  const auto found = sharpds_.find(stream);
  if (found == sharpds_.end()) return out;
  const auto life = found->second.life;
  std::string running;
  for (auto at = by_ticket_.lower_bound({life, 0}); at != by_ticket_.end() && at->first.first == life; ++at)
    running += fmt::format(" {}", at->second);
  if (!running.empty())
    out.push_back(Say{LogLevel::info, "JOBS",
                      fmt::format("sharpd of {} is not connected: its jobs live until their leases end:{}",
                                  found->second.name, running)});
  stream_of_life_.erase(life);
  ++sharpds_version_;
  now_ = now;
  happened(out, Happened::Kind::host_lost, "host " + found->second.name, "is not connected: its sharpd's stream ended");
  std::erase_if(
      held_, [&](const HeldBegin& held) { return held.stream == stream; });  // Its sharpd asks again when it is back.
  sharpds_.erase(found);
  return out;
}

Result<Manager::Job> Manager::admit(const Sharpd& host, const JobBegin& begin) const {
  const JobId id = begin.job_id;
  if (const auto old = jobs_.find(id); old != jobs_.end()) {
    // A user does not learn the holder and host of another user's job.
    const bool own = begin.uid == old->second.record.uid;
    return fail(Errc::exists, "job id {} is running already (begun by {}): choose another", id,
                own ? old->second.record.holder : "another user");
  }
  if (std::ranges::any_of(leaving_, [&](const LeavingJob& old) { return old.job.record.job_id == id; }))
    return fail(Errc::exhausted, "job id {} has just ended, and its ranks have not left: choose another", id);
  if (begin.hosts.empty()) return fail(Errc::invalid, "the job names no host");
  if (begin.world_size < begin.hosts.size())
    return fail(Errc::invalid, "{} ranks can't be on {} hosts", begin.world_size, begin.hosts.size());
  // The certificate of a sharpd proves only its host, so a sharpd may not begin jobs of other hosts.
  if (std::ranges::find(begin.hosts, host.name) == begin.hosts.end())
    return fail(Errc::denied, "host {:.64} is none of the job's hosts: a job begins on one of its own", host.name);
  Job job;
  auto& record = job.record;
  record.job_id = id;
  record.life = host.life;
  record.ticket = begin.ticket;
  record.uid = begin.uid;
  record.holder = begin.holder.substr(0, 200);
  auto hosts = hosts_of(begin);
  if (!hosts) return tl::unexpected(hosts.error());
  record.hosts = *std::move(hosts);
  auto reservation = reservations_.covering(begin.hosts, begin.uid);
  if (!reservation) return tl::unexpected(reservation.error());
  record.reservation = *std::move(reservation);
  if (auto given = give_trees(job, begin); !given) return tl::unexpected(given.error());
  auto whole = record.quota;
  whole.osts *= record.quota.num_trees;
  whole.max_groups *= record.quota.num_trees;
  const auto user = users_.find(begin.uid);
  if (auto may =
          check_user(rules_.user, user_capacity(), user == users_.end() ? UserUsage{} : user->second, begin.uid, whole);
      !may)
    return tl::unexpected(may.error());
  return job;
}

Result<std::vector<std::uint32_t>> Manager::hosts_of(const JobBegin& begin) const {
  std::vector<std::uint32_t> hosts;
  std::set<std::string_view> seen;
  for (const auto& name : begin.hosts) {
    const auto host = host_by_name_.find(name);
    if (host == host_by_name_.end() && rules_.open)
      return fail(Errc::not_found, "host {:.64} has not registered: start its sharpd, or give it --host NAME", name);
    if (host == host_by_name_.end())
      return fail(Errc::not_found,
                  "host {:.64} is not in the fabric: add it to sharp_am's fabric file, or give its sharpd --host NAME",
                  name);
    if (!seen.insert(name).second) return fail(Errc::invalid, "host {:.64} is named twice", name);
    hosts.push_back(host->second);
  }
  return hosts;
}

/// Gives the job as many trees as it asks for, up to all. The least used ones come first, so that jobs spread over
/// roots and links.
Result<> Manager::give_trees(Job& job, const JobBegin& begin) const {
  const auto asked = begin.quota;
  struct Choice {
    JobShare share;
    topo::JobTree tree;
    std::vector<std::uint32_t> reserved;
    Capacity capacity;
    Usage used;
  };
  const auto ports = topo::parse_named_ports(begin.devices);
  if (!ports) return tl::unexpected(ports.error());
  std::vector<Choice> choices;
  Error why{Errc::not_found, no_trees_.code == Errc::ok ? "the fabric has no tree" : no_trees_.context};
  bool has_why = false;
  const auto note = [&](Error error) {
    if (!std::exchange(has_why, true)) why = std::move(error);
  };
  if (no_trees_.code == Errc::not_found) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) all.push_back(n);
    if (auto who = describe_missing(all); !who.empty()) note({Errc::lost, std::move(who)});
    if (nodes_.empty()) note({Errc::lost, "no node has registered: start a sharp_an"});
  }
  std::vector<bool> silent;
  for (const auto& node : nodes_) silent.push_back(node.silent);
  for (std::uint32_t i = 0; i < trees_.size(); ++i) {
    if (trees_[i].lost) continue;
    if (const auto host = topo::host_without_way(fabric_, trees_[i].shape, job.record.hosts, *ports)) {
      note({Errc::not_found, fmt::format("ports {:.200} of host {} reach no tree: name ports that do, or none",
                                         begin.devices, begin.hosts[*host])});
      continue;
    }
    // The ranks of a host's several channels are added up at its leaf, even if no other host is there.
    topo::PruneOptions how{.lift = asked.max_group_channels <= 1, .avoid = silent};
    auto part = topo::prune(fabric_, trees_[i].shape, job.record.hosts, how);
    const auto is_crowded = [&](const topo::JobNode& node) {
      return node.children.size() + node.hosts.size() > (fabric_.radix != 0 ? fabric_.radix : topo::kFlatMax);
    };
    if (part && std::any_of(part->nodes.begin(), part->nodes.end(), is_crowded)) {
      how.lift = false;
      part = topo::prune(fabric_, trees_[i].shape, job.record.hosts, how);
    }
    if (!part) {
      note({part.error().code, part.error().context});
      continue;
    }
    Choice choice;
    choice.share = share_of(*part, i, trees_[i].id);
    choice.tree = *std::move(part);
    choice.reserved = reserved_for(choice.share);
    if (auto absent = describe_missing(choice.reserved); !absent.empty()) {
      note({Errc::lost, std::move(absent)});
      continue;
    }
    if (const auto at = std::ranges::find_if(choice.reserved, [&](auto n) { return nodes_[n].silent; });
        at != choice.reserved.end()) {
      note({Errc::lost, fmt::format("node {} is silent, and the hosts have no way around it: {}", nodes_[*at].name,
                                    who_hears_nothing_of(nodes_[*at]))});
      continue;
    }
    std::tie(choice.capacity, choice.used) = capacity(i, choice.reserved);
    choices.push_back(std::move(choice));
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
  if (taken.empty()) return tl::unexpected(why);
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
    job.trees.push_back(std::move(one.tree));
    job.reserved.push_back(std::move(one.reserved));
  }
  return {};
}

ActionList Manager::job_begins(StreamId stream, const JobBegin& begin, Time now) {
  now_ = now;
  ActionList out;
  const Sharpd* host = host_of(out, stream);
  if (host == nullptr) return out;
  if (const auto known = by_ticket_.find({host->life, begin.ticket}); known != by_ticket_.end()) {
    // This begin is repeated, because its sharpd or this manager was away. A job that is still beginning gets its
    // answer with the grant.
    auto& job = jobs_.at(known->second);
    job.lease_until = now + rules_.lease;
    if (!job.granted) return out;
    to_holder(out, job, granted_message(job));
    return out;
  }
  const auto& asked = begin.quota;
  out.push_back(
      Say{LogLevel::info, "JOBS",
          fmt::format(
              "begin job: job_id_external: {} requested qps: {} user_data_per_ost: {} osts: {} groups: {} trees: {} "
              "req_feature_mask: {:#x} hosts: {} ranks: {} by {:.200}",
              begin.job_id, asked.max_qps, asked.payload_per_ost, asked.osts, asked.max_groups, asked.num_trees,
              asked.features, begin.hosts.size(), begin.world_size, begin.holder),
          refused_.contains(begin.uid) ? fmt::format("begin {}", begin.uid) : std::string()});
  if (now < settled_at_ && !missing_nodes().empty())
    held_.push_back({stream, begin, settled_at_, true});
  else
    begin_on(out, stream, *host, begin, now, now + rules_.grant_timeout);
  return out;
}

void Manager::retry_held(ActionList& out, Time now) {
  if (held_.empty() || (now < settled_at_ && !missing_nodes().empty())) return;
  for (const auto& held : std::exchange(held_, {}))
    if (const auto host = sharpds_.find(held.stream); host != sharpds_.end())
      begin_on(out, held.stream, host->second, held.begin, now,
               held.for_nodes ? now + rules_.grant_timeout : held.until);
}

/// Until the time `patience` the begin may wait for resources that members of ended jobs still hold.
void Manager::begin_on(ActionList& out, StreamId stream, const Sharpd& host, const JobBegin& begin, Time now,
                       Time patience) {
  build_if_nobody_runs(out);
  auto admitted = admit(host, begin);
  const auto numbered = admitted ? give_group_numbers(*admitted) : Result<>{};
  if (!admitted || !numbered) {
    const Error& why = admitted ? numbered.error() : admitted.error();
    if (why.code != Errc::exhausted || leaving_.empty())
      refuse_job(out, stream, begin, why.context);
    else if (now >= patience)
      refuse_job(out, stream, begin, why.context + describe_leaving());
    else
      held_.push_back({stream, begin, patience, false});
    return;
  }
  auto key = rules_.draw_secret();
  if (!key) {
    refuse_job(out, stream, begin, fmt::format("the manager can't draw a key: {}", key.error().context));
    return;
  }
  if (jobs_.empty()) looked_ = now;
  Job& job = jobs_[begin.job_id] = *std::move(admitted);
  auto& record = job.record;
  record.number = ++last_number_;
  record.job_key = *key;
  job.begin = begin;
  job.begun = now;
  job.deadline = deadline_after(now, rules_.grant_timeout);
  job.lease_until = now + rules_.lease;
  by_ticket_[{record.life, record.ticket}] = record.job_id;
  use(job, true);
  for (std::size_t i = 0; i < record.shares.size(); ++i)
    for (const auto n : job.reserved[i]) {
      send(out, nodes_[n], grant_to(job, i, n));
      job.wait_for.push_back({record.shares[i].tree, n, nodes_[n].sent});
    }
  std::string ids;
  for (const auto& share : record.shares) ids += fmt::format("{}{}", ids.empty() ? "" : ",", share.id);
  out.push_back(Say{
      LogLevel::info, "JOBS",
      fmt::format("job_id_external: {} reservation_key: {} job_id_sharp: {} allocation: {{ q:{}, ud:{} o:{} g:{} }} "
                  "w:{} tree_id: {}",
                  record.job_id, record.reservation.empty() ? "none" : record.reservation, record.number,
                  record.quota.max_qps, record.quota.payload_per_ost, record.quota.osts, record.quota.max_groups,
                  record.quota.stream_window, ids)});
}

void Manager::refuse_job(ActionList& out, StreamId stream, const JobBegin& begin, const std::string& text) {
  ++counts_.jobs_refused;
  happened(out, Happened::Kind::job_refused, begin.job_id, begin.uid, "was refused: " + text);
  out.push_back(Say{LogLevel::error, "JOBS",
                    fmt::format("Begin job id: {} failed with status: No resource: {}", begin.job_id, text),
                    fmt::format("refused {}", begin.uid)});
  if (refused_.size() < kRefusedMax) refused_.insert(begin.uid);
  out.push_back(SendToHost{stream, JobRefused{kStatusJobError, text, begin.ticket}});
}

void Manager::fail_begin(ActionList& out, Jobs::iterator at, const std::string& why) {
  const auto record = at->second.record;
  if (const auto stream = stream_of_life_.find(record.life); stream != stream_of_life_.end()) {
    JobBegin begin;
    begin.job_id = record.job_id;
    begin.ticket = record.ticket;
    begin.uid = record.uid;
    refuse_job(out, stream->second, begin, why);
  }
  drop(out, at, why);
}

void Manager::tell_ended(ActionList& out, const Job& job, const std::string& why) const {
  to_holder(out, job, JobEnded{why, job.record.ticket});
}

void Manager::note_release(ActionList& out, const JobRecord& record, const std::string& why) {
  ++counts_.jobs_released;
  happened(out, Happened::Kind::job_released, record.job_id, record.uid, "was released: " + why);
  out.push_back(
      Say{LogLevel::warn, "JOBS",
          fmt::format("job_id_external: {} job_id_sharp: {} released: {}", record.job_id, record.number, why)});
}

void Manager::release(ActionList& out, Jobs::iterator at, const std::string& why) {
  const auto& record = at->second.record;
  note_release(out, record, why);
  tell_ended(out, at->second, why);
  drop(out, at, why);
}

std::string Manager::missing_for(const Job& job) const {
  if (!job.wait_for.empty()) {
    if (!job.deferred.empty())
      return fmt::format("{}: ranks of a former job still hold them: wait until they end, or ask for less",
                         job.deferred);
    return fmt::format(
        "node {} has not acknowledged the grant in {} ms: is its process stopped, or its machine overloaded?",
        nodes_[job.wait_for.front().node].name, std::chrono::duration_cast<Millis>(rules_.grant_timeout).count());
  }
  for (std::size_t i = 0; i < job.record.shares.size(); ++i) {
    const auto tree = job.record.shares[i].tree;
    for (const auto n : job.reserved[i]) {
      const auto& node = nodes_[n];
      const auto& part = node.parts[tree];
      if (part.address.empty())
        return fmt::format("node {} does not listen for tree {}: {}", node.name, tree + 1,
                           part.why.empty() ? "it has not reported its address" : part.why);
    }
    for (const auto n : job.reserved[i]) {
      const auto& node = nodes_[n];
      const auto& part = node.parts[tree];
      const auto parent = parent_of(tree, n);
      if (parent != topo::kNone && !part.link_up)
        return fmt::format("node {} is not connected to its parent {} at {}: {}", node.name, nodes_[parent].name,
                           nodes_[parent].parts[tree].address, part.link_why);
    }
  }
  return {};
}

void Manager::finish_ready(ActionList& out) {
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const auto job = at++;  // The call below may erase this job.
    finish_if_ready(out, job);
  }
}

void Manager::finish_if_ready(ActionList& out, Jobs::iterator at) {
  auto& job = at->second;
  if (job.granted || !missing_for(job).empty()) return;
  if (auto kept = keep_job(job); !kept) {
    fail_begin(out, at, fmt::format("the manager cannot save the grant: {}", kept.error().context));
    return;
  }
  job.granted = true;
  refused_.erase(job.record.uid);
  job.begin = {};
  ++counts_.jobs_granted;
  happened(
      out, Happened::Kind::job_granted, job.record.job_id, job.record.uid,
      fmt::format("runs on {} host{} with {} OST{} and {} group{}", job.record.hosts.size(),
                  job.record.hosts.size() == 1 ? "" : "s", job.record.quota.osts, job.record.quota.osts == 1 ? "" : "s",
                  job.record.quota.max_groups, job.record.quota.max_groups == 1 ? "" : "s"));
  std::set<std::uint32_t> nodes;
  for (const auto& share : job.record.shares) nodes.insert(share.nodes.begin(), share.nodes.end());
  to_holder(out, job, granted_message(job));
  out.push_back(Say{LogLevel::info, "JOBS",
                    fmt::format("job_id_external: {} job_id_sharp: {} runs on {} nodes", at->first, job.record.number,
                                nodes.size())});
}

JobGranted Manager::granted_message(const Job& job) const {
  const auto& record = job.record;
  JobGranted message{.ticket = record.ticket,
                     .quota = record.quota,
                     .job_key = record.job_key,
                     .trees = {},
                     .hosts = topo::numbers_of(fabric_, record.hosts)};
  std::set<std::uint32_t> on_members;
  for (std::size_t i = 0; i < record.shares.size(); ++i) {
    const auto& share = record.shares[i];
    auto& tree = message.trees.emplace_back();
    tree.share = share;
    tree.numbers = topo::numbers_of(fabric_, trees_[share.tree].shape, job.trees[i]);
    for (const auto n : share.nodes) {
      tree.nodes.emplace_back(nodes_[n].name, nodes_[n].parts[share.tree].address);
      const auto on = host_by_name_.find(fabric_.nodes[n].place.at_host);
      if (on != host_by_name_.end() &&
          std::find(record.hosts.begin(), record.hosts.end(), on->second) != record.hosts.end())
        on_members.insert(n);
    }
  }
  message.nodes_on_member_hosts = static_cast<std::uint32_t>(on_members.size());
  return message;
}

ActionList Manager::job_ends(StreamId stream, const JobEnd& end, Time now) {
  now_ = now;
  ActionList out;
  const Sharpd* host = host_of(out, stream);
  if (host == nullptr) return out;
  out.push_back(SendToHost{
      stream, JobEnded{"ended by its owner", end.ticket}});  // The answer is sent for a job that is already over, too.
  std::erase_if(held_, [&](const HeldBegin& held) { return held.stream == stream && held.begin.ticket == end.ticket; });
  const auto known = by_ticket_.find({host->life, end.ticket});
  if (known == by_ticket_.end() || known->second != end.job_id) return out;
  const auto at = jobs_.find(known->second);
  const auto record = at->second.record;
  happened(out, end.why.empty() ? Happened::Kind::job_ended : Happened::Kind::job_released, record.job_id, record.uid,
           end.why.empty()
               ? std::string("has ended")
               : fmt::format("was released: {} is gone without ending it: {:.200}", record.holder, end.why));
  drop(out, at, end.why.empty() ? "the job ended" : "the job's owner is gone");
  if (end.why.empty())
    out.push_back(Say{LogLevel::info, "JOBS",
                      fmt::format("end job: job_id_external: {} job_id_sharp: {}", record.job_id, record.number)});
  else
    out.push_back(
        Say{LogLevel::warn, "JOBS",
            fmt::format("job_id_external: {} job_id_sharp: {} released: {} is gone without ending it: {:.200}",
                        record.job_id, record.number, record.holder, end.why)});
  return out;
}

}  // namespace sumac::manager
