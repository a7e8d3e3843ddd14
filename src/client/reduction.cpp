#include "client/reduction.hpp"

#include <unistd.h>

#include <cstring>

#include "client/memory_registry.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::client {
namespace {

using proto::Range;
using wire::Coll;

/// The source that tells where a side's memory lies.
enum class Said {
  by_mem_type,
  by_handle,  ///< allgather: real clients leave mem_type unset, so the registration or the pointer decides.
};

/// Reads a field of an enum type that a C program filled; it may hold any value, which C++ does not let us read as that
/// enum.
template <class Enum>
unsigned value_in(const Enum& field) {
  static_assert(sizeof field == sizeof(unsigned));
  unsigned value = 0;
  std::memcpy(&value, &field, sizeof value);
  return value;
}

/// One side of an operation; errors name it.
struct Side {
  const sharp_coll_data_desc& desc;
  Coll coll;
  const char* name;  ///< "sbuf"
  Said said = Said::by_mem_type;

  bool is_list() const { return value_in(desc.type) == SHARP_DATA_IOV; }
  std::span<const sharp_data_iov> pieces() const { return {desc.iov.vector, desc.iov.count}; }

  template <class Visit>
  void each_piece(Visit&& visit) const {
    if (!is_list()) return visit(desc.buffer.ptr, desc.buffer.length, desc.buffer.mem_handle);
    for (const auto& piece : pieces()) visit(piece.ptr, piece.length, piece.mem_handle);
  }

  Outcome<> check_memory(const Ways& ways) const {
    const auto type = value_in(desc.type);
    if (type != SHARP_DATA_BUFFER && type != SHARP_DATA_IOV)
      return failure(SHARP_COLL_EINVAL, "{}: {} is neither a buffer nor a list (type {})", to_string(coll), name, type);
    if (const auto mem_type = said == Said::by_mem_type ? value_in(desc.mem_type) : unsigned{SHARP_MEM_TYPE_HOST};
        mem_type != SHARP_MEM_TYPE_HOST && mem_type != SHARP_MEM_TYPE_CUDA)
      return failure(SHARP_COLL_ENOT_SUPP, "{}: {} lies in memory of type {}; there is host memory (0) and CUDA (1)",
                     to_string(coll), name, mem_type);
    if (type == SHARP_DATA_IOV &&
        (desc.iov.count > SHARP_COLL_DATA_MAX_IOV || (desc.iov.count > 0 && desc.iov.vector == nullptr)))
      return failure(SHARP_COLL_EINVAL, "{}: {} is a list of {} pieces; at most {}", to_string(coll), name,
                     desc.iov.count, SHARP_COLL_DATA_MAX_IOV);
    if (auto legal = check_pieces(); !legal) return legal;
    if (memory(ways) != MemoryKind::cuda) return {};
    if (!ways.enable_cuda)
      return failure(SHARP_COLL_ENOT_SUPP, "{}: {} lies in CUDA memory, and SHARP_COLL_ENABLE_CUDA is 0",
                     to_string(coll), name);
    return cuda::require_driver();
  }

  /// Finds handles that were deregistered, and ranges that no buffer can have.
  Outcome<> check_pieces() const {
    Outcome<> legal;
    std::uint64_t bytes = 0;
    each_piece([&](const void* ptr, std::size_t length, const void* handle) {
      if (find_registration(handle) == Registration::gone)
        legal = failure(SHARP_COLL_EINVAL, "{}: the mem_handle of {} was taken back by sharp_coll_dereg_mr",
                        to_string(coll), name);
      if (is_list() && ptr == nullptr && length > 0)
        legal = failure(SHARP_COLL_EINVAL, "{}: a piece of {} bytes of {} is NULL", to_string(coll), length, name);
      if (length > SIZE_MAX - bytes)
        legal = failure(SHARP_COLL_EINVAL, "{}: {} has more bytes than there are addresses", to_string(coll), name);
      bytes += length;
    });
    return legal;
  }

