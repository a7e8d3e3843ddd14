#pragma once
// Group ids, at the tree's root. The lower half is the pool's number (1 to the node's limit), the upper half a
// generation that grows with each use of the number, so that a late message of a former group is recognised. The
// outcome of an Open is remembered by (job, token): a repeated Open gets the same answer, also for a while after the
// group has left, and never a second id.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "proto/job_table.hpp"
#include "wire/agg.hpp"

namespace sumac::proto {

constexpr std::uint32_t id_number(GroupId group_id) noexcept { return number_of(group_id) & 0xFFFFu; }
constexpr std::uint16_t id_generation(GroupId group_id) noexcept {
  return static_cast<std::uint16_t>(number_of(group_id) >> 16);
}
constexpr GroupId make_group_id(std::uint16_t generation, std::uint32_t number) noexcept {
  return GroupId{std::uint32_t{generation} << 16 | number};
}
/// Returns whether id `a` is of a later use of the same number than `b`. Generations wrap: they are compared in a
/// circle of 2^16.
constexpr bool id_newer(GroupId a, GroupId b) noexcept {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(id_generation(a) - id_generation(b))) > 0;
}

struct TokenKey {
  JobId job_id{};
  std::uint64_t token = 0;
  friend bool operator==(const TokenKey&, const TokenKey&) = default;
};
struct TokenHash {
  std::size_t operator()(const TokenKey& key) const noexcept {
    return static_cast<std::size_t>((number_of(key.job_id) * 0x9e3779b97f4a7c15ull) ^
                                    (key.token * 0xc2b2ae3d27d4eb4full >> 7));
  }
};

class IdPool {
 public:
  explicit IdPool(std::uint32_t limit);

  struct Answer {
    GroupId group_id{};  ///< 0: no id is left.
  };
  /// `job` is null if the job may begin nothing: then only an earlier answer counts.
  Answer open(const TokenKey& key, Job* job);
  /// The group has ended; an id that is not in use is ignored. Returns the job that it belonged to, or JobId{}.
  JobId release(GroupId group_id);
  /// The job has ended. Members may never have joined some of its ids; those are used again, but last.
  void orphan(JobId job_id);
  /// The job goes on. Returns how many of the ids that it may have are in use.
  std::uint32_t adopt(JobId job_id, const JobGrant& grant);
  bool in_use(GroupId group_id, JobId job_id) const noexcept;
  std::uint32_t used() const noexcept { return used_; }

 private:
  static constexpr std::size_t kTokensMax = 4096;  // entries kept after their group has ended, of all jobs together

  struct Entry {
    std::uint16_t generation = 0;
    bool in_use = false, orphan = false;
    TokenKey key{};
  };
  struct Token {
    GroupId group_id{};
    bool over = false;
  };
  std::uint32_t take_number(const JobGrant& grant);
  void remember(const TokenKey& key);

  std::vector<Entry> entries_;      // [number]; number 0 is unused
  std::deque<std::uint32_t> free_;  // oldest first: a number rests as long as possible
  std::unordered_map<TokenKey, Token, TokenHash> tokens_;
  /// [job], in the order in which the groups ended. A job that asks without end pushes out its own answers and no other
  /// job's.
  std::unordered_map<JobId, std::deque<TokenKey>> over_;
  std::size_t remembered_ = 0;  // number of entries in over_
  std::uint32_t used_ = 0;
};

}  // namespace sumac::proto
