#include "manager/manager.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace sumac::manager {

Manager::Manager(topo::Fabric fabric, Rules rules, Journal& journal)
    : rules_(std::move(rules)),
      cluster_(std::move(fabric), rules_),
      forest_(cluster_, journal),
      holdings_(cluster_, forest_),
      kept_(cluster_, forest_, holdings_, journal),
      ledger_(cluster_, forest_, holdings_, kept_, journal, rules_, reservations_) {}

std::vector<Action> Manager::restore(const SavedState& saved, Time now) {
  Step step{now};
  const bool is_first = saved.fabric.empty();  // This is the manager's first life.
  kept_.restore(saved.kept);
  ledger_.start(saved.last_number, is_first, now);
  cluster_.expect_nodes(now);
  if (is_first) return std::move(step.actions);
  if (rules_.open && cluster_.fabric().nodes.empty() && cluster_.fabric().hosts.empty()) {
    cluster_.restore_open_fabric(saved.fabric);
    forest_.note_fabric();
  }
  const bool has_jobs = !saved.jobs.empty();
  const bool same_fabric = saved.fabric == forest_.fabric_text();
  if (!same_fabric || !forest_.restore(saved.trees, has_jobs)) {
    ledger_.forget(
        step, saved.jobs,
        same_fabric ? "its tree in the state file does not fit the fabric" : "the fabric has changed since it began");
    forest_.keep(step);
    return std::move(step.actions);
  }
  // A node that is in no tree was down when the journal was written.
  for (std::size_t n = 0; n < cluster_.nodes().size() && has_jobs; ++n)
    if (!forest_.has_node(n)) cluster_.do_without(n);
  ledger_.restore(step, saved);
  cluster_.expect_nodes(now);
  forest_.keep(step);
  const auto facts = this->facts();
  step.say(LogLevel::info, "GENERAL",
           fmt::format("restarted: tree {:#x} and {} jobs are known; their sharpds have {} ms to renew them",
                       facts.trees.empty() ? TreeId{} : facts.trees[0].id, facts.jobs.size(),
                       std::chrono::duration_cast<Millis>(rules_.lease).count()));
  return std::move(step.actions);
}

void Manager::set_rules(const Rules& rules) {
  rules_.quota = rules.quota;
  rules_.user = rules.user;
  rules_.grant_timeout = rules.grant_timeout;
  rules_.trees_again_max = rules.trees_again_max;
}

Result<> Manager::reserve(const KeptOsts& osts) {
  if (reservations_.on())
    return fail(Errc::denied, "sharp_am has a file of reservations: add hosts and user there, or take the file away");
  return kept_.reserve(osts);
}

Result<std::vector<Action>> Manager::release(const std::string& name, Time now) {
  if (auto done = kept_.release(name); !done) return tl::unexpected(done.error());
  Step step{now};
  retry_held(step);
  return std::move(step.actions);
}

std::vector<Action> Manager::fabric_changes(const topo::Fabric& described, Time now) {
  Step step{now};
  cluster_.become(described);
  cluster_.place_hosts(step);
  cluster_.expect_nodes(now);
  step.happened(Happened::Kind::fabric_changed, "fabric " + cluster_.fabric().name, "was read again");
  follow(step, "the fabric's description has changed");
  return std::move(step.actions);
}

// ---- sharpds

std::vector<Action> Manager::host_says(StreamId stream, const FromHost& word, Time now) {
  Step step{now};
  if (const auto* who = std::get_if<HostRegister>(&word)) {
    host_registers(step, stream, *who);
    return std::move(step.actions);
  }
  if (const auto* at = std::get_if<Inspectable>(&word)) {
    cluster_.note_inspectable(stream, at->address);
    return std::move(step.actions);
  }
  const Sharpd* sharpd = cluster_.sharpd_of(step, stream);
  if (sharpd == nullptr) return std::move(step.actions);
  std::visit(overloaded{
                 [&](const JobBegin& job) {
                   if (ledger_.accepts(step, stream, *sharpd, job))
                     begin(step, *sharpd, fresh(stream, job, now, rules_));
                 },
                 [&](const JobEnd& end) { ledger_.job_ends(step, stream, *sharpd, end); },
                 [&](const Renew& renew) { ledger_.host_renews(step, *sharpd, renew); },
                 [&](const RankDied& died) { ledger_.rank_died(step, *sharpd, died); },
                 [&](const JobDaemonsAsked& asked) { job_daemons(step, stream, *sharpd, asked); },
                 [&](const TreesWanted& wanted) {
                   ledger_.trees_wanted(step, *sharpd, wanted);
                   ledger_.give_again(step);
                 },
                 [](const HostRegister&) {},
                 [](const Inspectable&) {},
             },
             word);
  return std::move(step.actions);
}

