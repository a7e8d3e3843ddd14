#pragma once
// A fold combines two elements of a reduction. The predefined types and operations for which src/reduce has a kernel use
// it; MPI_Reduce_local does the other legal ones, derived types and a user's operation.
#include <cstdint>

#include "bindings/pmpi/types.hpp"
#include "team/team.h"

namespace sumac::pmpi {

struct Fold {
  sumac_fold_t fold{};  ///< The first member: a leader finds `type` and `op` from it.
  std::size_t mpi_bytes =
      0;                ///< One MPI element in an array; 0: there is no such pair. Two `fold` elements if complex.
  MPI_Datatype type{};  ///< One element of `fold` for MPI.
  MPI_Op op{};
  std::ptrdiff_t true_lb = 0, true_extent = 0;  ///< These measure the data in one element of a derived type.
};

/// Fills the table; once, after the functions were found.
void fill_folds();

/// Returns the row of a predefined type in the table; -1: reductions do not know it.
int fold_row(MPI_Datatype type);

/// Returns the pair's entry, null if the table has none. Depends on the arguments alone, so all ranks agree.
const Fold* find_fold(const Type& type, MPI_Op op);

/// Fills `fold` for a user's operation or a derived type, whose elements lie `extent` bytes apart. False: the pair is
/// not for a team. `commutes` says whether the order of the operands may change.
bool make_fold(const Type& type, MPI_Op op, Fold& fold, bool& commutes);

}  // namespace sumac::pmpi
