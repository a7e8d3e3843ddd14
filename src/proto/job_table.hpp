#pragma once
// The grants of jobs at one node, and how much of them is taken. No part of one job's grant goes to another job.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/node_types.hpp"

namespace sumac::proto {

struct Job {
  JobGrant grant{};
  std::uint64_t life =
      0;  ///< Differs for each grant: a job's number may later belong to another user's job, with another key.
  bool revoked = false;
  std::string why_revoked{};  ///< The manager's words.
  Time over_at = kNever;      ///< For a revoked job: the time by which its members must have left.
  std::uint32_t osts_free = 0;
  std::uint32_t groups_here = 0;  ///< Groups whose life at this node is not over.
  std::uint32_t ids_used = 0;     ///< Group ids in use, counted at the tree's root.
  std::size_t stream_bytes = 0;   ///< Bytes for streaming that its groups have reserved.
  std::uint64_t operations = 0, streaming_operations = 0;
};

class JobTable {
 public:
  explicit JobTable(const NodeLimits& limits) : limits_(limits) {}

  Result<> grant(const JobGrant& grant);
  /// Revokes the job, for the reason `why`; its members have until `over_at` to leave.
  bool revoke(JobId job_id, Time over_at, std::string_view why = {});
  Job* find(JobId job_id) noexcept;
  const Job* find(JobId job_id) const noexcept;
  /// Returns whether this child node may send messages of a group with this number. The answer is yes for a number of
  /// no job, or of a job that did not state its child nodes.
  bool may_speak(NodeId child_node, std::uint32_t number) const noexcept;
  /// Returns the job if it may begin something new: it is granted and not revoked.
  Job* find_active(JobId job_id) noexcept;
  /// Reserves OSTs for one group: at most `request` (a job divides its pool among its groups as it likes), 0 if the pool
  /// is empty.
  std::uint32_t reserve(Job& job, std::uint32_t request) noexcept;
  void give_back(JobId job_id, std::uint32_t osts) noexcept;
  /// Returns the job's part of the memory for streaming, in proportion to its OSTs and groups.
  std::size_t stream_share(const Job& job) const noexcept;
  /// Forgets jobs that are revoked and have nothing left here. Invalidates Job pointers.
  void sweep() {
    if (revoked_ != 0) forget_ended();  // sweep() is called after every message
  }
  /// Returns the jobs that sweep() has forgotten since the last call.
  std::vector<JobId> take_forgotten() { return std::exchange(forgotten_, {}); }
  bool has_forgotten() const noexcept { return !forgotten_.empty(); }
  Time next_over() const noexcept { return next_over_; }  ///< Returns the earliest `over_at`.
  /// Returns the jobs whose members' time to leave is over; each is named once.
  std::vector<JobId> take_overdue(Time now);
  std::vector<JobView> view() const;
  NodeUsage usage() const noexcept;

 private:
  void forget_ended();
  void find_next_over() noexcept;

  NodeLimits limits_;
  std::uint64_t lives_ = 0;
  std::size_t revoked_ = 0;
  Time next_over_ = kNever;
  std::vector<JobId> forgotten_;
  std::vector<Job> jobs_;  // has few entries; searched at set-up, never per message
};

}  // namespace sumac::proto
