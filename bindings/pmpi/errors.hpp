#pragma once
// Failures become error codes of the MPI: each reason gets a code of its own in class MPI_ERR_OTHER, so that
// MPI_Error_string returns the reason.
#include <string>

#include "bindings/pmpi/mpi.hpp"
#include "rank/profile_table.h"

namespace sumac::pmpi {

struct Communicator;
struct Lane;

/// Returns a code whose MPI_Error_string is `words`, cut to MPI's limit.
int error_code(const std::string& words);
/// Returns the code for a team's failure, and prints the reason once.
int failed(Lane& lane, int coll, int status);
/// The function of MPI that the program has called: "MPI_Iallreduce" for a collective in its nonblocking form.
std::string function_of(int coll, sumac_form form);
/// Does what the MPI does with its own errors: calls the communicator's error handler and returns the code, or ends the job
/// where that is the handler. Then the last words name `function`: the MPI itself would name MPI_Comm_call_errhandler.
int raise(MPI_Comm comm, int code, const std::string& function);

}  // namespace sumac::pmpi
