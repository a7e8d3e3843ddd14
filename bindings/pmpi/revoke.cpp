// A communicator that the program revokes (User-Level Failure Mitigation, in Open MPI 5 and MPICH). From then on every
// call on it is the MPI's, which returns MPI_ERR_REVOKED; ranks of this host that wait in a collective of ours leave it.
// Those of other hosts learn of it by the MPI's own messages among the leaders.
#include "bindings/pmpi/communicator.hpp"
#include "bindings/pmpi/entry.hpp"

namespace sumac::pmpi {
namespace {

constexpr const char* kWhy = "the communicator was revoked";

void give_up(Communicator& communicator) {
  if (communicator.ordinary.team != nullptr) {
    sumac_team_break(communicator.ordinary.team, kWhy);
    for (const auto& lane : communicator.lanes)
      if (lane && lane->team != nullptr) sumac_team_break(lane->team, kWhy);
  }
  communicator.life = SUMAC_LIFE_PASS;
}

int revoke(MPI_Comm comm) {
  if (optional.Comm_revoke == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  // Looked up first, because a revoked communicator refuses what a new record asks of it.
  Communicator* communicator = library.on ? find(comm) : nullptr;
  const int rc = optional.Comm_revoke(comm);
  if (rc == MPI_SUCCESS && communicator != nullptr) give_up(*communicator);
  return rc;
}

}  // namespace

bool is_revoked(sumac_record* record) {
  auto& communicator = static_cast<Communicator&>(*record);
  int revoked = 0;
  if (optional.Comm_is_revoked == nullptr ||
      optional.Comm_is_revoked(communicator.handle.load(), &revoked) != MPI_SUCCESS || revoked == 0)
    return false;
  give_up(communicator);
  return true;
}

}  // namespace sumac::pmpi

SUMAC_PMPI_NAME(PMPIX_Comm_revoke, (MPI_Comm comm), sumac::pmpi::revoke(comm))
SUMAC_PMPI_NAME(MPIX_Comm_revoke, (MPI_Comm comm), sumac::pmpi::revoke(comm))
