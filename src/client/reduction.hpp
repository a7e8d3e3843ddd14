#pragma once
// From the caller's reduce_spec to an operation of src/proto. Reads only what callers set (docs: fields that real clients leave
// uninitialised are root, tag_dtype unless MINLOC or MAXLOC, stream_lock_batch_size, offset, reserved).
#include "client/comm.hpp"

namespace sumac::client {

/// What the group can do, as far as the choice of a way depends on it: the same at all members.
struct Ways {
  bool can_stream = false;
  std::uint64_t stream_threshold = 0;
};

/// SHARP_COLL_ENOT_SUPP or SHARP_COLL_EINVAL, decided by the spec alone, so alike at all members that pass the same.
Outcome<Reduction> read_allreduce(const sharp_coll_reduce_spec& spec, const Ways& ways);

/// After completion: what was staged goes to the caller's pieces.
void scatter(const Staging& staging);

}  // namespace sumac::client
