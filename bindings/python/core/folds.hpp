#pragma once
// The folds of this process: made at its first reduction, and never again.
#include <array>

#include "base/types.hpp"
#include "team/team.h"

namespace sumac::python {

/// Null: this pair is not defined.
inline const sumac_fold_t* fold_of(Dtype dtype, Op op) {
  using Folds = std::array<std::array<sumac_fold_t, kOpCount>, kDtypeCount>;
  static const Folds folds = [] {
    Folds made{};
    for (int of = 0; of < kDtypeCount; ++of)
      for (int by = 0; by < kOpCount; ++by)
        (void)sumac_fold_standard(&made[static_cast<std::size_t>(of)][static_cast<std::size_t>(by)], of, by,
                                  static_cast<int>(Dtype::null));
    return made;
  }();
  const auto row = static_cast<std::size_t>(dtype), column = static_cast<std::size_t>(op);
  if (row >= kDtypeCount || column >= kOpCount) return nullptr;
  const sumac_fold_t& found = folds[row][column];
  return found.element_bytes != 0 ? &found : nullptr;
}

}  // namespace sumac::python
