#pragma once
// May all members of a group read and write each other's memory (cross memory attach)? The members test it instead of
// reading settings: each reads a word of every other. Single copy is used only if all may do all, so that nothing
// depends on a single member.
#include "machine/cma.hpp"
#include "shm/group.hpp"

namespace sumac::shm {

/// Names the first member that may not or does not want to; the same at every member.
struct CopyRefusal {
  int member = -1;  ///< -1 if all agree.
  int other = -1;   ///< The member whose memory it may not read or write; -1 if it does not want to.
  machine::Cma why = machine::Cma::works;
};

/// A collective call by every member, between operations. Afterwards the `single` algorithms are usable at every member
/// or at none (Group::turning.single_copy), and set_tuning() may choose them. They are not usable if `wanted` is false
/// at any member. Returns an error only if the group is broken.
Errc agree_on_single_copy(Group& group, bool wanted = true, CopyRefusal* refusal = nullptr);

}  // namespace sumac::shm
