#pragma once
// Short texts and messages that several parts of the core make.
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "control/quota.hpp"
#include "manager/journal.hpp"

namespace sumac::manager {

inline control::v1::Grant grant_message(const JobRecord& job, std::uint32_t tree) {
  control::v1::Grant message;
  message.set_tree(tree);
  message.set_job_id(number_of(job.job_id));
  *message.mutable_quota() = control::quota_message(job.quota);
  message.set_job_key(job.job_key.data(), job.job_key.size());
  message.set_uid(job.uid);
  for (const auto& share : job.shares)
    if (share.tree == tree) control::add_ranges(*message.mutable_numbers(), share.numbers);
  return message;
}

inline std::string join(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

}  // namespace sumac::manager
