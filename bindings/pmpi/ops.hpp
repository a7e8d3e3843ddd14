#pragma once
// A program may free its operation while a nonblocking or persistent collective still uses it. MPI cannot duplicate an
// operation, so MPI_Op_free waits for our requests.
#include "bindings/pmpi/mpi.hpp"

namespace sumac::pmpi {

void hold_op(MPI_Op op);
/// Frees the operation if the program has freed it and no request of ours uses it any more.
void release_op(MPI_Op op);

}  // namespace sumac::pmpi
