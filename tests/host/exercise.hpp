#pragma once
// One collective of a case: its buffers, their contents before, and the required contents afterwards.
#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/host/calls.hpp"
#include "tests/host/layout.hpp"
#include "tests/host/scenario.hpp"

namespace sumac::tests {

class Exercise {
 public:
  Exercise(const Step& step, MPI_Comm comm);

  /// Fills the buffers for the n-th start, and computes the right result.
  void fill(int start);
  /// Makes the call; `request` is set as by call().
  int post(MPI_Request* request);
  /// Call it after completion: returns the fault, if there is one.
  std::optional<std::string> check() const;
  /// Checks sums with random mantissas: all ranks must have the same bits. Exchanges messages.
  std::optional<std::string> compare_ranks() const;

  const Step& step() const { return step_; }

 private:
  /// A buffer of blocks: the offset of each and its number of elements.
  struct Side {
    Side(const Step& step, const std::vector<std::size_t>& block_counts, bool is_v, std::uint64_t key);
    std::size_t offset(std::size_t block, std::size_t i) const { return begins[block] + layout.offset(i); }
    Buffer buffer();

    Layout layout;
    std::vector<std::size_t> block_counts, begins;
    std::vector<int> units, displacements;  ///< In units of the layout.
    std::optional<Image> image;
  };

  std::size_t count_of(int from, int to) const;
  struct Element {
    alignas(16) std::byte bytes[32];  ///< Room for the widest: complex long double, and long double with a tag.
  };
  Element datum(int from, std::size_t block, std::size_t i) const;
  void put_own(Side& side, std::size_t side_block, std::size_t block);
  /// Expects the reduction of the first `ranks`: `count` elements.
  void expect_reduced(std::size_t block, int ranks, std::size_t count);

  Step step_;
  MPI_Comm comm_;
  int rank_ = 0, size_ = 0, root_ = 0, start_ = 0;
  std::optional<Side> in_, out_;
  bool is_out_significant_ = true;
};

}  // namespace sumac::tests
