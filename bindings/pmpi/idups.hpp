#pragma once
// The MPI_Comm_idup that are under way at this rank.
#include <vector>

#include "bindings/pmpi/mpi.hpp"

namespace sumac::pmpi {

/// Called with the request of an MPI_Comm_idup.
void note_idup(MPI_Request request);
/// True if one of them is not done.
bool idups_under_way();
/// True if a request of one of them is still the program's: then calls that complete requests are watched.
bool idups_noted() noexcept;

/// Lives around a call that completes requests, and forgets those of MPI_Comm_idup that it has completed.
class IdupWatch {
 public:
  IdupWatch(int count, const MPI_Request* requests);
  ~IdupWatch();
  IdupWatch(const IdupWatch&) = delete;
  IdupWatch& operator=(const IdupWatch&) = delete;

 private:
  const MPI_Request* after_;
  std::vector<MPI_Request> before_;  ///< Empty if there is nothing to watch.
};

}  // namespace sumac::pmpi
