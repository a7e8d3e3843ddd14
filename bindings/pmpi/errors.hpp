#pragma once
// The program learns of a failure as of the MPI's own (rank/error_codes.hpp makes the codes).
#include <string>

#include "bindings/pmpi/mpi.hpp"
#include "rank/profile.h"

namespace sumac::pmpi {

/// The function of MPI that the program has called: "MPI_Iallreduce" for a collective in its nonblocking form.
std::string function_of(int coll, sumac_form form);
/// Does what the MPI does with its own errors: calls the communicator's error handler and returns the code, or ends the job
/// where that is the handler. Then the last words name `function`: the MPI itself would name MPI_Comm_call_errhandler.
int raise(MPI_Comm comm, int code, const std::string& function);

}  // namespace sumac::pmpi
