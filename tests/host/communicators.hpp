#pragma once
// The communicators that cases run on. Most live as long as the program; some are made for a case and freed later, in a
// different order.
#include <mpi.h>

#include <cstdint>
#include <vector>

#include "tests/host/scenario.hpp"

namespace sumac::tests {

class Communicators {
 public:
  Communicators();
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  /// Collective over the world. MPI_COMM_NULL: this rank has no part in the case.
  MPI_Comm get(Where where, std::uint64_t key);

 private:
  MPI_Comm make_fresh(std::uint64_t key);

  std::vector<MPI_Comm> lasting_;
  std::vector<MPI_Comm> fresh_;  ///< Communicators not yet freed; the same number at every rank.
};

}  // namespace sumac::tests
