#include "client/reduction.hpp"

#include <cstring>

#include "wire/agg_codec.hpp"

namespace sumac::client {
namespace {

using proto::Range;
using wire::Coll;

/// Of one side of an operation; errors say which.
struct Side {
  const sharp_coll_data_desc& desc;
  Coll coll;
  const char* name;  ///< "sbuf"

  bool is_list() const { return desc.type == SHARP_DATA_IOV; }

  Outcome<> check_memory() const {
    const auto type = static_cast<unsigned>(desc.type);
    const auto memory = static_cast<unsigned>(desc.mem_type);
    if (type != SHARP_DATA_BUFFER && type != SHARP_DATA_IOV)
      return failure(SHARP_COLL_EINVAL, "{}: {} is neither a buffer nor a list (type {})", to_string(coll), name, type);
    if (memory != SHARP_MEM_TYPE_HOST)
      return failure(SHARP_COLL_ENOT_SUPP, "{}: {} lies in memory of type {}; only host memory is supported",
                     to_string(coll), name, memory);
    if (type == SHARP_DATA_IOV &&
        (desc.iov.count > SHARP_COLL_DATA_MAX_IOV || (desc.iov.count > 0 && desc.iov.vector == nullptr)))
      return failure(SHARP_COLL_EINVAL, "{}: {} is a list of {} pieces; at most {}", to_string(coll), name,
                     desc.iov.count, SHARP_COLL_DATA_MAX_IOV);
    return {};
  }

  std::uint64_t length() const {
    if (!is_list()) return desc.buffer.length;
    std::uint64_t bytes = 0;
    for (unsigned i = 0; i < desc.iov.count; ++i) bytes += desc.iov.vector[i].length;
    return bytes;
  }

