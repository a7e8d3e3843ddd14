// The end of jobs: what their ranks hold until they have left, and leases that end and are renewed after all.
#include <algorithm>
#include <utility>

#include "manager/ledger.hpp"
#include "manager/saved_tree.hpp"

namespace sumac::manager {

void Ledger::job_ends(Step& step, StreamId stream, const Sharpd& sharpd, const JobEnd& end) {
  step.send(stream, JobEnded{"ended by its owner", end.ticket});  // The answer is sent for a job that is over, too.
  waiting_.job_ended(stream, end.ticket);
  const Job* job = job_of(sharpd.life, end.ticket);
  if (job == nullptr || job->record.job_id != end.job_id) return;
  const bool by_owner = end.why.empty();
  const auto record = job->record;
  const auto fate = by_owner
                        ? std::string("has ended")
                        : fmt::format("was released: {} is gone without ending it: {:.200}", record.holder, end.why);
  step.happened(by_owner ? Happened::Kind::job_ended : Happened::Kind::job_released, record.job_id, record.uid, fate);
  drop(step, jobs_.find(end.job_id), by_owner ? "the job ended" : "the job's owner is gone");
  if (by_owner)
    step.say(LogLevel::info, "JOBS",
             fmt::format("end job: job_id_external: {} job_id_sharp: {}", record.job_id, record.number));
  else
    step.say(LogLevel::warn, "JOBS",
             fmt::format("job_id_external: {} job_id_sharp: {} released: {} is gone without ending it: {:.200}",
                         record.job_id, record.number, record.holder, end.why));
}

void Ledger::release(Step& step, Jobs::iterator at, const std::string& why) {
  const auto& record = at->second.record;
  ++counts_.jobs_released;
  say_released(step, record, why);
  to_holder(step, cluster_, record, JobEnded{why, record.ticket});
  drop(step, at, why);
}

void Ledger::lose(Step& step, Jobs::iterator at, const std::string& why) {
  if (at->second.granted && at->second.record.outlives_trees) {
    leaving_.push_back({again_.lose(step, at->second, why), step.now + rules_.leave_after_end, {}});
    return erase_left(step);
  }
  if (at->second.granted) return release(step, at, why);
  const auto& record = at->second.record;
  if (const auto stream = cluster_.stream_of(record.life))
    refuse_job(step, *stream, {.ticket = record.ticket, .job_id = record.job_id, .uid = record.uid}, why);
  drop(step, at, why);
}

void Ledger::drop(Step& step, Jobs::iterator at, const std::string& why, bool lapses) {
  auto& job = at->second;
  const auto& record = job.record;
  if (job.granted)
    // If this fails, a restart gives the job one more lease, which does no harm.
    if (auto removed = journal_.remove(record.job_id); !removed)
      step.say(LogLevel::error, "JOBS",
               fmt::format("job_id_external: {} ended, and the journal still names it: {}", record.job_id,
                           removed.error().context));
  revoke(step, cluster_, job, why);
  by_ticket_.erase({record.life, record.ticket});
  leaving_.push_back({std::move(job), step.now + rules_.leave_after_end, lapses ? why : std::string()});
  jobs_.erase(at);
  erase_left(step);
}

/// The sharpd of a job whose lease has ended is back. The job goes on if nodes still hold it: those that have forgotten
/// it get its grant again. Returns false if there is no such job.
bool Ledger::resume(Step& step, std::uint64_t life, std::uint64_t ticket) {
  const auto found = std::ranges::find_if(leaving_, [&](const LeavingJob& one) {
    return !one.lapsed.empty() && one.job.record.life == life && one.job.record.ticket == ticket;
  });
  if (found == leaving_.end()) return false;
  const auto id = found->job.record.job_id;
  Job& job = jobs_[id] = std::move(found->job);
  leaving_.erase(found);
  const auto& record = job.record;
  job.lease_until = step.now + rules_.lease;
  job.wait_for.clear();
  by_ticket_[{record.life, record.ticket}] = id;
  if (auto kept = journal_.put(record, std::chrono::duration_cast<Seconds>(step.now - job.begun)); !kept)
    step.say(LogLevel::error, "JOBS",
             fmt::format("job_id_external: {} goes on, but a restarted manager will not know it: {}", id,
                         kept.error().context));
  // A node that is away gets the grant when it registers.
  to_nodes(step, cluster_, job,
           [&](std::size_t share, std::uint32_t n) { return grant_to(job, share, n, rules_.user.share_max_percent); });
  step.happened(Happened::Kind::job_granted, id, record.uid, "goes on: its sharpd has come back");
  step.say(LogLevel::warn, "JOBS",
           fmt::format("job_id_external: {} job_id_sharp: {} goes on: its sharpd has come back", id, record.number));
  return true;
}

void Ledger::erase_left(Step& step) {
  std::erase_if(leaving_, [&](LeavingJob& one) {
    if (one.until > step.now && !one.job.wait_for.empty()) return false;
    if (!one.lapsed.empty()) to_holder(step, cluster_, one.job.record, JobEnded{one.lapsed, one.job.record.ticket});
    holdings_.give_back(one.job);
    if (!one.job.record.outlives_trees || one.job.is_remainder) return true;
    one.job.record.shares.clear();
    one.job.reserved.clear();
    left_.push_back(std::move(one));
    return true;
  });
  constexpr std::size_t kLeftMax = 256;
  while (left_.size() > kLeftMax) left_.pop_front();
}

// ---- a restart

void Ledger::start(std::uint32_t last_number, bool is_first, Time now) {
  last_number_ = last_number;
  looked_ = now;
  if (!is_first) settled_at_ = now + rules_.settle;
}

void Ledger::forget(Step& step, const std::vector<JobRecord>& jobs, const std::string& why) {
  for (const auto& record : jobs) {
    step.say(LogLevel::warn, "JOBS",
             fmt::format("job_id_external: {} job_id_sharp: {} released: {}", record.job_id, record.number, why));
    if (auto removed = journal_.remove(record.job_id); !removed)
      step.say(LogLevel::error, "JOBS", removed.error().context);
  }
}

void Ledger::restore(Step& step, const SavedState& saved) {
  const auto& trees = forest_.trees();
  for (const auto& record : saved.jobs) {
    Job job;
    job.record = record;
    const auto changed = std::ranges::find_if(record.shares, [&](const JobShare& share) {
      const auto works = [&](std::uint32_t n) {
        return n < cluster_.nodes().size() && forest_.part(share.tree, n).works;
      };
      const bool is_sound = share.tree < trees.size() && !trees[share.tree].lost && trees[share.tree].id == share.id &&
                            std::ranges::all_of(share.nodes, works);
      if (is_sound) job.reserved.push_back(forest_.reserved_for(share));
      return !is_sound;
    });
    const bool has_hosts =
        std::ranges::all_of(record.hosts, [&](auto h) { return h < cluster_.fabric().hosts.size(); });
    const bool is_lost = changed != record.shares.end() || record.shares.empty();
    if (!has_hosts || (is_lost && !TreesAgain::lost_at_restart(job))) {
      forget(step, {record}, is_lost ? "its tree has changed" : "its hosts have changed");
      continue;
    }
    const auto age = saved.ages.find(record.job_id);
    job.granted = true;
    job.begun = step.now - (age == saved.ages.end() ? Seconds{} : age->second);
    job.lease_until = step.now + rules_.lease;
    holdings_.take(job);
    by_ticket_[{record.life, record.ticket}] = record.job_id;
    jobs_.emplace(record.job_id, std::move(job));
  }
}

}  // namespace sumac::manager
