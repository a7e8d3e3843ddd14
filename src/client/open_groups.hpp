#pragma once
// Rank 0 of a communicator asks the trees' roots for group ids: one on every tree that all members still reach, and
// more on the same trees, in rotation, if SHARP_COLL_GROUPS_PER_COMM asks for more groups than there are trees.
#include <array>
#include <cstdint>
#include <string>

#include "client/status.hpp"
#include "client/stripes.hpp"

namespace sumac::client {

class Context;

struct OpenedGroup {
  std::uint32_t tree = 0;  ///< Index into Job::trees.
  GroupId id{};
};

/// The form in which they travel from rank 0 to the others.
struct OpenedGroups {
  std::uint32_t count = 0;
  std::uint32_t lasts = 0;       ///< 1: they outlive their tree.
  std::uint32_t generation = 0;  ///< See Context::generation().
  std::uint32_t reserved = 0;
  std::array<OpenedGroup, kChannelsMax> group{};
};

/// Bit i: some member cannot use tree i of the job.
using TreeMask = std::uint64_t;

/// Returns the trees that this process does not reach any more. Called without the lock.
TreeMask closed_trees(Context& context);

/// Its members can't know whether all of them would go to the same tree.
tl::unexpected<Failure> trees_changed();

/// Returns how many groups a communicator gets that reaches so many trees.
std::size_t groups_wanted(const Context& context, std::size_t trees);

/// Returns at least one group, or the first failure. If only some trees have a group left, the communicator uses those,
/// and the log says so. Called without the lock.
Outcome<OpenedGroups> open_groups(Context& context, std::uint32_t members, TreeMask unusable);

}  // namespace sumac::client
