#pragma once
// Failures become error codes of the MPI: each reason gets a code of its own in class MPI_ERR_OTHER, so that
// MPI_Error_string returns the reason.
#include <string>

#include "bindings/pmpi/mpi.hpp"

namespace sumac::pmpi {

struct Communicator;
struct Lane;

/// Returns a code whose MPI_Error_string is `words`, cut to MPI's limit.
int error_code(const std::string& words);
/// Returns the code for a team's failure, and prints the reason once.
int failed(Lane& lane, int coll, int status);
/// Calls the communicator's error handler, as the MPI does with its own errors, and returns the code.
int raise(MPI_Comm comm, int code);

}  // namespace sumac::pmpi
