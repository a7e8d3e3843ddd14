#pragma once
// Where the ranks of MPI_COMM_WORLD are.

namespace sumac::pmpi {

/// Fills library.places, hosts, host_ranks and local_rank. Collective over MPI_COMM_WORLD; false if an exchange failed.
bool find_places();

}  // namespace sumac::pmpi
