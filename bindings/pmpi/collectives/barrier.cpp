// MPI_Barrier in its forms. The blocking one has no plan: programs wait for barriers most.
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/forms.hpp"

namespace sumac::pmpi {
namespace {

[[gnu::always_inline]] inline int serve_barrier(MPI_Comm comm) {
  static constexpr sumac_call_t kCall{.coll = SUMAC_COLL_BARRIER};
  int rc = MPI_SUCCESS;
  Communicator* communicator = with_team(comm, SUMAC_COLL_BARRIER, rc);
  if (communicator == nullptr) [[unlikely]]
    return rc != MPI_SUCCESS ? raise(comm, rc, function_of(SUMAC_COLL_BARRIER, SUMAC_FORM_BLOCKING))
                             : counted(comm, mpi.Barrier(comm));
  bool passed = false;
  rc = run_call(*communicator, kCall, passed);
  return passed ? mpi.Barrier(comm) : rc;
}

Planned plan_barrier(const Communicator&, Plan& plan) {
  plan.call.bytes = 0;
  return Planned::run;
}

}  // namespace
}  // namespace sumac::pmpi

#define PLAN plan_barrier(team, plan)
#define BYTES 0
SUMAC_PMPI_BLOCKING(Barrier, (MPI_Comm comm), (comm), return sumac::pmpi::serve_barrier(comm);
                    , SUMAC_PMPI_FORM(blocking, SUMAC_COLL_BARRIER, Barrier, (comm), PLAN))
SUMAC_PMPI_NAMES(Ibarrier, (MPI_Comm comm, MPI_Request* request), (comm, request),
                 SUMAC_PMPI_FORM(nonblocking, SUMAC_COLL_BARRIER, Ibarrier, (comm, request), PLAN, request, ))
SUMAC_PMPI_PERSISTENT_FORM(Barrier_init, (MPI_Comm comm, MPI_Info info, MPI_Request* request), (comm, info, request),
                           SUMAC_COLL_BARRIER)
