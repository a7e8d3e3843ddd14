// The end of jobs: what their ranks hold until they have left, and leases that end and are renewed after all.
#include <algorithm>
#include <utility>

#include "manager/core.hpp"
#include "manager/core_messages.hpp"

namespace sumac::manager {

void Manager::drop(ActionList& out, Jobs::iterator at, const std::string& why, bool lapses) {
  const auto& record = at->second.record;
  if (at->second.granted)
    // If this fails, a restart gives the job one more lease, which does no harm.
    if (auto removed = journal_.remove(record.job_id); !removed)
      out.push_back(Say{LogLevel::error, "JOBS",
                        fmt::format("job_id_external: {} ended, and the journal still names it: {}", record.job_id,
                                    removed.error().context)});
  auto& job = at->second;
  job.wait_for.clear();
  for (std::size_t i = 0; i < record.shares.size(); ++i)
    for (const auto n : job.reserved[i]) {
      if (nodes_[n].stream == 0) continue;
      send(out, nodes_[n], Revoke{record.shares[i].tree, record.job_id, why});
      if (!nodes_[n].silent) job.wait_for.push_back({record.shares[i].tree, n, nodes_[n].sent});
    }
  by_ticket_.erase({record.life, record.ticket});
  leaving_.push_back({std::move(job), now_ + rules_.leave_after_end, lapses ? why : std::string()});
  jobs_.erase(at);
  erase_left(out);
}

Result<> Manager::keep_job(const Job& job) {
  return journal_.put(job.record, std::chrono::duration_cast<Seconds>(now_ - job.begun));
}

/// The lease of a job has ended. Its sharpd is told when the job cannot go on any more.
void Manager::lapse(ActionList& out, Jobs::iterator at) {
  const auto why = fmt::format("{} has not renewed it for {} ms: its sharpd or its host is gone",
                               at->second.record.holder, std::chrono::duration_cast<Millis>(rules_.lease).count());
  note_release(out, at->second.record, why);
  drop(out, at, why, true);
}

/// The sharpd of a job whose lease has ended is back. The job goes on if nodes still hold it: those that have forgotten
/// it get its grant again. Returns false if there is no such job.
bool Manager::resume(ActionList& out, std::uint64_t life, std::uint64_t ticket, Time now) {
  const auto found = std::ranges::find_if(leaving_, [&](const LeavingJob& one) {
    return !one.lapsed.empty() && one.job.record.life == life && one.job.record.ticket == ticket;
  });
  if (found == leaving_.end()) return false;
  const auto id = found->job.record.job_id;
  Job& job = jobs_[id] = std::move(found->job);
  leaving_.erase(found);
  const auto& record = job.record;
  job.lease_until = now + rules_.lease;
  job.wait_for.clear();
  by_ticket_[{record.life, record.ticket}] = id;
  if (auto kept = keep_job(job); !kept)
    out.push_back(Say{LogLevel::error, "JOBS",
                      fmt::format("job_id_external: {} goes on, but a restarted manager will not know it: {}", id,
                                  kept.error().context)});
  for (std::size_t i = 0; i < record.shares.size(); ++i)
    for (const auto n : job.reserved[i]) {
      if (nodes_[n].stream == 0) continue;  // It gets the grant when it registers.
      send(out, nodes_[n], grant_to(job, i, n));
    }
  happened(out, Happened::Kind::job_granted, id, record.uid, "goes on: its sharpd has come back");
  out.push_back(
      Say{LogLevel::warn, "JOBS",
          fmt::format("job_id_external: {} job_id_sharp: {} goes on: its sharpd has come back", id, record.number)});
  return true;
}

/// Frees the resources of ended jobs that no node holds any more.
void Manager::erase_left(ActionList& out) {
  std::erase_if(leaving_, [&](const LeavingJob& one) {
    if (one.until > now_ && !one.job.wait_for.empty()) return false;
    if (!one.lapsed.empty()) tell_ended(out, one.job, one.lapsed);
    use(one.job, false);
    return true;
  });
}

void Manager::build_if_nobody_runs(ActionList& out) {
  if (patched_ && nobody_runs()) follow(out, "nobody runs");
}

/// The node's part in the tree is another one or is over, and with it all that ended jobs held there.
void Manager::stop_waiting(std::uint32_t tree, std::uint32_t node) {
  for (auto& one : leaving_)
    std::erase_if(one.job.wait_for, [&](const Awaited& it) { return it.tree == tree && it.node == node; });
}

std::string Manager::describe_leaving() const {
  const auto last = std::ranges::max_element(leaving_, {}, &LeavingJob::until)->until;
  return fmt::format("; ranks of {} ended job{} have not left yet: nodes release what they hold in {} s",
                     leaving_.size(), leaving_.size() == 1 ? "" : "s",
                     std::chrono::ceil<Seconds>(std::max(last - now_, Duration{0})).count());
}

}  // namespace sumac::manager
