#include "manager/ledger.hpp"

#include <algorithm>
#include <utility>

namespace sumac::manager {
namespace {

/// Users whose lines are limited; beyond that number lines are not.
constexpr std::size_t kRefusedMax = 4096;
/// While jobs run, tick() must be called at least this often.
constexpr Duration kLook = Seconds(1);
/// A longer silence means that the manager itself stood still, so the sharpds are not to blame for renewals that it
/// missed.
constexpr Duration kStoodStill = Seconds(2);

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

template <class LeavingJobs>
std::string describe(const LeavingJobs& leaving, Time now) {
  const auto last = std::ranges::max_element(leaving, {}, [](const auto& one) { return one.until; })->until;
  return fmt::format("; ranks of {} ended job{} have not left yet: nodes release what they hold in {} s",
                     leaving.size(), leaving.size() == 1 ? "" : "s",
                     std::chrono::ceil<Seconds>(std::max(last - now, Duration{0})).count());
}

auto ms_of(Duration time) { return std::chrono::duration_cast<Millis>(time).count(); }

}  // namespace

Ledger::Ledger(Cluster& cluster, Forest& forest, Holdings& holdings, const Kept& kept, Journal& journal,
               const Rules& rules, const Reservations& reservations)
    : cluster_(cluster),
      forest_(forest),
      journal_(journal),
      rules_(rules),
      holdings_(holdings),
      admission_(cluster, forest, holdings_, kept, rules, reservations),
      group_numbers_(cluster, forest, holdings_),
      again_(cluster, forest, journal, rules, holdings_, admission_, group_numbers_) {}

void Ledger::describe(Facts& facts) const {
  holdings_.describe(facts);
  facts.counts = counts_;
  for (const auto& held : waiting_.all()) {
    auto& one = facts.waiting.emplace_back(WaitingFacts{&held, {}});
    for (const auto& name : held.begin.hosts)
      if (const auto host = cluster_.host_named(name)) one.hosts.push_back(*host);
  }
  facts.jobs.reserve(jobs_.size());
  for (const auto& [id, job] : jobs_)
    facts.jobs.push_back({&job.record, job.granted, false, job.begun, job.lease_until});
  for (const auto& one : leaving_)
    facts.leaving.push_back({&one.job.record, one.job.granted, true, one.job.begun, one.job.lease_until});
}

// ---- the beginning

Job* Ledger::job_of(std::uint64_t life, std::uint64_t ticket) {
  const auto known = by_ticket_.find({life, ticket});
  return known == by_ticket_.end() ? nullptr : &jobs_.at(known->second);
}

bool Ledger::accepts(Step& step, StreamId stream, const Sharpd& sharpd, const JobBegin& begin) {
  if (Job* job = job_of(sharpd.life, begin.ticket); job != nullptr) {
    // This begin is repeated, because its sharpd or this manager was away. A job that is still beginning gets its
    // answer with the grant.
    job->lease_until = step.now + rules_.lease;
    if (job->trees != Job::Trees::held)  // No rank runs, since none has had its grant.
      release(step, jobs_.find(job->record.job_id), "it has lost its trees before its ranks had them: start it again");
    else if (job->granted)
      to_holder(step, cluster_, job->record, granted_message(*job, cluster_, forest_));
    return false;
  }
  const auto& asked = begin.quota;
  step.say(LogLevel::info, "JOBS",
           fmt::format(
               "begin job: job_id_external: {} requested qps: {} user_data_per_ost: {} osts: {} groups: {} trees: {} "
               "req_feature_mask: {:#x} hosts: {} ranks: {} by {:.200}",
               begin.job_id, asked.max_qps, asked.payload_per_ost, asked.osts, asked.max_groups, asked.num_trees,
               asked.features, begin.hosts.size(), begin.world_size, begin.holder),
           refused_.contains(begin.uid) ? fmt::format("begin {}", begin.uid) : std::string());
  if (step.now >= settled_at_ || forest_.missing_nodes().empty()) return true;
  waiting_.add({stream, begin, settled_at_, step.now, HeldBegin::For::nodes});
  return false;
}

std::vector<HeldBegin> Ledger::take_held(Time now, bool is_tick) {
  if (!waiting_.empty() && now < settled_at_ && (is_tick || !forest_.missing_nodes().empty())) return {};
  auto held = waiting_.take();
  for (auto& one : held)
    if (one.what == HeldBegin::For::nodes) one = fresh(one.stream, one.begin, now, rules_);
  return held;
}

Result<Job> Ledger::admit(const Sharpd& sharpd, const JobBegin& begin) {
  if (begin.queue_seconds != 0)
    if (const auto before = waiting_.of_user(begin.uid); before != 0)
      return fail(Errc::exhausted, "{} of user {} wait for their turn before it", counted(before, "job"), begin.uid);
  if (const auto old = jobs_.find(begin.job_id); old != jobs_.end()) {
    // A user does not learn the holder and host of another user's job.
    const bool own = begin.uid == old->second.record.uid;
    return fail(Errc::exists, "job id {} is running already (begun by {}): choose another", begin.job_id,
                own ? old->second.record.holder : "another user");
  }
  if (std::ranges::any_of(leaving_, [&](const LeavingJob& old) { return old.job.record.job_id == begin.job_id; }))
    return fail(Errc::exhausted, "job id {} has just ended, and its ranks have not left: choose another", begin.job_id);
  auto job = admission_.admit(sharpd, begin);
  if (!job) return job;
  const auto visit_others = [&](const std::function<void(const Job&)>& visit) {
    for (const auto& [id, other] : jobs_) visit(other);
    for (const auto& ended : leaving_) visit(ended.job);
  };
  if (auto numbered = group_numbers_.give(*job, visit_others); !numbered) return tl::unexpected(numbered.error());
  return job;
}

void Ledger::begin(Step& step, const Sharpd& sharpd, const HeldBegin& held) {
  const auto& begin = held.begin;
  auto admitted = admit(sharpd, begin);
  if (!admitted) {
    const auto why_not = leaving_.empty() ? std::string() : manager::describe(leaving_, step.now);
    if (auto text = waiting_.hold(step, held, admitted.error(), why_not); !text.empty())
      refuse_job(step, held.stream, begin, text);
    return;
  }
  auto key = rules_.draw_secret();
  if (!key) {
    refuse_job(step, held.stream, begin, fmt::format("the manager can't draw a key: {}", key.error().context));
    return;
  }
  waiting_.granted(begin.uid);
  if (jobs_.empty()) looked_ = step.now;
  Job& job = jobs_[begin.job_id] = *std::move(admitted);
  auto& record = job.record;
  record.number = ++last_number_;
  record.job_key = *key;
  job.begin = begin;
  job.begun = step.now;
  job.deadline = deadline_after(step.now, rules_.grant_timeout);
  job.lease_until = step.now + rules_.lease;
  by_ticket_[{record.life, record.ticket}] = record.job_id;
  holdings_.take(job);
  for (std::size_t i = 0; i < record.shares.size(); ++i)
    for (const auto n : job.reserved[i]) {
      cluster_.send(step, n, grant_to(job, i, n, rules_.user.share_max_percent));
      job.wait_for.push_back({record.shares[i].tree, n, cluster_.node(n).sent});
    }
  std::string ids;
  for (const auto& share : record.shares) ids += fmt::format("{}{}", ids.empty() ? "" : ",", share.id);
  step.say(LogLevel::info, "JOBS",
           fmt::format("job_id_external: {} reservation_key: {} job_id_sharp: {} allocation: {{ q:{}, ud:{} o:{} g:{} "
                       "}} w:{} tree_id: {}",
                       record.job_id, record.reservation.empty() ? "none" : record.reservation, record.number,
                       record.quota.max_qps, record.quota.payload_per_ost, record.quota.osts, record.quota.max_groups,
                       record.quota.stream_window, ids));
}

void Ledger::refuse_job(Step& step, StreamId stream, const JobBegin& begin, const std::string& text) {
  ++counts_.jobs_refused;
  step.happened(Happened::Kind::job_refused, begin.job_id, begin.uid, "was refused: " + text);
  step.say(LogLevel::error, "JOBS",
           fmt::format("Begin job id: {} failed with status: No resource: {}", begin.job_id, text),
           fmt::format("refused {}", begin.uid));
  if (refused_.size() < kRefusedMax) refused_.insert(begin.uid);
  step.send(stream, JobRefused{kStatusJobError, text, begin.ticket});
}

void Ledger::finish_ready(Step& step) {
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const auto job = at++;  // The call below may erase this job.
    finish_if_ready(step, job);
  }
}

