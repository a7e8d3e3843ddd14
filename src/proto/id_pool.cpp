#include "proto/id_pool.hpp"

#include <algorithm>

#include "proto/guard.hpp"

namespace sumac::proto {

IdPool::IdPool(std::uint32_t limit) : entries_(limit + 1) {
  for (std::uint32_t number = 1; number <= limit; ++number) free_.push_back(number);
}

std::uint32_t IdPool::take_number(const JobGrant& grant) {
  const auto found = std::find_if(free_.begin(), free_.end(), [&](auto number) { return grant.may_be_its(number); });
  if (found != free_.end()) {
    const std::uint32_t number = *found;
    free_.erase(found);
    return number;
  }
  for (std::uint32_t number = 1; number < entries_.size(); ++number)
    if (entries_[number].in_use && entries_[number].orphan && grant.may_be_its(number)) {
      release(make_group_id(entries_[number].generation, number));
      free_.pop_back();
      return number;
    }
  return 0;
}

void IdPool::remember(const TokenKey& key) {
  auto most = over_.try_emplace(key.job_id).first;
  most->second.push_back(key);
  if (++remembered_ <= kTokensMax) return;
  // A job with more than its share pays itself, which spares the search in a flood of Opens.
  if (most->second.size() * over_.size() < remembered_)
    most = std::ranges::max_element(over_, {}, [](const auto& job) { return job.second.size(); });
  tokens_.erase(most->second.front());
  most->second.pop_front();
  --remembered_;
  if (most->second.empty()) over_.erase(most);
}

IdPool::Answer IdPool::open(const TokenKey& key, Job* job) {
  const auto known = tokens_.find(key);
  if (known != tokens_.end()) {
    if (!known->second.over && guard(Guard::same_token, true)) return {known->second.group_id};
    // A token whose group has left or was refused also gets its old answer: the Open is a late copy, which has no
    // waiting sender.
    if (guard(Guard::token_over, known->second.over)) return {known->second.group_id};
  }
  if (job == nullptr) return {};  // the answer is not kept: a peer may name any number of jobs that do not exist
  const std::uint32_t number =
      guard(Guard::id_pool, job->ids_used >= job->grant.quota.max_groups) ? 0 : take_number(job->grant);
  if (number == 0) {
    tokens_[key] = {GroupId{}, true};
    remember(key);
    return {};
  }
  Entry& entry = entries_[number];
  entry = {static_cast<std::uint16_t>(entry.generation + 1), true, false, key};
  const GroupId group_id = make_group_id(entry.generation, number);
  tokens_[key] = {group_id, false};
  ++used_;
  ++job->ids_used;
  return {group_id};
}

JobId IdPool::release(GroupId group_id) {
  const std::uint32_t number = id_number(group_id);
  if (number == 0 || number >= entries_.size()) return JobId{};
  Entry& entry = entries_[number];
  if (!entry.in_use || entry.generation != id_generation(group_id)) return JobId{};
  entry.in_use = false;
  free_.push_back(number);
  --used_;
  if (const auto token = tokens_.find(entry.key); token != tokens_.end()) {
    token->second.over = true;
    remember(entry.key);
  }
  return entry.key.job_id;
}

bool IdPool::in_use(GroupId group_id, JobId job_id) const noexcept {
  const std::uint32_t number = id_number(group_id);
  if (number == 0 || number >= entries_.size()) return false;
  const Entry& entry = entries_[number];
  return entry.in_use && entry.generation == id_generation(group_id) && entry.key.job_id == job_id;
}

void IdPool::orphan(JobId job_id) {
  for (Entry& entry : entries_)
    if (entry.in_use && entry.key.job_id == job_id) entry.orphan = true;
}

std::uint32_t IdPool::adopt(JobId job_id, const JobGrant& grant) {
  std::uint32_t count = 0;
  for (std::uint32_t number = 1; number < entries_.size(); ++number) {
    Entry& entry = entries_[number];
    if (!entry.in_use || entry.key.job_id != job_id || !grant.may_be_its(number)) continue;
    entry.orphan = false;
    ++count;
  }
  return count;
}

}  // namespace sumac::proto