  Outcome<> check_length(std::uint64_t bytes) const {
    if (length() < bytes)
      return failure(SHARP_COLL_EINVAL, "{}: {} has {} bytes, the operation {}", to_string(coll), name, length(),
                     bytes);
    if (bytes > 0 && !is_list() && desc.buffer.ptr == nullptr)
      return failure(SHARP_COLL_EINVAL, "{}: {} is NULL", to_string(coll), name);
    return {};
  }
};

/// The tag's type of a pair, or nothing if there is none like it.
Outcome<Dtype> tag_of(const sharp_coll_reduce_spec& spec) {
  const auto tag = static_cast<unsigned>(spec.tag_dtype);
  if (tag == SHARP_DTYPE_NULL) return Dtype::null;
  if (is_dtype(tag) && is_integer(static_cast<Dtype>(tag))) return static_cast<Dtype>(tag);
  return failure(SHARP_COLL_ENOT_SUPP, "tag_dtype {} is not an integer type; set it for MINLOC and MAXLOC", tag);
}

/// Kind, type and operation; gives the bytes of one element.
Outcome<std::uint64_t> read_types(const sharp_coll_reduce_spec& spec, Coll coll, proto::Operation& o) {
  const auto dtype = static_cast<unsigned>(spec.dtype);
  const auto op = static_cast<unsigned>(spec.op);
  if (!is_dtype(dtype) || !is_op(op))
    return failure(SHARP_COLL_ENOT_SUPP, "{}: there is no datatype {} or no operation {}", to_string(coll), dtype, op);
  o.coll = coll;
  o.dtype = static_cast<Dtype>(dtype);
  o.op = static_cast<Op>(op);
  if (is_pair(o.op)) {
    auto tag = tag_of(spec);
    if (!tag) return tl::unexpected(tag.error());
    o.tag_dtype = *tag;
  }
  const std::uint64_t element = element_bytes(o.dtype, o.op, o.tag_dtype);
  if (element == 0)
    return failure(SHARP_COLL_ENOT_SUPP, "{}: {} of {} with tag {} is not supported", to_string(coll), to_string(o.op),
                   to_string(o.dtype), to_string(o.tag_dtype));
  return element;
}

Outcome<> choose_way(sharp_aggregation_mode mode, std::uint64_t bytes, const Ways& ways, proto::Operation& o) {
  switch (static_cast<unsigned>(mode)) {
    case SHARP_AGGREGATION_NONE:
      o.streaming = ways.can_stream && bytes >= ways.stream_threshold && bytes > 0;
      return {};
    case SHARP_AGGREGATION_DATAGRAM: return {};
    case SHARP_AGGREGATION_STREAMING:
      if (!ways.can_stream)
        return failure(SHARP_COLL_ENOT_SUPP,
                       "{}: streaming was asked for, but the job has none; set SHARP_COLL_ENABLE_SAT=1",
                       to_string(o.coll));
      o.streaming = bytes > 0;
      return {};
    default:
      return failure(SHARP_COLL_EINVAL, "{}: no aggregation mode {}", to_string(o.coll), static_cast<unsigned>(mode));
  }
}

Staging& staging_of(Reduction& reduction) {
  if (!reduction.staging) reduction.staging = std::make_unique<Staging>();
  return *reduction.staging;
}

/// The first `bytes` of a side are what the operation gives.
void give(const Side& side, std::uint64_t bytes, Reduction& reduction) {
  if (!side.is_list()) {
    reduction.operation.src = {static_cast<const std::byte*>(side.desc.buffer.ptr), bytes};
    return;
  }
  auto& in = staging_of(reduction).in;
  in.reserve(bytes);
  for (unsigned i = 0; i < side.desc.iov.count && in.size() < bytes; ++i) {
    const auto* from = static_cast<const std::byte*>(side.desc.iov.vector[i].ptr);
    in.insert(in.end(), from, from + std::min<std::uint64_t>(side.desc.iov.vector[i].length, bytes - in.size()));
  }
  reduction.operation.src = in;
}

/// The first `bytes` of a side take what the operation keeps.
void keep(const Side& side, std::uint64_t bytes, Reduction& reduction) {
  if (!side.is_list()) {
    reduction.operation.dst = {static_cast<std::byte*>(side.desc.buffer.ptr), bytes};
    return;
  }
  auto& staging = staging_of(reduction);
  staging.out.resize(bytes);
  reduction.operation.dst = staging.out;
  for (unsigned i = 0; i < side.desc.iov.count; ++i)
    staging.scatter.push_back({side.desc.iov.vector[i].ptr, side.desc.iov.vector[i].length});
}

/// Elements of [begin, begin + size) of a longer vector that lie in its window, counted from the window's start.
Range in_window(std::uint64_t begin, std::uint64_t size, std::uint64_t window_begin, std::uint64_t window_size) {
  const std::uint64_t from = std::max(begin, window_begin), to = std::min(begin + size, window_begin + window_size);
  if (from >= to) return {0, 0};
  return {from - window_begin, to - window_begin};
}

Outcome<std::uint32_t> read_root(int root, Coll coll, const Ways& ways) {
  if (root < 0 || static_cast<std::uint32_t>(root) >= ways.size)
    return failure(SHARP_COLL_EINVAL, "{}: root {} in a group of {}", to_string(coll), root, ways.size);
  return static_cast<std::uint32_t>(root);
}

/// allreduce, and reduce at its root or elsewhere.
Outcome<Reduction> read_whole(const sharp_coll_reduce_spec& spec, const Ways& ways, Coll coll, bool keeps) {
  Reduction reduction;
  auto& o = reduction.operation;
  auto element = read_types(spec, coll, o);
  if (!element) return tl::unexpected(element.error());
  const Side in{spec.sbuf_desc, coll, "sbuf"}, out{spec.rbuf_desc, coll, "rbuf"};
  if (auto legal = in.check_memory(); !legal) return tl::unexpected(legal.error());
  if (keeps)
    if (auto legal = out.check_memory(); !legal) return tl::unexpected(legal.error());
  if (spec.length > SIZE_MAX / *element)
    return failure(SHARP_COLL_EINVAL, "{}: {} elements of {} bytes", to_string(coll), spec.length, *element);
  const std::uint64_t bytes = spec.length * *element;
  if (auto enough = in.check_length(bytes); !enough) return tl::unexpected(enough.error());
  if (keeps)
    if (auto enough = out.check_length(bytes); !enough) return tl::unexpected(enough.error());
  if (auto chosen = choose_way(spec.aggr_mode, bytes, ways, o); !chosen) return tl::unexpected(chosen.error());
  o.count = spec.length;
  give(in, bytes, reduction);
  if (keeps)
    keep(out, bytes, reduction);
  else
    o.keep = {0, 0};
  return reduction;
}

}  // namespace

Outcome<Reduction> read_allreduce(const sharp_coll_reduce_spec& spec, const Ways& ways) {
  return read_whole(spec, ways, Coll::allreduce, true);
}

Outcome<Reduction> read_reduce(const sharp_coll_reduce_spec& spec, const Ways& ways) {
  auto root = read_root(spec.root, Coll::reduce, ways);
  if (!root) return tl::unexpected(root.error());
  auto reduction = read_whole(spec, ways, Coll::reduce, ways.rank == *root);
  if (reduction) reduction->operation.root = *root;
  return reduction;
}

Outcome<Reduction> read_reduce_scatter(const sharp_coll_reduce_spec& spec, const Ways& ways) {
  constexpr Coll kColl = Coll::reduce_scatter;
  Reduction reduction;
  auto& o = reduction.operation;
  auto element = read_types(spec, kColl, o);
  if (!element) return tl::unexpected(element.error());
  const Side in{spec.sbuf_desc, kColl, "sbuf"}, out{spec.rbuf_desc, kColl, "rbuf"};
  for (const auto* side : {&in, &out})
    if (auto legal = side->check_memory(); !legal) return tl::unexpected(legal.error());
  const std::uint64_t part = out.length(), window = in.length();
  if (part % *element != 0 || window % *element != 0 || spec.offset % *element != 0)
    return failure(SHARP_COLL_EINVAL,
                   "reduce_scatter: {} bytes each, window of {} at {}: not whole elements of {} bytes", part, window,
                   spec.offset, *element);
  if (part > SIZE_MAX / ways.size || spec.offset > part * ways.size || window > part * ways.size - spec.offset)
    return failure(SHARP_COLL_EINVAL, "reduce_scatter: window of {} bytes at {} is not within {} x {} bytes", window,
                   spec.offset, ways.size, part);
  if (auto enough = in.check_length(window); !enough) return tl::unexpected(enough.error());
  if (auto chosen = choose_way(spec.aggr_mode, window, ways, o); !chosen) return tl::unexpected(chosen.error());
  o.count = window / *element;
  o.keep = in_window(ways.rank * part / *element, part / *element, spec.offset / *element, o.count);
  const std::uint64_t kept = o.keep.size() * *element;
  if (auto enough = out.check_length(kept); !enough) return tl::unexpected(enough.error());
  give(in, window, reduction);
  keep(out, kept, reduction);
  return reduction;
}

Outcome<Reduction> read_bcast(const sharp_coll_bcast_spec& spec, const Ways& ways) {
  Reduction reduction;
  auto& o = reduction.operation;
  o.coll = Coll::bcast;
  o.dtype = Dtype::uint8;
  auto root = read_root(spec.root, o.coll, ways);
  if (!root) return tl::unexpected(root.error());
  const Side buffer{spec.buf_desc, o.coll, "buf"};
  if (auto legal = buffer.check_memory(); !legal) return tl::unexpected(legal.error());
  if (auto enough = buffer.check_length(spec.size); !enough) return tl::unexpected(enough.error());
  if (auto chosen = choose_way(SHARP_AGGREGATION_NONE, spec.size, ways, o); !chosen)
    return tl::unexpected(chosen.error());
  o.count = spec.size;
  o.root = *root;
  if (ways.rank == *root) {
    o.keep = {0, 0};
    give(buffer, spec.size, reduction);
  } else {
    o.give = {0, 0};
    keep(buffer, spec.size, reduction);
  }
  return reduction;
}

Outcome<Reduction> read_allgather(const sharp_coll_gather_spec& spec, const Ways& ways) {
  Reduction reduction;
  auto& o = reduction.operation;
  o.coll = Coll::allgather;
  o.dtype = Dtype::uint8;
  const Side in{spec.sbuf_desc, o.coll, "sbuf"}, out{spec.rbuf_desc, o.coll, "rbuf"};
  for (const auto* side : {&in, &out})
    if (auto legal = side->check_memory(); !legal) return tl::unexpected(legal.error());
  const std::uint64_t part = in.length(), window = out.length();
  if (part > SIZE_MAX / ways.size || spec.offset > part * ways.size || window > part * ways.size - spec.offset)
    return failure(SHARP_COLL_EINVAL, "allgather: window of {} bytes at {} is not within {} x {} bytes", window,
                   spec.offset, ways.size, part);
  if (auto enough = out.check_length(window); !enough) return tl::unexpected(enough.error());
  if (auto chosen = choose_way(SHARP_AGGREGATION_NONE, window, ways, o); !chosen) return tl::unexpected(chosen.error());
  o.count = window;
  o.give = in_window(ways.rank * part, part, spec.offset, window);
  const Range mine = o.give;
  if (auto enough = in.check_length(mine.size()); !enough) return tl::unexpected(enough.error());
  keep(out, window, reduction);
  if (part < ways.payload_max && !o.streaming) {
    // Parts smaller than a payload: added up with zeros they share numbers, instead of taking one each.
    Reduction part_only;
    give(in, mine.size(), part_only);
    std::vector<std::byte> whole(window);
    if (mine.size() > 0) std::memcpy(whole.data() + mine.from, part_only.operation.src.data(), mine.size());
    auto& staged = staging_of(reduction).in;
    staged = std::move(whole);
    o.src = staged;
    o.op = Op::bor;
    o.give = {};
    o.give.to = proto::kToTheEnd;
  } else {
    o.block = part;
    o.first_block = part == 0 ? 0 : (part - spec.offset % part) % part;
    give(in, mine.size(), reduction);
  }
  return reduction;
}

void scatter(const Staging& staging) {
  std::size_t at = 0;
  for (const auto& piece : staging.scatter) {
    const auto bytes = std::min(piece.bytes, staging.out.size() - at);
    if (bytes > 0) std::memcpy(piece.to, staging.out.data() + at, bytes);
    at += bytes;
  }
}

}  // namespace sumac::client
