#pragma once
// One collective on rows of numbers whose right results follow from a rank and a call's number alone: for programs that
// repeat it while other things happen. exercise.hpp tries everything that MPI allows instead.
#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tests/host/scenario.hpp"

namespace sumac::tests {

class Plain {
 public:
  /// `bytes`: of the vector, or of one block.
  Plain(Coll coll, std::size_t bytes, MPI_Comm comm);
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;
  /// Also frees a persistent operation.
  ~Plain();

  /// Fills the buffers; call it before each call.
  void fill(unsigned call);
  /// Runs the collective to its end. The first run of the persistent form makes the operation, and each run starts it.
  int run(Form form);
  /// Returns an empty text if all is well.
  std::string check(unsigned call) const;

 private:
  unsigned right(int block, unsigned call) const;

  Coll coll_;
  MPI_Comm comm_;
  int rank_ = 0, size_ = 0, count_;
  MPI_Request persistent_ = MPI_REQUEST_NULL;
  std::vector<unsigned> in_, out_;
  std::vector<int> counts_, displacements_;
};

}  // namespace sumac::tests
