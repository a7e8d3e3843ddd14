#include "manager/trees_again.hpp"

#include <algorithm>
#include <utility>

namespace sumac::manager {
namespace {

/// A tree whose nodes die one after the other must not occupy the manager.
constexpr Duration kPause = Seconds(1);

void keep(Step& step, Journal& journal, const Job& job) {
  // If this fails, a restarted manager takes the job for one that has the trees of before, and revokes it there.
  if (auto kept = journal.put(job.record, std::chrono::duration_cast<Seconds>(step.now - job.begun)); !kept)
    step.say(LogLevel::error, "JOBS", fmt::format("job_id_external: {}: {}", job.record.job_id, kept.error().context));
}

}  // namespace

Job TreesAgain::lose(Step& step, Job& job, const std::string& why) {
  Job rest = job;
  rest.is_remainder = true;
  job.record.shares.clear();
  job.reserved.clear();
  job.wait_for.clear();
  job.deferred.clear();
  if (std::exchange(job.trees, Job::Trees::lost) == Job::Trees::held) {
    const auto& record = job.record;
    const bool may_have_others = record.times_again < rules_.trees_again_max;
    const auto* fate = may_have_others ? "its ranks go on without a tree until there is another one"
                                       : "its ranks go on without a tree (SUMAC_AM_TREES_AGAIN_MAX)";
    keep(step, journal_, job);
    step.say(LogLevel::warn, "JOBS",
             fmt::format("job_id_external: {} job_id_sharp: {} has lost its trees: {}: {}", record.job_id,
                         record.number, why, fate));
    step.happened(Happened::Kind::tree_lost, record.job_id, record.uid, fmt::format("has lost its trees: {}", why));
  }
  revoke(step, cluster_, rest, why);
  return rest;
}

bool TreesAgain::lost_at_restart(Job& job) {
  if (!job.record.outlives_trees) return false;
  job.trees = Job::Trees::lost;
  job.record.shares.clear();
  job.reserved.clear();
  return true;
}

void TreesAgain::ask(Step& step, Job& job, const VisitOthers& visit_others) {
  if (job.trees != Job::Trees::lost || step.now < job.again_from) return;
  if (job.record.times_again >= rules_.trees_again_max) return;
  Job next = job;
  holdings_.give_back(job);
  const bool is_admitted = admission_.admit_again(next) && group_numbers_.give(next, visit_others);
  if (is_admitted) job = std::move(next);
  holdings_.take(job);
  if (!is_admitted) return;
  job.trees = Job::Trees::coming;
  job.deadline = deadline_after(step.now, rules_.grant_timeout);
  for (std::size_t i = 0; i < job.record.shares.size(); ++i)
    for (const auto n : job.reserved[i]) {
      cluster_.send(step, n, grant_to(job, i, n, rules_.user.share_max_percent));
      job.wait_for.push_back({job.record.shares[i].tree, n, cluster_.node(n).sent});
    }
}

bool TreesAgain::finish(Step& step, Job& job) {
  if (job.owes_trees && is_usable(job)) {
    job.owes_trees = false;
    to_hosts(step, cluster_, job.record, {}, message_of(job));
  }
  if (job.trees != Job::Trees::coming) return true;
  if (!missing_for(job, cluster_, forest_, rules_.grant_timeout).empty()) return step.now < job.deadline;
  job.trees = Job::Trees::held;
  job.again_from = step.now + kPause;
  ++job.record.times_again;
  keep(step, journal_, job);
  const auto& record = job.record;
  step.say(LogLevel::info, "JOBS",
           fmt::format("job_id_external: {} job_id_sharp: {} has trees again ({} of {})", record.job_id, record.number,
                       record.times_again, rules_.trees_again_max));
  step.happened(Happened::Kind::tree_changed, record.job_id, record.uid, "has trees again");
  to_hosts(step, cluster_, record, {}, message_of(job));
  return true;
}

JobTrees TreesAgain::message_of(const Job& job) const {
  return {job.record.job_id, job.record.times_again, granted_message(job, cluster_, forest_)};
}

void TreesAgain::tell(Step& step, StreamId stream, Job& job) const {
  if (job.trees != Job::Trees::held || job.record.times_again == 0) return;
  // A restarted manager does not know yet where the nodes listen.
  if (is_usable(job))
    step.send(stream, message_of(job));
  else
    job.owes_trees = true;
}

bool TreesAgain::is_usable(const Job& job) const {
  return job.trees == Job::Trees::held && missing_for(job, cluster_, forest_, rules_.grant_timeout).empty();
}

}  // namespace sumac::manager