void Manager::host_registers(Step& step, StreamId stream, const HostRegister& who) {
  const auto has_grown = cluster_.host_comes(step, stream, who);
  if (!has_grown) return;
  if (*has_grown) follow(step, fmt::format("host {} has come", who.host));
  ledger_.host_comes(step, stream, who);
}

/// Answers a host of the job that has the job's key, and nobody else.
void Manager::job_daemons(Step& step, StreamId stream, const Sharpd& sharpd, const JobDaemonsAsked& asked) const {
  const Job* job = ledger_.granted(asked.job_id);
  if (job == nullptr || !is_member(*job, sharpd, asked.job_key)) return;
  if (auto answer = daemons_for(*job, sharpd, cluster_)) step.send(stream, *std::move(answer));
}

std::vector<Action> Manager::host_stream_ended(StreamId stream, Time now) {
  Step step{now};
  const auto found = cluster_.sharpds().find(stream);
  if (found == cluster_.sharpds().end()) return std::move(step.actions);
  ledger_.host_leaves(step, stream, found->second);
  step.happened(Happened::Kind::host_lost, "host " + found->second.name, "is not connected: its sharpd's stream ended");
  cluster_.host_leaves(stream);
  return std::move(step.actions);
}

void Manager::begin(Step& step, const Sharpd& sharpd, const HeldBegin& held) {
  build_if_nobody_runs(step);
  ledger_.begin(step, sharpd, held);
}

void Manager::retry_held(Step& step, bool is_tick) {
  for (const auto& held : ledger_.take_held(step.now, is_tick))
    if (const auto sharpd = cluster_.sharpds().find(held.stream); sharpd != cluster_.sharpds().end())
      begin(step, sharpd->second, held);
  ledger_.give_again(step);
}

// ---- the fabric

void Manager::follow(Step& step, const std::string& why) {
  const auto change = forest_.follow(ledger_.nobody_runs());
  ledger_.lose_jobs(step, change, why);
  forest_.describe_change(step, change.before, why, !ledger_.nobody_runs());
  for (const auto& news : forest_.adopt(change.before)) {
    if (news.part) {
      ledger_.stop_waiting(news.tree, news.node);
      send_part(step, news.tree, news.node);
    }
    if (news.parent) forest_.send_parent(step, news.tree, news.node);
  }
  ledger_.erase_left(step);
  ledger_.set_ways_up(step);
  forest_.keep(step);
  ledger_.finish_ready(step);
  ledger_.give_again(step);
}

void Manager::build_if_nobody_runs(Step& step) {
  if (forest_.is_patched() && ledger_.nobody_runs()) follow(step, "nobody runs");
}

void Manager::give_up_absent(Step& step) {
  const auto gone = cluster_.give_up_absent(step.now);
  if (gone.empty()) return;
  const bool one = gone.size() == 1;
  const auto who = fmt::format("node{} {}", one ? "" : "s", fmt::format("{}", fmt::join(gone, ", ")).substr(0, 300));
  const auto why = fmt::format("{} {} away", who, one ? "stays" : "stay");
  step.say(LogLevel::warn, "GENERAL", fmt::format("{}: the trees go on without", why));
  step.happened(Happened::Kind::node_lost, who,
                one ? "stays away: the trees go on without it" : "stay away: the trees go on without them");
  follow(step, why);
}

// ---- time

std::vector<Action> Manager::tick(Time now) {
  Step step{now};
  ledger_.tick(step);
  give_up_absent(step);
  for (std::size_t n = 0; n < cluster_.nodes().size(); ++n)
    if (cluster_.node(n).silent) judge(step, n);
  ledger_.erase_left(step);
  build_if_nobody_runs(step);
  retry_held(step, true);
  return std::move(step.actions);
}

Facts Manager::facts() const {
  Facts facts{.rules = &rules_, .reservations = &reservations_};
  cluster_.describe(facts);
  forest_.describe(facts);
  ledger_.describe(facts);
  facts.kept = &kept_.all();
  return facts;
}

}  // namespace sumac::manager
