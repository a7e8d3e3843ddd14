#pragma once
// Translates the caller's specs into operations of src/proto. It reads only fields that callers set. Real clients leave
// these uninitialised: root (except for reduce), tag_dtype unless MINLOC or MAXLOC, stream_lock_batch_size, reserved,
// the receive descriptor of a reduce at other ranks than the root, and in windows `length`, `size` and `dtype`, whose
// meaning differs between clients.
#include "client/comm.hpp"

namespace sumac::client {

/// The group's abilities and our rank in it, from which streaming or fragments are chosen: the same at all members,
/// except the rank.
struct Ways {
  bool can_stream = false;
  std::uint64_t stream_threshold = 0;
  std::uint32_t rank = 0, size = 1;
  std::uint32_t payload_per_ost = 0;  ///< The bytes of one OST.
  std::size_t groups = 1;  ///< The groups used in parallel: they complete their parts of one call in any order.
  bool enable_cuda = true;
  bool (*is_device)(const void*) noexcept = cuda::is_device;
};

// Each returns SHARP_COLL_ENOT_SUPP if arguments that all members pass alike decide it (Failure::is_alike: then nothing
// is sent), or a code for an error that this member may have alone, mostly SHARP_COLL_EINVAL (then the others must
// learn of it, Comm::refuse()).
Outcome<Reduction> read_allreduce(const sharp_coll_reduce_spec& spec, const Ways& ways);
Outcome<Reduction> read_reduce(const sharp_coll_reduce_spec& spec, const Ways& ways);
/// With B = bytes of rbuf and N ranks there are N x B bytes in all; sbuf holds the window [offset, offset + its
/// length). A rank gets the bytes of its part [rank x B, (rank + 1) x B) that lie in the window, at the start of rbuf.
Outcome<Reduction> read_reduce_scatter(const sharp_coll_reduce_spec& spec, const Ways& ways);
Outcome<Reduction> read_bcast(const sharp_coll_bcast_spec& spec, const Ways& ways);
/// With B = bytes of sbuf, rbuf is the window [offset, offset + its length) of N x B bytes. A rank contributes the
/// bytes of its part that lie in the window, from the start of sbuf on.
Outcome<Reduction> read_allgather(const sharp_coll_gather_spec& spec, const Ways& ways);

/// Called after completion: copies the staged result to the caller's buffers.
Outcome<> scatter(const Staging& staging);

}  // namespace sumac::client
