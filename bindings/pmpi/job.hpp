#pragma once
// The tree's job, from MPI_Init to MPI_Finalize, and the MPI as the common part of the bindings sees it.
#include <string>

#include "bindings/pmpi/library.hpp"
#include "rank/communicator.h"

namespace sumac::pmpi {

/// A communicator of the MPI behind the record of src/rank.
class CommunicatorOfMpi {
 public:
  explicit CommunicatorOfMpi(MPI_Comm comm);
  CommunicatorOfMpi(const CommunicatorOfMpi&) = delete;
  CommunicatorOfMpi& operator=(const CommunicatorOfMpi&) = delete;
  const sumac_communicator& record() const { return record_; }

 private:
  MPI_Comm comm_;
  std::string name_;
  sumac_communicator record_{};
};

/// Begins the tree's job if the user wants it and there are enough hosts. Collective over MPI_COMM_WORLD.
void begin_job();
/// Frees groups that have left, if there may be any.
void reap_job();
/// Ends the job without a call of MPI.
void end_job();

}  // namespace sumac::pmpi
