#pragma once
// A journal in memory that tests can inspect, and that can be made to fail.
#include <algorithm>

#include "manager/journal.hpp"

namespace sumac::manager {

struct TestJournal final : Journal {
  SavedState state;
  bool full = false;

  Result<> put(const JobRecord& job, Seconds age) override {
    if (full) return fail(Errc::io, "no space left on device");
    std::erase_if(state.jobs, [&](const auto& one) { return one.job_id == job.job_id; });
    state.jobs.push_back(job);
    state.ages[job.job_id] = age;
    state.last_number = std::max(state.last_number, job.number);
    return {};
  }
  Result<> remove(JobId job_id) override {
    std::erase_if(state.jobs, [&](const auto& job) { return job.job_id == job_id; });
    return {};
  }
  Result<> set_trees(const std::string& fabric, const std::vector<SavedTree>& trees) override {
    state.fabric = fabric;
    state.trees = trees;
    return {};
  }
  Result<> keep(const KeptOsts& osts) override {
    if (full) return fail(Errc::io, "no space left on device");
    state.kept.push_back(osts);
    return {};
  }
  Result<> release(const std::string& name) override {
    std::erase_if(state.kept, [&](const auto& one) { return one.name == name; });
    return {};
  }
};

}  // namespace sumac::manager
