#pragma once
// What jobs were granted at one node, and what of it is taken. What is granted to one is never granted to another.
#include <cstdint>
#include <utility>
#include <vector>

#include "proto/node_types.hpp"

namespace sumac::proto {

struct Job {
  JobGrant grant{};
  std::uint64_t life =
      0;  ///< Another one for each grant: a job's number may be given to somebody else's, with another key.
  bool revoked = false;
  Time over_at = kNever;  ///< Revoked: when its members must have left.
  std::uint32_t osts_free = 0;
  std::uint32_t groups_here = 0;  ///< With a life at this node that is not over.
  std::uint32_t ids_used = 0;     ///< At the tree's root.
  std::size_t stream_bytes = 0;   ///< Reserved by its groups.
  std::uint64_t operations = 0, streaming_operations = 0;
};

class JobTable {
 public:
  explicit JobTable(const NodeLimits& limits) : limits_(limits) {}

  Result<> grant(const JobGrant& grant);
  /// Its members have until `over_at` to leave.
  bool revoke(std::uint64_t job_id, Time over_at);
  Job* find(std::uint64_t job_id) noexcept;
  const Job* find(std::uint64_t job_id) const noexcept;
  /// May this child node speak of a group with this number? Numbers of no job, or of one that did not say whose they are, tell nothing.
  bool may_speak(std::uint32_t child_node, std::uint32_t number) const noexcept;
  /// The job if it may begin something new: granted and not revoked.
  Job* find_active(std::uint64_t job_id) noexcept;
  /// OSTs for one group: at most `wish` (how a job shares its pool among its groups is its own affair), 0 if the pool is empty.
  std::uint32_t reserve(Job& job, std::uint32_t wish) noexcept;
  void give_back(std::uint64_t job_id, std::uint32_t osts) noexcept;
  /// Its part of the memory for streaming: as much as of OSTs and groups.
  std::size_t stream_share(const Job& job) const noexcept;
  /// Forgets jobs that are revoked and have nothing left here. Invalidates Job pointers.
  void sweep() {
    if (revoked_ != 0) forget_ended();  // asked behind every message
  }
  /// Jobs that sweep() has forgotten since the last call.
  std::vector<std::uint64_t> take_forgotten() { return std::exchange(forgotten_, {}); }
  bool has_forgotten() const noexcept { return !forgotten_.empty(); }
  Time next_over() const noexcept { return next_over_; }  ///< The earliest `over_at`.
  /// Jobs whose members' time is over; each is named once.
  std::vector<std::uint64_t> take_overdue(Time now);
  std::vector<JobView> view() const;

 private:
  void forget_ended();
  void find_next_over() noexcept;

  NodeLimits limits_;
  std::uint64_t lives_ = 0;
  std::size_t revoked_ = 0;
  Time next_over_ = kNever;
  std::vector<std::uint64_t> forgotten_;
  std::vector<Job> jobs_;  // few; looked up when something is set up, never per message
};

}  // namespace sumac::proto
