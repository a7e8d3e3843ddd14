// MPI_Init, MPI_Init_thread, MPI_Finalize, MPI_Comm_idup, and what frees an object whose record hangs at it.
#include <cstdlib>
#include <string_view>

#include "bindings/pmpi/communicator.hpp"
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/idups.hpp"
#include "bindings/pmpi/progress.hpp"
#include "bindings/pmpi/types.hpp"
#include "rank/making.h"
#include "rank/progress.h"

namespace sumac::pmpi {
namespace {

/// SUMAC_ENABLE=0 is read apart from the other settings: then the library does nothing at all, not even look at those.
bool is_wanted() {
  const char* set = std::getenv("SUMAC_ENABLE");
  return set == nullptr || std::string_view(set) != "0";
}

int after_init(int rc) {
  if (rc == MPI_SUCCESS && is_wanted()) begin();
  return rc;
}

int finalize() {
  if (library.on) end();
  return mpi.Finalize();
}

int idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
  const int rc = mpi.Comm_idup(comm, made, request);
  if (rc == MPI_SUCCESS && library.on) note_idup(*request);
  return rc;
}

void ripen(MPI_Comm comm) {
  if (!sumac_makings_exist()) return;
  if (Communicator* communicator = find(comm); communicator != nullptr) sumac_making_ripen(communicator);
}

int free(MPI_Comm* comm) {
  if (!library.on || comm == nullptr) return mpi.Comm_free(comm);
  ripen(*comm);
  const FreeingCommunicator while_freed(*comm);
  return mpi.Comm_free(comm);
}

/// Unlike MPI_Comm_free it waits for what the program has posted there.
int disconnect(MPI_Comm* comm) {
  if (!library.on || comm == nullptr) return mpi.Comm_disconnect(comm);
  ripen(*comm);
  if (sumac_progress_is_posted())
    if (const Communicator* communicator = find(*comm); communicator != nullptr) settle(*communicator);
  const FreeingCommunicator while_freed(*comm);
  return mpi.Comm_disconnect(comm);
}

int free_type(MPI_Datatype* type) {
  if (!library.on || type == nullptr) return mpi.Type_free(type);
  const FreeingType while_freed(*type);
  return mpi.Type_free(type);
}

}  // namespace
}  // namespace sumac::pmpi

/// Open MPI's component looks for this name: only one of the two may serve a process.
extern "C" __attribute__((visibility("default"))) const char sumac_mpi_interposed = 1;

SUMAC_PMPI_NAMES(Init, (int* argc, char*** argv), (argc, argv),
                 sumac::pmpi::after_init(sumac::pmpi::mpi.Init(argc, argv)))
SUMAC_PMPI_NAMES(Init_thread, (int* argc, char*** argv, int required, int* provided), (argc, argv, required, provided),
                 sumac::pmpi::after_init(sumac::pmpi::mpi.Init_thread(argc, argv, required, provided)))
SUMAC_PMPI_NAMES(Finalize, (), (), sumac::pmpi::finalize())
SUMAC_PMPI_NAMES(Comm_idup, (MPI_Comm comm, MPI_Comm* made, MPI_Request* request), (comm, made, request),
                 sumac::pmpi::idup(comm, made, request))
SUMAC_PMPI_NAMES(Comm_free, (MPI_Comm * comm), (comm), sumac::pmpi::free(comm))
SUMAC_PMPI_NAMES(Comm_disconnect, (MPI_Comm * comm), (comm), sumac::pmpi::disconnect(comm))
SUMAC_PMPI_NAMES(Type_free, (MPI_Datatype * type), (type), sumac::pmpi::free_type(type))
