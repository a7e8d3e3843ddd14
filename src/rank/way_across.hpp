#pragma once
// The ways between hosts: here a team gets what carries data among its leaders, which are p2p groups (hosts.hpp) and, where
// the ranks have a job (job.hpp), a group of the tree.
#include <memory>
#include <optional>

#include "p2p/team_groups.hpp"
#include "rank/shared_job.hpp"
#include "team/team.h"

namespace sumac::rank {

/// The team runs no operation any more, and none is under way: it leaves the tree's group and its job at once, and not at its
/// own end, which a caller that keeps it may put off. Returns the job, if there was one; it may end with this reference.
std::shared_ptr<Job> leave_tree(struct Ways& ways);

/// Given to sumac_team_create() as `open_context`, which calls open() and agree().
struct WayAcross {
  Exchange& exchange;
  const Members& members;
  const sumac_team_options_t* options;
  const char* name;                        ///< The team's.
  p2p::MessageEvents* messages = nullptr;  ///< Gets those from ranks of other hosts.
  std::optional<Error> error{};            ///< Why there is no way.
  p2p::TeamGroups* hosts = nullptr;        ///< Set once there is a way; the team owns it.
  struct Ways* own_ways = nullptr;         ///< The same.
  bool has_tree = false;                   ///< One of them is the tree.

  void set(sumac_team_spec_t& spec) {
    spec.open_across = &WayAcross::open;
    spec.agree_across = &WayAcross::agree;
    spec.open_context = this;
  }
  static int open(void* context, const int* leaders, int leader_count, int my_index, const void* offers,
                  std::int64_t* agreed, sumac_across_t* across);
  static int agree(void* context, const std::int64_t* agreed, sumac_across_t* across);

 private:
  Result<std::unique_ptr<struct Ways>> find(const std::vector<int>& leaders, int my_index, std::int64_t* agreed);
  Result<> join(const std::vector<int>& leaders, int my_index, struct Ways& ways, std::int64_t* agreed);
};

}  // namespace sumac::rank