  /// Call it after check_memory().
  MemoryKind memory(const Ways& ways) const {
    if (said == Said::by_mem_type)
      return value_in(desc.mem_type) == SHARP_MEM_TYPE_CUDA ? MemoryKind::cuda : MemoryKind::host;
    MemoryKind kind = MemoryKind::host;
    each_piece([&](const void* ptr, std::size_t length, const void* handle) {
      if (length == 0) return;
      const auto registration = find_registration(handle);
      if (registration == Registration::cuda || (registration == Registration::none && ways.is_device(ptr)))
        kind = MemoryKind::cuda;
    });
    return kind;
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

/// Refuses a call by arguments that all members pass alike.
template <class... Args>
[[nodiscard]] tl::unexpected<Failure> not_offered(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(Failure{SHARP_COLL_ENOT_SUPP, fmt::format(format, std::forward<Args>(args)...), true});
}

/// Returns the tag's type of a pair, or an error if there is no such type.
Outcome<Dtype> tag_of(const sharp_coll_reduce_spec& spec) {
  const auto tag = value_in(spec.tag_dtype);
  if (tag == SHARP_DTYPE_NULL) return Dtype::null;
  if (is_dtype(tag) && is_integer(static_cast<Dtype>(tag))) return static_cast<Dtype>(tag);
  return failure(SHARP_COLL_ENOT_SUPP, "tag_dtype {} is not an integer type; set it for MINLOC and MAXLOC", tag);
}

/// Reads kind, type and operation; returns the bytes of one element.
Outcome<std::uint64_t> read_types(const sharp_coll_reduce_spec& spec, Coll coll, proto::Operation& o) {
  const auto dtype = value_in(spec.dtype);
  const auto op = value_in(spec.op);
  if (!is_dtype(dtype) || !is_op(op))
    return not_offered("{}: there is no datatype {} or no operation {}", to_string(coll), dtype, op);
  o.coll = coll;
  o.dtype = static_cast<Dtype>(dtype);
  o.op = static_cast<Op>(op);
  // Checked before the tag is read: some callers leave garbage in the tag, which differs from member to member.
  if (!is_pair(o.op) && !legal(o.dtype, o.op))
    return not_offered("{}: {} of {} is not supported", to_string(coll), to_string(o.op), to_string(o.dtype));
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

Outcome<> choose_way(unsigned mode, std::uint64_t bytes, const Ways& ways, proto::Operation& o) {
  switch (mode) {
    case SHARP_AGGREGATION_NONE:
      o.streaming = ways.can_stream && bytes >= ways.stream_threshold && bytes > 0;
      return {};
    case SHARP_AGGREGATION_DATAGRAM: return {};
    case SHARP_AGGREGATION_STREAMING:
      if (!ways.can_stream)
        return not_offered("{}: streaming was asked for, but the job has none; set SHARP_COLL_ENABLE_SAT=1",
                           to_string(o.coll));
      o.streaming = o.must_stream = bytes > 0;
      return {};
    default: return failure(SHARP_COLL_EINVAL, "{}: no aggregation mode {}", to_string(o.coll), mode);
  }
}

Staging& staging_of(Reduction& reduction) {
  if (!reduction.staging) reduction.staging = std::make_unique<Staging>();
  return *reduction.staging;
}

/// More than the machine has is not even tried: the system would promise it and kill a process when it is touched.
Outcome<> check_staged(std::uint64_t bytes) {
  static const auto kMemory =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (bytes <= kMemory) return {};
  return failure(SHARP_COLL_ENOMEM, "{} bytes would have to be copied, and this host has {}", bytes, kMemory);
}

/// Returns the first `bytes` of a side's device memory.
std::vector<cuda::Piece> device_pieces(const Side& side, std::uint64_t bytes) {
  std::vector<cuda::Piece> found;
  side.each_piece([&](void* ptr, std::size_t length, const void*) {
    const auto taken = std::min<std::uint64_t>(length, bytes);
    if (taken > 0) found.push_back({ptr, taken});
    bytes -= taken;
  });
  return found;
}

Outcome<cuda::Stage*> stage_of(const void* device, Reduction& reduction) {
  auto& staging = staging_of(reduction);
  if (!staging.cuda) {
    auto stage = cuda::Stage::make(device);
    if (!stage) return tl::unexpected(stage.error());
    staging.cuda = *std::move(stage);
  }
  return staging.cuda.get();
}

/// Copies the first bytes of a side immediately.
Outcome<> fetch(const Side& side, MemoryKind memory, std::span<std::byte> to) {
  Outcome<> fetched;
  side.each_piece([&](const void* ptr, std::size_t length, const void*) {
    const auto now = to.first(std::min(length, to.size()));
    to = to.subspan(now.size());
    if (now.empty() || !fetched) return;
    if (memory == MemoryKind::cuda)
      fetched = cuda::Stage::fetch(ptr, now);
    else
      std::memcpy(now.data(), ptr, now.size());
  });
  return fetched;
}

/// Uses the first `bytes` of a side as the operation's input.
Outcome<> give(const Side& side, std::uint64_t bytes, const Ways& ways, Reduction& reduction) {
  auto& operation = reduction.operation;
  if (bytes == 0) return {};
  if (side.memory(ways) == MemoryKind::cuda) {
    if (auto fits = check_staged(bytes); !fits) return fits;
    auto pieces = device_pieces(side, bytes);
    auto stage = stage_of(pieces.front().device, reduction);
    if (!stage) return tl::unexpected(stage.error());
    auto memory = (*stage)->give(std::move(pieces));
    if (!memory) return tl::unexpected(memory.error());
    operation.src = *memory;
    operation.ready_until = (*stage)->ready_until();
    return {};
  }
  if (!side.is_list()) {
    operation.src = {static_cast<const std::byte*>(side.desc.buffer.ptr), bytes};
    return {};
  }
  if (auto fits = check_staged(bytes); !fits) return fits;
  auto& in = staging_of(reduction).in;
  in.resize(bytes);
  operation.src = in;
  return fetch(side, MemoryKind::host, in);
}

/// The position of the result relative to the input.
enum class Lies {
  apart,
  in_place,  ///< Each element of the result lies where the same element of the input lies.
  ahead,  ///< Nearer to the beginning: a result overwrites earlier input, which only a single group has finished with
          ///< by then.
};

/// Uses the first `bytes` of a side for the operation's result.
Outcome<> keep(const Side& side, std::uint64_t bytes, const Ways& ways, Lies lies, Reduction& reduction) {
  auto& operation = reduction.operation;
  if (bytes == 0) return {};
  if (side.memory(ways) == MemoryKind::cuda) {
    if (auto fits = check_staged(bytes); !fits) return fits;
    auto pieces = device_pieces(side, bytes);
    auto stage = stage_of(pieces.front().device, reduction);
    if (!stage) return tl::unexpected(stage.error());
    auto memory = (*stage)->keep(std::move(pieces), lies == Lies::in_place);
    if (!memory) return tl::unexpected(memory.error());
    operation.dst = *memory;
    return {};
  }
  if (!side.is_list() && !(lies == Lies::ahead && ways.groups > 1)) {
    operation.dst = {static_cast<std::byte*>(side.desc.buffer.ptr), bytes};
    return {};
  }
  if (auto fits = check_staged(bytes); !fits) return fits;
  auto& staging = staging_of(reduction);
  staging.out.resize(bytes);
  operation.dst = staging.out;
  side.each_piece([&](void* ptr, std::size_t length, const void*) { staging.scatter.push_back({ptr, length}); });
  return {};
}

/// Checks that two buffers are disjoint, or overlap so that `out` begins `from` bytes after the beginning of `in` (in
/// place). Lists are copied when they are gathered, so only their own ranges must not overlap when they receive the
/// result.
Outcome<> check_overlap(const Side& in, std::uint64_t in_bytes, const Side& out, std::uint64_t out_bytes,
                        std::ptrdiff_t from, std::ptrdiff_t or_from) {
  const auto overlap = [](const void* a, std::uint64_t a_bytes, const void* b, std::uint64_t b_bytes) {
    const auto x = reinterpret_cast<std::uint64_t>(a), y = reinterpret_cast<std::uint64_t>(b);
    return a_bytes > 0 && b_bytes > 0 && x < y + b_bytes && y < x + a_bytes;
  };
  const auto refused = [&](std::string_view what) {
    return failure(SHARP_COLL_EINVAL, "{}: {}; use the same buffer, or separate ones", to_string(out.coll), what);
  };
  if (out.is_list()) {
    const auto pieces = out.pieces();
    for (std::size_t i = 0; i < pieces.size(); ++i)
      for (std::size_t j = i + 1; j < pieces.size(); ++j)
        if (overlap(pieces[i].ptr, pieces[i].length, pieces[j].ptr, pieces[j].length))
          return refused(fmt::format("pieces {} and {} of {} overlap", i, j, out.name));
    return {};
  }
  if (in.is_list() || !overlap(in.desc.buffer.ptr, in_bytes, out.desc.buffer.ptr, out_bytes)) return {};
  const auto behind =
      static_cast<const std::byte*>(out.desc.buffer.ptr) - static_cast<const std::byte*>(in.desc.buffer.ptr);
  if (behind == from || behind == or_from) return {};
  return refused(fmt::format("{} and {} overlap in part", in.name, out.name));
}

/// Returns the elements of [begin, begin + size) of a longer vector that lie in its window, counted from the window's
/// start.
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

/// For allreduce, and for reduce at its root or elsewhere.
Outcome<Reduction> read_whole(const sharp_coll_reduce_spec& spec, const Ways& ways, Coll coll, bool keeps) {
  Reduction reduction;
  auto& o = reduction.operation;
  auto element = read_types(spec, coll, o);
  if (!element) return tl::unexpected(element.error());
  const Side in{spec.sbuf_desc, coll, "sbuf"}, out{spec.rbuf_desc, coll, "rbuf"};
  if (auto legal = in.check_memory(ways); !legal) return tl::unexpected(legal.error());
  if (keeps)
    if (auto legal = out.check_memory(ways); !legal) return tl::unexpected(legal.error());
  if (spec.length > SIZE_MAX / *element)
    return failure(SHARP_COLL_EINVAL, "{}: {} elements of {} bytes", to_string(coll), spec.length, *element);
  const std::uint64_t bytes = spec.length * *element;
  if (auto enough = in.check_length(bytes); !enough) return tl::unexpected(enough.error());
  if (keeps)
    if (auto enough = out.check_length(bytes); !enough) return tl::unexpected(enough.error());
  if (auto chosen = choose_way(value_in(spec.aggr_mode), bytes, ways, o); !chosen)
    return tl::unexpected(chosen.error());
  o.count = spec.length;
  const bool same_kind = keeps && !in.is_list() && !out.is_list() && in.memory(ways) == out.memory(ways);
  if (keeps)
    if (auto apart = check_overlap(in, bytes, out, bytes, 0, 0); !apart) return tl::unexpected(apart.error());
  if (auto gave = give(in, bytes, ways, reduction); !gave) return tl::unexpected(gave.error());
  if (!keeps)
    o.keep = {0, 0};
  else if (auto kept = keep(out, bytes, ways, same_kind ? Lies::in_place : Lies::apart, reduction); !kept)
    return tl::unexpected(kept.error());
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
    if (auto legal = side->check_memory(ways); !legal) return tl::unexpected(legal.error());
  const std::uint64_t part = out.length(), window = in.length();
  if (part % *element != 0 || window % *element != 0 || spec.offset % *element != 0)
    return failure(SHARP_COLL_EINVAL,
                   "reduce_scatter: {} bytes each, window of {} at {}: not whole elements of {} bytes", part, window,
                   spec.offset, *element);
  if (part > SIZE_MAX / ways.size || spec.offset > part * ways.size || window > part * ways.size - spec.offset)
    return failure(SHARP_COLL_EINVAL, "reduce_scatter: window of {} bytes at {} is not within {} x {} bytes", window,
                   spec.offset, ways.size, part);
  if (auto enough = in.check_length(window); !enough) return tl::unexpected(enough.error());
  if (auto chosen = choose_way(value_in(spec.aggr_mode), window, ways, o); !chosen)
    return tl::unexpected(chosen.error());
  o.count = window / *element;
  o.keep = in_window(ways.rank * part / *element, part / *element, spec.offset / *element, o.count);
  const std::uint64_t kept = o.keep.size() * *element;
  if (auto enough = out.check_length(kept); !enough) return tl::unexpected(enough.error());
  // In place: the part lies at its position in the window, or (as in MPI) at the beginning of the buffer.
  const auto part_at = static_cast<std::ptrdiff_t>(o.keep.from * *element);
  if (auto apart = check_overlap(in, window, out, kept, part_at, 0); !apart) return tl::unexpected(apart.error());
  if (auto gave = give(in, window, ways, reduction); !gave) return tl::unexpected(gave.error());
  const bool ahead = !in.is_list() && !out.is_list() && out.desc.buffer.ptr == in.desc.buffer.ptr && part_at != 0;
  if (auto taken = keep(out, kept, ways, ahead ? Lies::ahead : Lies::apart, reduction); !taken)
    return tl::unexpected(taken.error());
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
  if (auto legal = buffer.check_memory(ways); !legal) return tl::unexpected(legal.error());
  if (auto enough = buffer.check_length(spec.size); !enough) return tl::unexpected(enough.error());
  if (auto chosen = choose_way(SHARP_AGGREGATION_NONE, spec.size, ways, o); !chosen)
    return tl::unexpected(chosen.error());
  o.count = spec.size;
  o.root = *root;
  if (ways.rank == *root) {
    o.keep = {0, 0};
    if (auto gave = give(buffer, spec.size, ways, reduction); !gave) return tl::unexpected(gave.error());
  } else {
    o.give = {0, 0};
    if (auto apart = check_overlap(buffer, 0, buffer, spec.size, 0, 0); !apart) return tl::unexpected(apart.error());
    if (auto kept = keep(buffer, spec.size, ways, Lies::apart, reduction); !kept) return tl::unexpected(kept.error());
  }
  return reduction;
}

Outcome<Reduction> read_allgather(const sharp_coll_gather_spec& spec, const Ways& ways) {
  Reduction reduction;
  auto& o = reduction.operation;
  o.coll = Coll::allgather;
  o.dtype = Dtype::uint8;
  const Side in{spec.sbuf_desc, o.coll, "sbuf", Said::by_handle}, out{spec.rbuf_desc, o.coll, "rbuf", Said::by_handle};
  for (const auto* side : {&in, &out})
    if (auto legal = side->check_memory(ways); !legal) return tl::unexpected(legal.error());
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
  const auto part_at = static_cast<std::ptrdiff_t>(mine.from);
  if (auto apart = check_overlap(in, mine.size(), out, window, -part_at, -part_at); !apart)
    return tl::unexpected(apart.error());
  if (auto kept = keep(out, window, ways, Lies::apart, reduction); !kept) return tl::unexpected(kept.error());
  if (part < ways.payload_per_ost && !o.streaming) {
    // Parts smaller than a payload are padded with zeros and added up, so that they share numbers instead of using one
    // each.
    if (auto fits = check_staged(window); !fits) return tl::unexpected(fits.error());
    auto& whole = staging_of(reduction).in;
    whole.assign(window, std::byte{0});
    if (auto own = fetch(in, in.memory(ways), std::span(whole).subspan(mine.from, mine.size())); !own)
      return tl::unexpected(own.error());
    o.src = whole;
    o.op = Op::bor;
    o.give = {};
    o.give.to = proto::kToTheEnd;
  } else {
    o.block = part;
    o.first_block = part == 0 ? 0 : (part - spec.offset % part) % part;
    if (auto gave = give(in, mine.size(), ways, reduction); !gave) return tl::unexpected(gave.error());
  }
  return reduction;
}

Outcome<> scatter(const Staging& staging) {
  std::size_t at = 0;
  for (const auto& piece : staging.scatter) {
    const auto bytes = std::min(piece.bytes, staging.out.size() - at);
    if (bytes > 0) std::memcpy(piece.to, staging.out.data() + at, bytes);
    at += bytes;
  }
  return staging.cuda ? staging.cuda->finish() : Outcome<>{};
}

}  // namespace sumac::client
