#pragma once
// The calls that a team has left to the next module, by the reason and by what was asked for. For users: the last line of
// a job counts them, and SUMAC_EXPLAIN=1 lists them.
#include <vector>

#include "coll/across.hpp"
#include "team/select.hpp"
#include "team/team.h"

namespace sumac::team {

/// Returns the reason for a call that choose() gave to the next module. `tree` is null if there is none.
sumac_left why_left(Why why, const coll::Across* tree, const coll::Operation& operation);

class LeftCalls {
 public:
  /// One call more. The names of the fold are kept by address.
  void note(const coll::Operation& operation, sumac_left why);
  const std::vector<sumac_left_calls_t>& rows() const noexcept { return rows_; }

 private:
  std::vector<sumac_left_calls_t> rows_;
  std::size_t last_ = 0;  ///< The row of the last call.
};

}  // namespace sumac::team
