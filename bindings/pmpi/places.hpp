#pragma once
// The places of the ranks of MPI_COMM_WORLD: their hosts, sockets and cores.

namespace sumac::pmpi {

/// Fills library.places, hosts and local_rank, and the runtime's host_ranks. Collective over MPI_COMM_WORLD; false if an exchange failed.
bool find_places();

}  // namespace sumac::pmpi
