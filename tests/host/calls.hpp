#pragma once
// This header makes the MPI call of a collective in each of its three forms.
#include <mpi.h>

#include "tests/host/scenario.hpp"

namespace sumac::tests {

/// One side's buffer, as MPI calls take it. The arrays are for the v-forms.
struct Buffer {
  void* address = nullptr;
  int units = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const int* counts = nullptr;
  const int* displacements = nullptr;
};

struct Arguments {
  Buffer in, out;  ///< bcast: `out` alone. in.address may be MPI_IN_PLACE.
  MPI_Op operation = MPI_OP_NULL;
  int root = 0;
  MPI_Comm comm = MPI_COMM_NULL;
};

/// blocking: done on return. nonblocking: *request is active. persistent: *request exists and is not started.
int call(Coll coll, Form form, const Arguments& arguments, MPI_Request* request);

}  // namespace sumac::tests
