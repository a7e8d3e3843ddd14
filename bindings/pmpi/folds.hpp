#pragma once
// A fold combines two elements of a reduction. The predefined types and operations for which src/reduce has a kernel use
// it; MPI_Reduce_local does the other legal ones, derived types and a user's operation.
#include <cstdint>

#include "bindings/pmpi/types.hpp"
#include "team/team.h"

namespace sumac::pmpi {

using Fold = sumac_pair;
inline MPI_Datatype type_of(const Fold& fold) { return handle_from<MPI_Datatype>(fold.type); }
inline MPI_Op op_of(const Fold& fold) { return handle_from<MPI_Op>(fold.op); }

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
