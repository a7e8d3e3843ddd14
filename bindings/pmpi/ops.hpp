#pragma once
// The operations of reductions, and the predefined types that they know (rank/fold.h).
#include <cstddef>

#include "bindings/pmpi/types.hpp"
#include "rank/fold.h"

namespace sumac::pmpi {

/// Fills the table of pairs; once, after the functions were found.
void fill_pairs();
/// Returns the row of a predefined type in that table; -1: reductions do not know it.
int row_of(MPI_Datatype type);
/// Returns the pair of the table; null: there is none.
const sumac_pair* find_pair(MPI_Datatype type, MPI_Op op);

/// These serve as the functions of the runtime. A program may free its operation while a nonblocking or persistent collective
/// still uses it. MPI cannot duplicate an operation, so MPI_Op_free waits for our requests.
int op_kind(std::uintptr_t op);
void reduce_local(const void* in, void* inout, int count, std::uintptr_t type, std::uintptr_t op);
void hold_op(std::uintptr_t op);
/// Frees the operation if the program has freed it and no request of ours uses it any more.
void release_op(std::uintptr_t op);

}  // namespace sumac::pmpi
