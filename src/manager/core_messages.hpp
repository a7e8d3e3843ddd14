#pragma once
// Short texts and messages that several parts of the core make.
#include <string>
#include <vector>

#include "control/control.pb.h"
#include "manager/journal.hpp"

namespace sumac::manager {

inline control::v1::Grant grant_message(const JobRecord& job, std::uint32_t tree) {
  control::v1::Grant message;
  message.set_tree(tree);
  message.set_job_id(job.job_id);
  message.set_osts(job.grant.osts);
  message.set_groups(job.grant.max_groups);
  message.set_payload_max(job.grant.payload_per_ost);
  message.set_stream_window(job.grant.stream_window);
  message.set_chunk_max(job.grant.chunk_bytes);
  message.set_features(job.grant.features);
  message.set_key(job.key.data(), job.key.size());
  for (const auto& share : job.shares)
    if (share.tree == tree) message.mutable_numbers()->Assign(share.numbers.begin(), share.numbers.end());
  return message;
}

inline std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace sumac::manager
