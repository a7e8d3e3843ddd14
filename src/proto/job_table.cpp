#include "proto/job_table.hpp"

#include <algorithm>

#include "proto/guard.hpp"

namespace sumac::proto {

Result<> JobTable::grant(const JobGrant& grant) {
  if (grant.job_id == JobId{}) return fail(Errc::invalid, "grant: job id is 0");
  if (grant.quota.osts == 0 || grant.quota.max_groups == 0 || grant.quota.payload_per_ost == 0)
    return fail(Errc::invalid, "grant of job {}: osts, max_groups and payload_per_ost must not be 0", grant.job_id);
  if (grant.quota.payload_per_ost > limits_.payload_max)
    return fail(Errc::invalid, "grant of job {}: payload_per_ost {} is over this node's {}", grant.job_id,
                grant.quota.payload_per_ost, limits_.payload_max);
  if (grant.quota.chunk_bytes > limits_.chunk_max)
    return fail(Errc::invalid, "grant of job {}: chunk_bytes {} is over this node's {}", grant.job_id,
                grant.quota.chunk_bytes, limits_.chunk_max);
  if (grant.quota.stream_window > limits_.stream_window_max)
    return fail(Errc::invalid, "grant of job {}: stream_window {} is over this node's {}", grant.job_id,
                grant.quota.stream_window, limits_.stream_window_max);
  if (Job* job = find(grant.job_id); job != nullptr) {
    // Above the job's own root the tree may change while the job runs, and with it the child on whose side its ranks
    // are.
    JobGrant as_before = grant;
    as_before.below = job->grant.below;
    as_before.links_percent = job->grant.links_percent;  // an operator may change this value
    if (job->grant == as_before) {  // A job that was revoked goes on: its lease was renewed after all.
      job->grant.below = grant.below;
      job->grant.links_percent = grant.links_percent;
      if (std::exchange(job->revoked, false)) {
        --revoked_;
        job->over_at = kNever;
        job->why_revoked.clear();
        find_next_over();
      }
      return {};
    }
    return fail(Errc::exists, "grant of job {}: it has another one that is not over yet", grant.job_id);
  }
  std::uint64_t numbers = 0;
  for (const auto& range : grant.numbers) {
    numbers += range.count;
    if (range.first == 0 || range.count == 0 || range.first + std::uint64_t{range.count} > limits_.groups + 1u)
      return fail(Errc::invalid, "grant of job {}: group numbers {} to {} are not of this node's 1 to {}", grant.job_id,
                  range.first, range.first + std::uint64_t{range.count} - 1, limits_.groups);
  }
  if (numbers != 0 && numbers < grant.quota.max_groups)
    return fail(Errc::invalid, "grant of job {}: {} group numbers for {} groups", grant.job_id, numbers,
                grant.quota.max_groups);
  std::uint64_t osts = grant.quota.osts, groups = grant.quota.max_groups;
  for (const Job& job : jobs_) osts += job.grant.quota.osts, groups += job.grant.quota.max_groups;
  if (osts > limits_.osts)
    return fail(Errc::exhausted, "grant of job {}: {} OSTs asked, {} of {} left", grant.job_id, grant.quota.osts,
                limits_.osts - (osts - grant.quota.osts), limits_.osts);
  if (groups > limits_.groups)
    return fail(Errc::exhausted, "grant of job {}: {} groups asked, {} of {} left", grant.job_id,
                grant.quota.max_groups, limits_.groups - (groups - grant.quota.max_groups), limits_.groups);
  for (const Job& other : jobs_)
    for (const auto& theirs : other.grant.numbers)
      for (const auto& range : grant.numbers)
        if (range.first < theirs.first + theirs.count && theirs.first < range.first + range.count)
          return fail(Errc::exhausted, "grant of job {}: job {} still has groups of its numbers", grant.job_id,
                      other.grant.job_id);
  jobs_.push_back({.grant = grant, .life = ++lives_, .osts_free = grant.quota.osts});
  return {};
}

bool JobTable::revoke(JobId job_id, Time over_at, std::string_view why) {
  Job* job = find(job_id);
  if (job == nullptr) return false;
  if (!std::exchange(job->revoked, true)) {
    job->over_at = over_at;
    job->why_revoked = why;
    next_over_ = std::min(next_over_, over_at);
    ++revoked_;
  }
  return true;
}

void JobTable::find_next_over() noexcept {
  next_over_ = kNever;
  for (const Job& job : jobs_) next_over_ = std::min(next_over_, job.over_at);
}

std::vector<JobId> JobTable::take_overdue(Time now) {
  std::vector<JobId> ids;
  for (Job& job : jobs_)
    if (job.over_at <= now) {
      ids.push_back(job.grant.job_id);
      job.over_at = kNever;
    }
  find_next_over();
  return ids;
}

const Job* JobTable::find(JobId job_id) const noexcept {
  const auto found =
      std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& job) { return job.grant.job_id == job_id; });
  return found == jobs_.end() ? nullptr : &*found;
}

Job* JobTable::find(JobId job_id) noexcept { return const_cast<Job*>(std::as_const(*this).find(job_id)); }

bool JobTable::may_speak(NodeId child_node, std::uint32_t number) const noexcept {
  const auto of_job = std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& job) {
    return !job.grant.numbers.empty() && job.grant.may_be_its(number);
  });
  return of_job == jobs_.end() || of_job->grant.may_speak(wire::Role::node, number_of(child_node));
}

Job* JobTable::find_active(JobId job_id) noexcept {
  Job* job = find(job_id);
  return job == nullptr || guard(Guard::revoked, job->revoked) ? nullptr : job;
}

std::uint32_t JobTable::reserve(Job& job, std::uint32_t request) noexcept {
  std::uint32_t osts = request;
  if (guard(Guard::pool, osts > job.osts_free)) osts = job.osts_free;
  job.osts_free -= osts;
  return osts;
}

void JobTable::give_back(JobId job_id, std::uint32_t osts) noexcept {
  if (Job* job = find(job_id); job != nullptr) job->osts_free += osts;
}

std::size_t JobTable::stream_share(const Job& job) const noexcept {
  // This is the mean of the two shares: those of all jobs together never exceed the whole.
  const double share = (static_cast<double>(job.grant.quota.osts) / limits_.osts +
                        static_cast<double>(job.grant.quota.max_groups) / limits_.groups) /
                       2;
  return share >= 1 ? limits_.stream_bytes
                    : static_cast<std::size_t>(share * static_cast<double>(limits_.stream_bytes));
}

void JobTable::forget_ended() {
  std::erase_if(jobs_, [&](Job& job) {
    if (!job.revoked || job.groups_here != 0) return false;
    wipe(job.grant.job_key);
    forgotten_.push_back(job.grant.job_id);
    --revoked_;
    return true;
  });
  find_next_over();
}

std::vector<JobView> JobTable::view() const {
  std::vector<JobView> views;
  for (const Job& job : jobs_)
    views.push_back({job.grant, job.revoked, job.osts_free, std::max(job.groups_here, job.ids_used), job.operations,
                     job.streaming_operations});
  return views;
}

NodeUsage JobTable::usage() const noexcept {
  NodeUsage all;
  for (const Job& job : jobs_) {
    ++all.jobs;
    all.groups += std::max(job.groups_here, job.ids_used);
    all.osts_granted += job.grant.quota.osts;
    all.osts_in_use += job.grant.quota.osts - job.osts_free;
  }
  return all;
}

}  // namespace sumac::proto
