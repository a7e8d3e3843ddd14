#include "bindings/pmpi/forms.hpp"

#include <cstdlib>

namespace sumac::pmpi {
namespace {

/// A larger buffer is not kept for the next call.
constexpr std::size_t kScratchKeptMax = std::size_t{16} << 20;

void* scratch_of(Communicator& communicator, std::size_t bytes) {
  if (communicator.scratch_bytes < bytes) {
    void* grown = std::aligned_alloc(64, bytes);
    if (grown == nullptr) return nullptr;
    std::free(communicator.scratch);
    communicator.scratch = grown;
    communicator.scratch_bytes = bytes;
  }
  return communicator.scratch;
}

void trim_scratch(Communicator& communicator) {
  if (communicator.scratch_bytes <= kScratchKeptMax) return;
  std::free(communicator.scratch);
  communicator.scratch = nullptr;
  communicator.scratch_bytes = 0;
}

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
    case Life::fresh: return communicator.spared > 0 ? SUMAC_WHY_SPARED : SUMAC_WHY_EARLY;
    case Life::team: return SUMAC_WHY_HOSTS;
    default: return SUMAC_WHY_NO_TEAM;
  }
}

}  // namespace

Communicator* with_team_slowly(Communicator& communicator, sumac_coll coll, Makes makes, int& rc) {
  if (communicator.life == Life::starting) return nullptr;  // One of our own calls.
  if (communicator.life == Life::fresh && makes == Makes::if_worth && communicator.spared > 0) {
    explain_spared(communicator);
    ++communicator.passed[coll][SUMAC_WHY_SPARED];
    return nullptr;
  }
  rc = attach(communicator);
  if (communicator.life == Life::team) return rc == MPI_SUCCESS ? &communicator : nullptr;
  ++communicator.passed[coll][SUMAC_WHY_NO_TEAM];
  return nullptr;
}

int counted(MPI_Comm comm, int rc) {
  Communicator* communicator = rc == MPI_SUCCESS ? find(comm) : nullptr;
  if (communicator != nullptr && communicator->life == Life::fresh && communicator->spared > 0) --communicator->spared;
  return rc;
}

int not_done(Communicator& communicator, const sumac_call_t& call, int status, bool& passed) {
  passed = is_revoked(communicator);
  if (passed) return MPI_SUCCESS;
  return raise(communicator.handle.load(), failed(communicator.ordinary, call.coll, status),
               function_of(call.coll, SUMAC_FORM_BLOCKING));
}

int run_packed(Communicator& communicator, Plan& plan, bool& passed) {
  void* memory = scratch_of(communicator, plan.memory_bytes);
  if (memory == nullptr)
    return raise(communicator.handle.load(), MPI_ERR_NO_MEM, function_of(plan.call.coll, SUMAC_FORM_BLOCKING));
  int rc = plan.pack_into(memory);
  if (rc == MPI_SUCCESS) rc = run_call(communicator, plan.call, passed);
  if (rc == MPI_SUCCESS && !passed) rc = plan.unpack();
  trim_scratch(communicator);
  return rc;
}

/// On several hosts the MPI does those nonblocking collectives that need a step by MPI: they would advance only inside
/// those calls of MPI that this library knows of, and our thread may call none.
Lane* lane_for_post(MPI_Comm comm, sumac_coll coll) {
  Communicator* communicator = find(comm);
  if (communicator == nullptr) return nullptr;
  if (communicator->life == Life::team && (communicator->hosts == 1 || communicator->has_tree)) [[likely]]
    return &communicator->ordinary;
  ++communicator->passed[coll][why_not_posted(*communicator)];
  return nullptr;
}

int post_nothing(MPI_Request* handle) {
  const int rc = mpi.Grequest_start(done_at_once, free_nothing, cancel_nothing, nullptr, handle);
  return rc == MPI_SUCCESS ? mpi.Grequest_complete(*handle) : rc;
}

}  // namespace sumac::pmpi
