#include "client/reduction.hpp"

#include <cstring>

namespace sumac::client {
namespace {

Outcome<> check_memory(const sharp_coll_data_desc& desc, const char* which) {
  const auto type = static_cast<unsigned>(desc.type);
  const auto memory = static_cast<unsigned>(desc.mem_type);
  if (type != SHARP_DATA_BUFFER && type != SHARP_DATA_IOV)
    return failure(SHARP_COLL_EINVAL, "allreduce: {} is neither a buffer nor a list (type {})", which, type);
  if (memory != SHARP_MEM_TYPE_HOST)
    return failure(SHARP_COLL_ENOT_SUPP, "allreduce: {} lies in memory of type {}; only host memory is supported",
                   which, memory);
  if (type == SHARP_DATA_IOV &&
      (desc.iov.count > SHARP_COLL_DATA_MAX_IOV || (desc.iov.count > 0 && desc.iov.vector == nullptr)))
    return failure(SHARP_COLL_EINVAL, "allreduce: {} is a list of {} pieces; at most {}", which, desc.iov.count,
                   SHARP_COLL_DATA_MAX_IOV);
  return {};
}

std::uint64_t length_of(const sharp_coll_data_desc& desc) {
  if (desc.type == SHARP_DATA_BUFFER) return desc.buffer.length;
  std::uint64_t bytes = 0;
  for (unsigned i = 0; i < desc.iov.count; ++i) bytes += desc.iov.vector[i].length;
  return bytes;
}

Outcome<> check_length(const sharp_coll_data_desc& desc, std::uint64_t bytes, const char* which) {
  if (length_of(desc) < bytes)
    return failure(SHARP_COLL_EINVAL, "allreduce: {} has {} bytes, the operation {}", which, length_of(desc), bytes);
  if (bytes > 0 && desc.type == SHARP_DATA_BUFFER && desc.buffer.ptr == nullptr)
    return failure(SHARP_COLL_EINVAL, "allreduce: {} is NULL", which);
  return {};
}

/// The tag's type of a pair, or nothing if there is none like it.
Outcome<Dtype> tag_of(const sharp_coll_reduce_spec& spec) {
  const auto tag = static_cast<unsigned>(spec.tag_dtype);
  if (tag == SHARP_DTYPE_NULL) return Dtype::null;
  if (is_dtype(tag) && is_integer(static_cast<Dtype>(tag))) return static_cast<Dtype>(tag);
  return failure(SHARP_COLL_ENOT_SUPP, "allreduce: tag_dtype {} is not an integer type; set it for MINLOC and MAXLOC",
                 tag);
}

void gather(const sharp_coll_data_desc& desc, std::vector<std::byte>& to, std::uint64_t bytes) {
  to.reserve(bytes);
  for (unsigned i = 0; i < desc.iov.count && to.size() < bytes; ++i) {
    const auto* from = static_cast<const std::byte*>(desc.iov.vector[i].ptr);
    to.insert(to.end(), from, from + std::min<std::uint64_t>(desc.iov.vector[i].length, bytes - to.size()));
  }
}

}  // namespace

Outcome<Reduction> read_allreduce(const sharp_coll_reduce_spec& spec, const Ways& ways) {
  const auto dtype = static_cast<unsigned>(spec.dtype);
  const auto op = static_cast<unsigned>(spec.op);
  if (!is_dtype(dtype) || !is_op(op))
    return failure(SHARP_COLL_ENOT_SUPP, "allreduce: there is no datatype {} or no operation {}", dtype, op);
  Reduction reduction;
  auto& o = reduction.operation;
  o.coll = wire::Coll::allreduce;
  o.dtype = static_cast<Dtype>(dtype);
  o.op = static_cast<Op>(op);
  if (is_pair(o.op)) {
    auto tag = tag_of(spec);
    if (!tag) return tl::unexpected(tag.error());
    o.tag_dtype = *tag;
  }
  const std::uint64_t element = element_bytes(o.dtype, o.op, o.tag_dtype);
  if (element == 0)
    return failure(SHARP_COLL_ENOT_SUPP, "allreduce: {} of {} with tag {} is not supported", to_string(o.op),
                   to_string(o.dtype), to_string(o.tag_dtype));
  for (const auto* side : {&spec.sbuf_desc, &spec.rbuf_desc})
    if (auto legal = check_memory(*side, side == &spec.sbuf_desc ? "sbuf" : "rbuf"); !legal)
      return tl::unexpected(legal.error());

  if (spec.length > SIZE_MAX / element)
    return failure(SHARP_COLL_EINVAL, "allreduce: {} elements of {} bytes", spec.length, element);
  const std::uint64_t bytes = spec.length * element;
  for (const auto* side : {&spec.sbuf_desc, &spec.rbuf_desc})
    if (auto enough = check_length(*side, bytes, side == &spec.sbuf_desc ? "sbuf" : "rbuf"); !enough)
      return tl::unexpected(enough.error());

  switch (static_cast<unsigned>(spec.aggr_mode)) {
    case SHARP_AGGREGATION_NONE: o.streaming = ways.can_stream && bytes >= ways.stream_threshold && bytes > 0; break;
    case SHARP_AGGREGATION_DATAGRAM: break;
    case SHARP_AGGREGATION_STREAMING:
      if (!ways.can_stream)
        return failure(SHARP_COLL_ENOT_SUPP,
                       "allreduce: streaming was asked for, but the job has none; set SHARP_COLL_ENABLE_SAT=1");
      o.streaming = bytes > 0;
      break;
    default:
      return failure(SHARP_COLL_EINVAL, "allreduce: no aggregation mode {}", static_cast<unsigned>(spec.aggr_mode));
  }

  o.count = spec.length;
  const bool has_list = spec.sbuf_desc.type == SHARP_DATA_IOV || spec.rbuf_desc.type == SHARP_DATA_IOV;
  if (has_list) reduction.staging = std::make_unique<Staging>();
  if (spec.sbuf_desc.type == SHARP_DATA_IOV) {
    gather(spec.sbuf_desc, reduction.staging->bytes, bytes);
    o.src = reduction.staging->bytes;
  } else {
    o.src = {static_cast<const std::byte*>(spec.sbuf_desc.buffer.ptr), bytes};
  }
  if (spec.rbuf_desc.type == SHARP_DATA_IOV) {
    // One staging buffer serves both ways: the operation may be in place.
    reduction.staging->bytes.resize(bytes);
    if (spec.sbuf_desc.type == SHARP_DATA_IOV) o.src = reduction.staging->bytes;
    o.dst = reduction.staging->bytes;
    for (unsigned i = 0; i < spec.rbuf_desc.iov.count; ++i)
      reduction.staging->scatter.push_back({spec.rbuf_desc.iov.vector[i].ptr, spec.rbuf_desc.iov.vector[i].length});
  } else {
    o.dst = {static_cast<std::byte*>(spec.rbuf_desc.buffer.ptr), bytes};
  }
  return reduction;
}

void scatter(const Staging& staging) {
  std::size_t at = 0;
  for (const auto& piece : staging.scatter) {
    const auto bytes = std::min(piece.bytes, staging.bytes.size() - at);
    if (bytes > 0) std::memcpy(piece.to, staging.bytes.data() + at, bytes);
    at += bytes;
  }
}

}  // namespace sumac::client
