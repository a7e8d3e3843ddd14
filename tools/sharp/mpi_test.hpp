#pragma once
// The common part of sharp_mpi_test's files: one struct of options, one of a group under test, and a posted operation.
#include <mpi.h>
#include <sharp/api/sharp_coll.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace sumac::mpi_test {

enum class Collective { allreduce, iallreduce, reduce, ireduce, barrier, ibarrier, bcast, reduce_scatter, allgather };
enum class Allocation { malloc, hugetlb, hugethp };

struct Options {
  bool barrier_before = true;
  std::vector<Collective> collectives{Collective::allreduce, Collective::barrier};
  std::string device;
  bool iov = false;
  int iov_count = 2;
  int iterations = 1000;
  int skips = 100;
  std::uint64_t job_id = 0;  ///< 0: drawn by rank 0.
  Allocation allocation = Allocation::malloc;
  bool basic = false, complex = false, perf = false;
  int outstanding = 512;
  int per_host = 0;  ///< 0: every process.
  int root = -1;     ///< -1: the last rank.
  std::size_t bytes_min = 4, bytes_max = 256;
  Dtype dtype = Dtype::float32;
  std::string group_type = "world";
  int group_count = 1;     ///< The n of split:n.
  bool use_sharp = false;  ///< ENABLE_SHARP_COLL=1.
};

/// Empty: help was asked for and printed, or the words are wrong (rank 0 printed the reason); `status` is then the exit
/// status.
std::optional<Options> parse_options(int argc, char** argv, bool speaks, int* status);

const char* name_of(Collective collective);
bool is_nonblocking(Collective collective);

/// The communicators of processes that work together: an MPI communicator, and the tree's group for it unless plain MPI
/// is measured.
struct Group {
  MPI_Comm mpi = MPI_COMM_NULL;
  sharp_coll_context* context = nullptr;
  sharp_coll_comm* sharp = nullptr;
  int rank = 0, size = 0;
};

/// Begins the jobs and makes the group; collective over MPI_COMM_WORLD. A process that does not take part gets mpi ==
/// MPI_COMM_NULL. The library or this function prints errors; all processes get the same answer.
bool make_group(const Options& options, Group* group);
void drop_group(Group* group);

/// Memory of the kind that --host_alloc_type names; nullptr with a line on stderr if it is not available.
class Memory {
 public:
  Memory(std::size_t bytes, Allocation how);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  unsigned char* data() const { return data_; }

 private:
  unsigned char* data_ = nullptr;
  std::size_t mapped_ = 0;
};

/// For reduce_scatter: the part of each member. The parts are equal, except that the last ones may be shorter.
struct Part {
  std::size_t from, to;
};
inline Part part_of(std::size_t count, int rank, int size) {
  const std::size_t each = (count + static_cast<std::size_t>(size) - 1) / static_cast<std::size_t>(size);
  const auto edge = [&](int member) { return std::min(count, each * static_cast<std::size_t>(member)); };
  return {edge(rank), edge(rank + 1)};
}

/// One operation of `count` elements; dtype, op and tag matter only to reductions.
struct Work {
  Collective collective;
  Dtype dtype = Dtype::float32, tag = Dtype::null;
  Op op = Op::sum;
  std::size_t count = 0, element_bytes = 4;
  int root = 0;
  void* in = nullptr;
  void* out = nullptr;  ///< For bcast: the only buffer.
};

/// Does one operation: blocking, or post and wait. @return 0, or the library's error number.
int perform(const Options& options, const Group& group, const Work& work);
/// Posts `times` operations at once, then waits for all.
int perform_many(const Options& options, const Group& group, const Work& work, int times);

/// Checks results. @return the number of wrong or refused operations; operations that are not offered are reported and
/// not counted.
int check_basic(const Options& options, const Group& group);
int check_complex(const Options& options, const Group& group);
int measure(const Options& options, const Group& group);

}  // namespace sumac::mpi_test
