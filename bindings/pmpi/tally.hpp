#pragma once
// The line at MPI_Finalize.

namespace sumac::pmpi {

struct Communicator;

/// Called before a communicator's teams are destroyed.
void add_to_tally(const Communicator& communicator);
/// Prints how many calls of the job went which way. Collective over MPI_COMM_WORLD.
void print_tally();

}  // namespace sumac::pmpi