void Ledger::finish_if_ready(Step& step, Jobs::iterator at) {
  auto& job = at->second;
  if (!again_.finish(step, job)) lose(step, at, missing_for(job, cluster_, forest_, rules_.grant_timeout));
  if (job.granted || !missing_for(job, cluster_, forest_, rules_.grant_timeout).empty()) return;
  const auto& record = job.record;
  if (auto kept = journal_.put(record, std::chrono::duration_cast<Seconds>(step.now - job.begun)); !kept) {
    lose(step, at, fmt::format("the manager cannot save the grant: {}", kept.error().context));
    return;
  }
  job.granted = true;
  refused_.erase(record.uid);
  job.begin = {};
  ++counts_.jobs_granted;
  step.happened(Happened::Kind::job_granted, record.job_id, record.uid,
                fmt::format("runs on {} with {} and {}", counted(record.hosts.size(), "host"),
                            counted(record.quota.osts, "OST"), counted(record.quota.max_groups, "group")));
  std::set<std::uint32_t> nodes;
  for (const auto& share : record.shares) nodes.insert(share.nodes.begin(), share.nodes.end());
  to_holder(step, cluster_, record, granted_message(job, cluster_, forest_));
  step.say(
      LogLevel::info, "JOBS",
      fmt::format("job_id_external: {} job_id_sharp: {} runs on {} nodes", at->first, record.number, nodes.size()));
}

