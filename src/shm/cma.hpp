#pragma once
// May all members of a group read and write each other's memory (cross memory attach)? Asked of the system, not of settings:
// everybody reads a word of everybody. Only if all may do all is single copy open to the group, so nothing depends on one
// member's luck.
#include "machine/cma.hpp"
#include "shm/group.hpp"

namespace sumac::shm {

/// Of the first member that may not or will not; the same at every member.
struct CopyRefusal {
  int member = -1;  ///< -1: there is none.
  int other = -1;   ///< Whose memory it may not read or write; -1: it does not want to.
  machine::Cma why = machine::Cma::works;
};

/// A collective call, between operations, by every member; afterwards `single` algorithms are usable, or are not, alike at
/// every member (Group::turning.single_copy), and set_tuning() may choose them. `wanted` false at any member: they are not.
/// An error only if the group is broken.
Errc agree_on_single_copy(Group& group, bool wanted = true, CopyRefusal* refusal = nullptr);

}  // namespace sumac::shm
