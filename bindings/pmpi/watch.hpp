#pragma once
// SUMAC_PROFILE and SUMAC_TRACE: the program's calls of collectives are measured and counted. Without them only one flag
// is read, which every collective reads anyway (Library::plain).
#include <cstdint>

#include "bindings/pmpi/library.hpp"
#include "bindings/pmpi/types.hpp"
#include "rank/profile.h"
#include "rank/record.h"

namespace sumac::pmpi {

struct Communicator;

/// The ranks of a communicator, for the bytes of a call. `peers` is the number of ranks that get a block from this one:
/// in an intercommunicator those of the other group.
struct Shape {
  int rank = 0, size = 0, peers = 0;
};

/// One call of the program.
class Watch {
 public:
  Watch(int coll, sumac_form form, MPI_Comm comm);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  /// False for a communicator of one rank, and for a call inside another one.
  bool counts() const { return counts_; }
  const Shape& shape() const { return shape_; }
  void begin(std::uint64_t bytes);
  /// `request` is null for a blocking call.
  void end(const MPI_Request* request) const;

 private:
  int way(const MPI_Request* request) const;

  MPI_Comm comm_;
  bool counts_ = false;
  Shape shape_;
  sumac_profile_call call_{};
  sumac_counted before_{};
};

/// Does `call`, and counts it.
template <class Bytes, class Call>
int watched(int coll, sumac_form form, MPI_Comm comm, const MPI_Request* request, const Bytes& bytes,
            const Call& call) {
  Watch watch(coll, form, comm);
  if (!watch.counts()) return call();
  watch.begin(bytes(watch.shape()));
  const int rc = call();
  watch.end(request);
  return rc;
}

/// A collective that is always the MPI's.
template <class Bytes, class Next>
int left_to_mpi(int coll, sumac_form form, MPI_Comm comm, const Bytes& bytes, const Next& next) {
  return library.watches ? watched(coll, form, comm, nullptr, bytes, next) : next();
}

// ---- the bytes of a call: what this rank gives, or gets where the root alone gives ----

std::uint64_t bytes_of(MPI_Datatype type, MPI_Count count);

template <class Count>
std::uint64_t bytes_of_all(MPI_Datatype type, const Count* counts, int blocks) {
  std::uint64_t bytes = 0;
  for (int i = 0; i < blocks; ++i) bytes += bytes_of(type, counts[i]);
  return bytes;
}

template <class Count>
std::uint64_t bytes_of_each(const MPI_Datatype* types, const Count* counts, int blocks) {
  std::uint64_t bytes = 0;
  for (int i = 0; i < blocks; ++i) bytes += bytes_of(types[i], counts[i]);
  return bytes;
}

/// In an intercommunicator the root's own side has no data at its other ranks.
inline bool is_at_root_side(int root) { return root == MPI_ROOT || root == MPI_PROC_NULL; }

/// Begins to count; collective over MPI_COMM_WORLD.
void begin_watch(const char* host);
/// Prints the profile and writes the trace; collective.
void end_watch();

}  // namespace sumac::pmpi
