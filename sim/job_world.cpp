#include "sim/job_world.hpp"

#include "control/quota.hpp"
#include "sim/recovery_seed.hpp"

namespace sumac::sim {
namespace {

constexpr Duration kTickProcessesEvery = Millis(2);
constexpr Duration kWantTreesEvery = Millis(250);
/// A node's machine dies with its process or its tree, and the next one has another place.
constexpr EndId kEnds = 64;
/// The manager waits so long for members that have not left.
constexpr Duration kOverWithin = Seconds(40);

}  // namespace

/// The job's ranks begin once the manager has granted it.
void JobWorld::build_trees() {
  for (EndId i = 0; i < kEnds; ++i) {
    nodes_.push_back(std::make_unique<LastingNode>(network_, i));
    nodes_.back()->is_dead = true;
  }
  const auto described = fabric();
  for (const auto& node : described.nodes) processes_.push_back({.name = node.name});
  for (const auto& host : described.hosts) sharpds_.push_back({.host = host.name});
  start_manager({});
  for (std::uint32_t i = 0; i < processes_.size(); ++i) start_node(i);
  for (std::uint32_t i = 0; i < sharpds_.size(); ++i) start_sharpd(i, {});
  for (const std::uint32_t host : job.host)
    if (std::ranges::find(hosts_, sharpds_[host].host) == hosts_.end()) hosts_.push_back(sharpds_[host].host);
  after(kTickProcessesEvery, [this](Time now) { tick_processes(now); });
  // As `sumac run` does, the job begins when its daemons are up.
  after(Millis(50), [this](Time now) {
    control::v1::JobBegin begin;
    begin.set_job_id(number_of(plan_.base.grant.job_id));
    begin.set_world_size(plan_.ranks());
    for (const auto& host : hosts_) begin.add_hosts(host);
    *begin.mutable_quota() =
        control::quota_message({.osts = plan_.base.grant.quota.osts, .payload_per_ost = 128, .max_groups = 2});
    begin.set_holder("rank 0");
    begin.set_uid(1000);
    begin.set_outlives_trees(true);
    act(job.host[0], sharpds_[job.host[0]].uplink->begin(kTicket, begin, now), now);
  });
  while (generations_.empty() && failure_.empty())
    if (!network_.step() || network_.now() > Time{} + Seconds(20)) fail("the job was not granted");
}

Generation JobWorld::generation_of(const control::v1::GrantedTree& tree) const {
  Generation made{.id = TreeId{tree.tree_id()}};
  std::map<std::uint32_t, EndId> ends;
  for (const auto& node : tree.nodes()) {
    made.nodes.push_back({NodeId{node.node_id()}, NodeId{node.parent_id()}});
    ends[node.node_id()] = end_of_address_.at(node.address());
  }
  for (const std::uint32_t host : job.host) {
    const auto at = std::ranges::find(hosts_, sharpds_[host].host) - hosts_.begin();
    made.leaves.push_back(ends.at(tree.leaves(static_cast<int>(at))));
  }
  return made;
}

void JobWorld::take_grant(const control::v1::JobGranted& granted) {
  if (!generations_.empty()) return;
  auto& grant = job.group.base.grant;
  grant.job_key = *control::key_of(granted.job_key());
  grant.quota = control::quota_of(granted.quota());
  if (granted.trees_size() != 1) return fail(fmt::format("the job has {} trees", granted.trees_size()));
  generations_.push_back(generation_of(granted.trees(0)));
  for (std::uint32_t rank = 0; rank < job.host.size(); ++rank) enter_job(rank, network_.now());
}

void JobWorld::take_trees(std::uint32_t host, const control::v1::JobTrees& word, Time now) {
  const std::uint32_t tree = word.times_again();
  if (word.granted().trees_size() != 1) return fail("the job has other trees, but not one");
  generations_.resize(std::max<std::size_t>(generations_.size(), tree + 1));
  generations_[tree] = generation_of(word.granted().trees(0));
  last_strike_ = std::max(last_strike_, now);
  for (auto& each : members_) {
    LastingMember& member = *each;
    if (job.host[member.rank] != host || member.dies || member.has_ended || member.later.size() > tree) continue;
    note(fmt::format("rank {} hears of tree {} ({})", member.rank, tree, number_of(generations_[tree].id)));
    take_tree(member, tree, now);
    if (const Client& client = *member.later[tree]; nodes_[client.node]->is_dead)
      network_.alarm(soon(Millis(1)), code(node_lost, client.link.value, client.end));
    if (member.group) member.group->lose_tree(now);
    drive(member, now);
  }
}

/// The newest one that the member knows.
std::uint32_t JobWorld::tree_of(const LastingMember& member, TreeId id) const {
  auto tree = static_cast<std::uint32_t>(member.later.size());
  while (tree > 0 && (!member.later[tree - 1] || generations_[tree - 1].id != id)) --tree;
  return tree == 0 ? static_cast<std::uint32_t>(member.later.size()) : tree - 1;
}

void JobWorld::enter_job(std::uint32_t rank, Time now) {
  Sharpd& sharpd = sharpds_[job.host[rank]];
  if (!sharpd.uplink || (!members_.empty() && members_[rank]->dies) || !sharpd.entered.insert(rank).second) return;
  const auto& grant = plan_.base.grant;
  act(job.host[rank], sharpd.uplink->joined(grant.job_id, grant.job_key), now);
  for (const auto& word : sharpd.uplink->deaths_of(grant.job_id)) tell_rank(rank, word);
}

void JobWorld::tell_rank(std::uint32_t rank, const control::v1::RankDied& word) {
  network_.alarm(soon(Micros(300)), code(word_dead, rank, word.world_rank()));
}

/// A rank whose host refuses connections to its port for 1 s counts as dead (`refused_for` of MemberLinks). Where nobody is left
/// who saw the death, the others learn of it so.
void JobWorld::notice_refusals(std::uint32_t dead) {
  for (auto& each : members_) network_.alarm(network_.now() + Seconds(1), code(word_dead, each->rank, dead));
}

/// The sharpd of its host sees it, and the manager tells the others.
void JobWorld::tell_of_death(const LastingMember& dead) {
  const std::uint32_t host = job.host[dead.rank];
  Sharpd& sharpd = sharpds_[host];
  if (!sharpd.uplink) {
    notice_refusals(dead.rank);
    sharpd.has_lost_holder |= dead.rank == 0;
    return;
  }
  const Time now = network_.now();
  // A process closes its sockets before it is gone, so the job's end may come first.
  const bool ends_first = dead.rank == 0 && random_.below(2) == 0;
  if (ends_first) lose_holder(host, now);
  sharpd.entered.erase(dead.rank);
  sharpd.uplink->left(plan_.base.grant.job_id);
  control::v1::RankDied word;
  word.set_job_id(number_of(plan_.base.grant.job_id));
  word.set_world_rank(dead.rank);
  word.set_uid(1000);
  word.set_job_key(plan_.base.grant.job_key.data(), plan_.base.grant.job_key.size());
  word.set_who(fmt::format("rank {}", dead.rank));
  for (const std::uint32_t rank : sharpd.entered) tell_rank(rank, word);
  act(host, sharpd.uplink->rank_died(word, now), now);
  if (dead.rank == 0 && !ends_first) lose_holder(host, now);
}

void JobWorld::lose_holder(std::uint32_t host, Time now) {
  has_ended_job_ = true;
  act(host, sharpds_[host].uplink->drop(kTicket, "rank 0 died", now), now);
}

/// A node drops whoever comes too late for its job or its tree.
void JobWorld::act_on_drops(EndId node) {
  for (const auto& [link, why] : std::exchange(nodes_[node]->drops, {})) {
    note(fmt::format("node {} drops end {}: {}", node, network_.other_end(link, node), why));
    nodes_[node]->engine->on_link_closed(link, network_.now());
    network_.alarm(soon(Millis(1)), code(node_lost, link.value, network_.other_end(link, node)));
  }
}

void JobWorld::do_derived(std::uint32_t which, Time now) { std::exchange(calls_[which], {})(now); }

void JobWorld::tick_processes(Time now) {
  if (manager_ && manager_->next_deadline() <= now) carry_out(manager_->tick(now));
  for (std::uint32_t i = 0; i < sharpds_.size(); ++i)
    if (auto& uplink = sharpds_[i].uplink; uplink && uplink->next_deadline() <= now) act(i, uplink->tick(now), now);
  for (std::uint32_t i = 0; i < processes_.size(); ++i)
    if (processes_[i].is_alive) tick_node(i);
  if (now - asked_for_trees_ >= kWantTreesEvery) {
    asked_for_trees_ = now;
    for (auto& each : members_)
      if (auto& uplink = sharpds_[job.host[each->rank]].uplink;
          uplink && !each->dies && !each->has_ended && each->group && each->group->wants_tree())
        act(job.host[each->rank],
            uplink->want_trees(plan_.base.grant.job_id, plan_.base.grant.job_key,
                               static_cast<std::uint32_t>(std::max<std::size_t>(each->later.size(), 1)) - 1),
            now);
  }
  if (!members_.empty() && std::ranges::all_of(members_, [](const auto& each) { return each->has_stood; }))
    if (!std::exchange(kills_have_begun_, true)) begin_kills(now);
  after(kTickProcessesEvery, [this](Time then) { tick_processes(then); });
}

void JobWorld::begin_kills(Time now) {
  last_strike_ = now;
  for (const Kill& each : job.kills) after(each.after, [this, each](Time then) { kill(each, then); });
}

void JobWorld::kill(const Kill& what, Time now) {
  last_strike_ = now;
  switch (what.whom) {
    case Kill::Whom::node:
      if (!processes_[what.target].is_alive) return;
      kill_process(what.target);
      if (!what.stays_away) after(what.away, [this, what](Time) { start_node(what.target); });
      return;
    case Kill::Whom::manager:
      if (!manager_) return;
      kill_manager(now);
      return after(what.away, [this](Time then) { start_manager(then); });
    case Kill::Whom::sharpd:
      if (!sharpds_[what.target].uplink) return;
      kill_sharpd(what.target);
      return after(what.away, [this, what](Time then) { start_sharpd(what.target, then); });
    case Kill::Whom::rank: return strike_rank(*members_[what.target], Strike::What::kill_rank, now);
  }
}

/// Returns whether nothing of the job is left at the processes that live, or else what is.
bool JobWorld::is_over(std::string& what) const {
  what.clear();
  if (!manager_) what = "the manager is away";
  if (!journal_.state.jobs.empty()) what = "the manager has the job";
  for (const auto& process : processes_)
    for (const auto& [tree, part] : process.parts)
      if (process.is_alive && part.end && !nodes_[*part.end]->engine->jobs().empty())
        what = fmt::format("node {} has the job", process.name);
  return what.empty();
}

void JobWorld::end_job() {
  const Time until = network_.now() + kOverWithin;
  std::string what;
  Sharpd& sharpd = sharpds_[job.host[0]];
  while (network_.now() < until && network_.step()) {
    if (!has_ended_job_ && sharpd.uplink) {
      has_ended_job_ = true;
      act(job.host[0], sharpd.uplink->end(kTicket, network_.now()), network_.now());
    }
    if (has_ended_job_ && is_over(what)) return;
  }
  fail(fmt::format("after the job's end {}", what));
}

Report run_job_seed(std::uint64_t seed, int verbose) {
  JobWorld world(make_job_plan(seed), verbose);
  Report report = world.run();
  report.seed = seed;  // The group's plan has another one.
  return report;
}

}  // namespace sumac::sim