// ---- sharpds

void Ledger::host_comes(Step& step, StreamId stream, const HostRegister& who) {
  std::set<std::pair<std::uint64_t, JobId>> named;  // Pairs of the tickets and job ids that the sharpd named.
  HostRegistered registered{.lease_ms = static_cast<std::uint32_t>(ms_of(rules_.lease)),
                            .renew_ms = static_cast<std::uint32_t>(ms_of(rules_.renew_every)),
                            .gone = {}};
  for (const auto& held : who.jobs) {
    named.emplace(held.ticket, held.job_id);
    if (Job* job = job_of(who.life, held.ticket); job != nullptr && job->record.job_id == held.job_id)
      job->lease_until = step.now + rules_.lease;
    else if (held.granted && !resume(step, who.life, held.ticket))
      registered.gone.push_back(held.ticket);
  }
  std::vector<JobId> over;
  for (auto at = by_ticket_.lower_bound({who.life, 0}); at != by_ticket_.end() && at->first.first == who.life; ++at)
    if (!named.contains({at->first.second, at->second})) over.push_back(at->second);
  step.send(stream, std::move(registered));
  cluster_.place_hosts(step);
  if (const auto host = cluster_.host_named(who.host)) {
    const auto takes_part = [&](const Job& job) { return std::ranges::count(job.record.hosts, *host) != 0; };
    for (auto& [id, job] : jobs_) {
      if (!takes_part(job)) continue;
      again_.tell(step, stream, job);
      tell_deaths(step, stream, job);
    }
    for (const auto* const ended : {&leaving_, &left_})
      for (const auto& one : *ended)
        if (takes_part(one.job) && !one.job.is_remainder) tell_deaths(step, stream, one.job);
  }
  for (const auto id : over) release(step, jobs_.find(id), "it ended while its sharpd could not say so");
}

void Ledger::host_leaves(Step& step, StreamId stream, const Sharpd& sharpd) {
  std::string running;
  for (auto at = by_ticket_.lower_bound({sharpd.life, 0}); at != by_ticket_.end() && at->first.first == sharpd.life;
       ++at)
    running += fmt::format(" {}", at->second);
  if (!running.empty())
    step.say(
        LogLevel::info, "JOBS",
        fmt::format("sharpd of {} is not connected: its jobs live until their leases end:{}", sharpd.name, running));
  // The sharpd asks again when it is back.
  waiting_.stream_ended(stream);
}

