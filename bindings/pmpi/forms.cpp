#include "bindings/pmpi/forms.hpp"

#include <cstdlib>

namespace sumac::pmpi {
namespace {

/// MPI_Ibarrier on MPI_COMM_SELF would be a request that is done, too, but some MPIs give every such request the same
/// handle.
int done_at_once(void*, MPI_Status* status) {
  (void)mpi.Status_set_elements(status, MPI_BYTE, 0);
  (void)mpi.Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
int free_nothing(void*) { return MPI_SUCCESS; }
int cancel_nothing(void*, int) { return MPI_SUCCESS; }

sumac_why why_not_posted(const Communicator& communicator) {
  switch (communicator.life) {
    case SUMAC_LIFE_FRESH: return communicator.spared > 0 ? SUMAC_WHY_SPARED : SUMAC_WHY_EARLY;
    case SUMAC_LIFE_TEAM: return SUMAC_WHY_HOSTS;
    default: return SUMAC_WHY_NO_TEAM;
  }
}

}  // namespace

Communicator* with_team_slowly(Communicator& communicator, sumac_coll coll, Makes makes, int& rc) {
  if (communicator.life == SUMAC_LIFE_STARTING) return nullptr;  // One of our own calls.
  if (communicator.life == SUMAC_LIFE_FRESH && makes == Makes::if_worth && communicator.spared > 0) {
    sumac_record_explain_spared(&communicator);
    ++communicator.passed[coll][SUMAC_WHY_SPARED];
    return nullptr;
  }
  rc = attach(communicator);
  if (communicator.life == SUMAC_LIFE_TEAM) return rc == MPI_SUCCESS ? &communicator : nullptr;
  ++communicator.passed[coll][SUMAC_WHY_NO_TEAM];
  return nullptr;
}

int counted(MPI_Comm comm, int rc) {
  Communicator* communicator = rc == MPI_SUCCESS ? find(comm) : nullptr;
  if (communicator != nullptr && communicator->life == SUMAC_LIFE_FRESH && communicator->spared > 0)
    --communicator->spared;
  return rc;
}

int not_done(Communicator& communicator, const sumac_call_t& call, int status, bool& passed) {
  passed = is_revoked(communicator);
  if (passed) return MPI_SUCCESS;
  return raise(communicator.handle.load(),
               sumac_lane_failed(&communicator.ordinary, static_cast<sumac_coll>(call.coll), status),
               function_of(call.coll, SUMAC_FORM_BLOCKING));
}

int run_packed(Communicator& communicator, Plan& plan, bool& passed) {
  void* memory = sumac_record_scratch(&communicator, plan.memory_bytes);
  if (memory == nullptr)
    return raise(communicator.handle.load(), MPI_ERR_NO_MEM, function_of(plan.call.coll, SUMAC_FORM_BLOCKING));
  int rc = plan.pack_into(memory);
  if (rc == MPI_SUCCESS) rc = run_call(communicator, plan.call, passed);
  if (rc == MPI_SUCCESS && !passed) rc = plan.unpack();
  sumac_record_trim(&communicator);
  return rc;
}

/// On several hosts the MPI does those nonblocking collectives that need a step by MPI: they would advance only inside
/// those calls of MPI that this library knows of, and our thread may call none.
Lane* lane_for_post(MPI_Comm comm, sumac_coll coll) {
  Communicator* communicator = find(comm);
  if (communicator == nullptr) return nullptr;
  if (communicator->life == SUMAC_LIFE_TEAM && (communicator->hosts == 1 || communicator->has_tree)) [[likely]]
    return &communicator->ordinary;
  ++communicator->passed[coll][why_not_posted(*communicator)];
  return nullptr;
}

int post_nothing(MPI_Request* handle) {
  const int rc = mpi.Grequest_start(done_at_once, free_nothing, cancel_nothing, nullptr, handle);
  return rc == MPI_SUCCESS ? mpi.Grequest_complete(*handle) : rc;
}

}  // namespace sumac::pmpi
