#pragma once
// A collective of the client as an operation of src/team: operation.cpp reads its arguments, collectives.cpp runs or posts it.
#include <memory>
#include <vector>

#include "bindings/hcoll/context.hpp"
#include "bindings/hcoll/types.hpp"

namespace sumac::hcoll {

using Dte = dte_data_representation_t;

/// Each function returns HCOLL_SUCCESS, or that nothing was started: the same at all ranks, unless their arguments contradict each
/// other.
class Operation {
 public:
  explicit Operation(Team& of) : team(&of), size_(static_cast<std::size_t>(of.size)) {}

  int barrier();
  int bcast(void* buffer, int count, Dte type, int root);
  /// An allreduce, a scan, an exscan, or a reduce_scatter_block.
  template <sumac_coll Coll>
  int reduction(void* sbuf, void* rbuf, int count, Dte type, hcoll_dte_op_t* op) {
    call.coll = Coll;
    return vector(sbuf, rbuf, count, type, op, true);
  }
  int reduce(void* sbuf, void* rbuf, int count, Dte type, hcoll_dte_op_t* op, int root);
  int reduce_scatter(void* sbuf, void* rbuf, int* rcounts, Dte type, hcoll_dte_op_t* op);
  /// An allgather, whose own block goes to blocks of one size, or an alltoall, all of whose blocks do.
  template <sumac_coll Coll>
  int equal_blocks(void* sbuf, int scount, Dte stype, void* rbuf, int rcount, Dte rtype) {
    call.coll = Coll;
    return blocks_of_one_size(sbuf, scount, stype, rbuf, rcount, rtype);
  }
  int allgatherv(void* sbuf, int scount, Dte stype, void* rbuf, int* rcounts, int* displs, Dte rtype);
  int alltoallv(void* sbuf, int* scounts, int* sdispls, Dte stype, void* rbuf, int* rcounts, int* rdispls, Dte rtype);
  int gather(void* sbuf, int scount, Dte stype, void* rbuf, int rcount, Dte rtype, int root);
  int gatherv(void* sbuf, int scount, Dte stype, void* rbuf, int* rcounts, int* displs, Dte rtype, int root);
  int scatter(void* sbuf, int scount, Dte stype, void* rbuf, int rcount, Dte rtype, int root);
  int scatterv(void* sbuf, int* scounts, int* displs, Dte stype, void* rbuf, int rcount, Dte rtype, int root);

  /// The elements with gaps go to where they belong.
  void conclude() const noexcept;

  Team* team;
  sumac_call_t call{};
  bool is_empty = false;  ///< No rank has anything to do.

 private:
  /// Elements with gaps, without them.
  struct Packed {
    dte_ptr layout;  ///< A copy: the program may free the type before the end.
    void* buffer;
    std::size_t count;
    bool is_result;
    std::unique_ptr<std::byte[]> memory;
  };
  enum class Use : std::uint8_t { input, result, both };

  int invalid(const char* why) const;
  int set_root(int root);
  bool is_root() const noexcept { return call.root == team->rank; }
  /// Sets where the elements are without gaps, and their bytes.
  int read(void* buffer, std::int64_t count, const Dte& type, Use use, void*& at, std::size_t& bytes);
  /// The same for what this rank gives: sets call.in.
  int read_in(void* buffer, std::int64_t count, const Dte& type, std::size_t& bytes);
  int read_blocks(void* buffer, int* counts, int* displacements, const Dte& type, void*& at, sumac_blocks_t& blocks);
  /// The blocks of all ranks, which have `count` elements each: sets call.out and call.bytes.
  int read_whole(void* buffer, int count, const Dte& type, Use use);
  /// A rank's own block in a rooted collective: sets call.in or call.out. At the root the blocks of all ranks were read before. There
  /// it has as many bytes as each of them, or is in place.
  int own_block(void* buffer, int count, const Dte& type, Use use);
  int read_fold(const Dte& type, const hcoll_dte_op_t* op);
  int vector(void* sbuf, void* rbuf, int count, const Dte& type, const hcoll_dte_op_t* op, bool has_result);
  int blocks_of_one_size(void* sbuf, int scount, const Dte& stype, void* rbuf, int rcount, const Dte& rtype);

  std::size_t size_;
  std::vector<Packed> packed_;
};

}  // namespace sumac::hcoll