void Ledger::host_renews(Step& step, const Sharpd& sharpd, const Renew& renew) {
  for (const auto ticket : renew.tickets)
    if (Job* job = job_of(sharpd.life, ticket); job != nullptr)
      job->lease_until = step.now + rules_.lease;
    else
      resume(step, sharpd.life, ticket);
}

const Job* Ledger::granted(JobId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() || !found->second.granted ? nullptr : &found->second;
}

void Ledger::rank_died(Step& step, const Sharpd& sharpd, const RankDied& word) {
  const auto running = jobs_.find(word.job_id);
  Job* found = running == jobs_.end() ? nullptr : &running->second;
  // The death may already have ended the job: its process closes its socket before it is gone. Its ranks may go on.
  for (auto* const ended : {&leaving_, &left_})
    for (auto& one : *ended)
      if (found == nullptr && one.job.record.job_id == word.job_id && !one.job.is_remainder) found = &one.job;
  if (found == nullptr || !found->granted) return;  // Until the grant no rank waits for another.
  Job& job = *found;
  const auto& record = job.record;
  if (word.uid != record.uid || !is_member(job, sharpd, word.job_key)) {
    step.say(LogLevel::warn, "JOBS",
             fmt::format("host {} may not say that rank {} of job {} died: {:.200} is none of its processes",
                         sharpd.name, word.world_rank, word.job_id, word.who));
    return;
  }
  ++counts_.rank_deaths;
  const auto text = fmt::format("rank {} died: {:.200}", word.world_rank, word.who);
  step.say(LogLevel::warn, "JOBS",
           fmt::format("job_id_external: {} job_id_sharp: {}: {}", record.job_id, record.number, text));
  step.happened(Happened::Kind::rank_died, record.job_id, record.uid, text);
  to_nodes(step, cluster_, job, [&](std::size_t share, std::uint32_t) {
    return RankDeath{record.shares[share].tree, record.job_id, word.world_rank, sharpd.name};
  });
  // Ranks of other hosts may have lost their tree. A job that loses so many is over, and a large one would cost ranks x hosts.
  constexpr std::size_t kToldMax = 16;
  if (job.deaths.size() == kToldMax || std::ranges::count(job.deaths, word.world_rank) != 0) return;
  job.deaths.push_back(word.world_rank);
  to_hosts(step, cluster_, record, sharpd.name, MemberDeath{record.job_id, word.world_rank, record.job_key});
}

// ---- time

void Ledger::tick(Step& step) {
  const auto now = step.now;
  if (const auto silence = now - looked_; silence > kStoodStill && !jobs_.empty()) {
    step.say(LogLevel::warn, "GENERAL",
             fmt::format("the manager itself stood still for {} ms: leases go on from here", ms_of(silence)));
    for (auto& [id, job] : jobs_) {
      job.lease_until = std::min(job.lease_until + silence, now + rules_.lease);
      if (!job.granted) job.deadline = std::min(job.deadline + silence, now + rules_.grant_timeout);
    }
  }
  looked_ = now;
  for (auto next = jobs_.begin(); next != jobs_.end();) {
    const auto at = next++;
    const auto& job = at->second;
    if (job.lease_until <= now) {
      // The lease has ended. Its sharpd is told when the job cannot go on any more.
      const auto why = fmt::format("{} has not renewed it for {} ms: its sharpd or its host is gone", job.record.holder,
                                   ms_of(rules_.lease));
      ++counts_.jobs_released;
      say_released(step, job.record, why);
      drop(step, at, why, true);
    } else if (!job.granted && job.deadline <= now) {
      lose(step, at, missing_for(job, cluster_, forest_, rules_.grant_timeout));
    } else {
      finish_if_ready(step, at);
    }
  }
}

Time Ledger::next_deadline() const {
  Time next = cluster_.next_deadline(looked_);
  for (const auto& held : waiting_.all()) next = std::min(next, held.until);
  for (const auto& one : leaving_) next = std::min(next, one.until);
  if (!jobs_.empty()) next = std::min(next, looked_ + kLook);
  for (const auto& [id, job] : jobs_) {
    next = std::min(next, job.lease_until);
    if (!job.granted || job.trees == Job::Trees::coming) next = std::min(next, job.deadline);
  }
  return next;
}

}  // namespace sumac::manager
