#pragma once
// From the caller's specs to an operation of src/proto. Reads only what callers set: fields that real clients leave
// uninitialised are root (but for reduce), tag_dtype unless MINLOC or MAXLOC, stream_lock_batch_size, reserved, the receive descriptor
// of a reduce at other ranks than the root, and in windows `length`, `size` and `dtype`, on whose meaning they don't agree.
#include "client/comm.hpp"

namespace sumac::client {

/// What the group can do and who we are in it, as far as the choice of a way depends on it: but for the rank the same at all members.
struct Ways {
  bool can_stream = false;
  std::uint64_t stream_threshold = 0;
  std::uint32_t rank = 0, size = 1;
  std::uint32_t payload_max = 0;  ///< Bytes of one OST.
  std::size_t groups = 1;         ///< Side by side: they complete their parts of one call in any order.
  bool enable_cuda = true;
  bool (*is_device)(const void*) noexcept = cuda::is_device;
};

// Each: SHARP_COLL_ENOT_SUPP, decided by what all members pass alike (Failure::is_alike: then nothing is sent); or a code for what may be
// wrong at this member alone, mostly SHARP_COLL_EINVAL (then the others must be told, Comm::refuse()).
Outcome<Reduction> read_allreduce(const sharp_coll_reduce_spec& spec, const Ways& ways);
Outcome<Reduction> read_reduce(const sharp_coll_reduce_spec& spec, const Ways& ways);
/// B = bytes of rbuf, N ranks, N x B bytes in all; sbuf holds the window [offset, offset + its length). A rank gets what of its part
/// [rank x B, (rank + 1) x B) lies in the window, at the start of rbuf.
Outcome<Reduction> read_reduce_scatter(const sharp_coll_reduce_spec& spec, const Ways& ways);
Outcome<Reduction> read_bcast(const sharp_coll_bcast_spec& spec, const Ways& ways);
/// B = bytes of sbuf; rbuf is the window [offset, offset + its length) of N x B bytes. A rank gives what of its part lies in the
/// window, from the start of sbuf on.
Outcome<Reduction> read_allgather(const sharp_coll_gather_spec& spec, const Ways& ways);

/// After completion: what was staged goes to the caller's pieces.
Outcome<> scatter(const Staging& staging);

}  // namespace sumac::client
