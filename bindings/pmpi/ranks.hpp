#pragma once
// The ranks of a communicator, and the MPI's blocking functions over them, as src/rank sees them.
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

}  // namespace sumac::pmpi
