#pragma once
// SUMAC_PROFILE and SUMAC_TRACE: the program's calls of collectives are measured and counted. Without them only one flag
// is read, which every collective reads anyway (Library::plain).
#include <cstdint>

#include "bindings/pmpi/communicator.hpp"
#include "rank/arguments.h"
#include "rank/profile.h"

namespace sumac::pmpi {

/// One call of the program.
class Watch {
 public:
  Watch(int coll, sumac_form form, MPI_Comm comm);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  /// False for a communicator of one rank, and for a call inside another one.
  bool counts() const { return counts_; }
  const sumac_shape& shape() const { return shape_; }
  void begin(std::uint64_t bytes);
  /// `request` is null for a blocking call.
  void end(const MPI_Request* request) const;

 private:
  /// The record that counts calls of this collective; null: none does.
  const Communicator* counting() const { return call_.coll < SUMAC_COLLS ? find(comm_) : nullptr; }
  int way(const MPI_Request* request) const;

  MPI_Comm comm_;
  bool counts_ = false;
  sumac_shape shape_{};
  sumac_profile_call call_{};
  sumac_counted before_{};
};

/// Does `call`, and counts it.
template <class Call>
int watched(int coll, sumac_form form, MPI_Comm comm, const MPI_Request* request, const sumac_arguments& given,
            const Call& call) {
  Watch watch(coll, form, comm);
  if (!watch.counts()) return call();
  watch.begin(sumac_bytes_of(&runtime, coll, &watch.shape(), &given));
  const int rc = call();
  watch.end(request);
  return rc;
}

/// Begins to count; collective over MPI_COMM_WORLD.
void begin_watch(const char* host);

}  // namespace sumac::pmpi
