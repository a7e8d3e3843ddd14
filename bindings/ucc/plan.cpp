// The arguments of a collective become an operation of src/team.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "bindings/ucc/team.hpp"

namespace sumac::ucc {
namespace {

using Info = ucc_coll_buffer_info_t;
using InfoV = ucc_coll_buffer_info_v_t;

/// Distinguishes a buffer without elements from one in place, which src/team takes a null pointer for.
std::byte nothing;

constexpr std::size_t kBytesMost = std::numeric_limits<std::ptrdiff_t>::max();

class Planner {
 public:
  Planner(Request& request, const ucc_coll_args_t& args, ucc_team& team)
      : r_(request), args_(args), team_(team), call_(request.call), size_(static_cast<std::size_t>(team.size)) {
    if ((args.mask & UCC_COLL_ARGS_FIELD_FLAGS) != 0) flags_ = args.flags;
    is_in_place_ = (flags_ & UCC_COLL_ARGS_FLAG_IN_PLACE) != 0;
  }

  ucc_status_t plan();

 private:
  ucc_status_t invalid(std::string_view why) const {
    return refuse(UCC_ERR_INVALID_PARAM, fmt::format("{}: {}", name_of(args_.coll_type), why));
  }
  ucc_status_t unsupported(std::string_view why) const {
    return refuse(UCC_ERR_NOT_SUPPORTED, fmt::format("{}: {}", name_of(args_.coll_type), why));
  }
  ucc_status_t shape();
  bool is_root() const noexcept { return args_.root == static_cast<std::uint64_t>(team_.rank); }

  /// A GPU's memory is that of CUDA, which is copied.
  bool is_on_device(ucc_memory_type_t memory) const noexcept {
    return memory == UCC_MEMORY_TYPE_CUDA || memory == UCC_MEMORY_TYPE_CUDA_MANAGED;
  }
  bool read_type(ucc_datatype_t datatype, ucc_memory_type_t memory);
  /// Sets the bytes of all elements, and where they are: packed, if the type needs it.
  bool read(const Info& info, Packed& packed, void*& data, std::size_t& bytes, bool is_result);
  bool read_blocks(const InfoV& info, bool is_out, void*& data, sumac_blocks_t& blocks);
  bool read_fold();
  std::size_t own_block(const InfoV& info) const { return static_cast<std::size_t>(count(info, team_.rank)); }
  std::int64_t count(const InfoV& info, int rank) const {
    return (flags_ & UCC_COLL_ARGS_FLAG_COUNT_64BIT) != 0
               ? static_cast<std::int64_t>(info.counts[rank])
               : static_cast<std::int64_t>(reinterpret_cast<const std::uint32_t*>(info.counts)[rank]);
  }
  std::int64_t displacement(const InfoV& info, int rank) const {
    return (flags_ & UCC_COLL_ARGS_FLAG_DISPLACEMENTS_64BIT) != 0
               ? static_cast<std::int64_t>(info.displacements[rank])
               : static_cast<std::int64_t>(reinterpret_cast<const std::uint32_t*>(info.displacements)[rank]);
  }
  /// A source with fewer bytes than the operation would read of it.
  bool is_short(std::size_t bytes, std::size_t needed) {
    if (!is_in_place_ && bytes < needed) status_ = invalid("src has fewer elements than its blocks");
    return status_ != UCC_OK;
  }
  ucc_status_t reduce_scatter();
  ucc_status_t active_set();
  /// A call with one buffer, or two, at every rank, and nothing beside, has one.
  std::optional<LastPlan::Key> key() const;
  void repeat(const LastPlan& last);

  Request& r_;
  const ucc_coll_args_t& args_;
  ucc_team& team_;
  sumac_call_t& call_;
  const std::size_t size_;
  std::uint64_t flags_ = 0;
  bool is_in_place_ = false;
  std::size_t width_ = 0;
  ucc_status_t status_ = UCC_OK;
};

bool Planner::read_type(ucc_datatype_t datatype, ucc_memory_type_t memory) {
  r_.datatype = datatype;
  width_ = bytes_of_type(datatype);
  if (width_ == 0 && generic_of(datatype) == nullptr)
    status_ = invalid(fmt::format("there is no datatype {}", datatype));
  if (status_ != UCC_OK || memory == UCC_MEMORY_TYPE_HOST || memory == UCC_MEMORY_TYPE_UNKNOWN)
    return status_ == UCC_OK;
  if (!is_on_device(memory) || generic_of(datatype) != nullptr)
    status_ = unsupported("of a GPU's memory this library takes CUDA's, and the predefined datatypes there");
  else if (const auto driver = client::cuda::require_driver(); !driver)
    status_ = unsupported(driver.error().text);
  return status_ == UCC_OK;
}

bool Planner::read(const Info& info, Packed& packed, void*& data, std::size_t& bytes, bool is_result) {
  if (!read_type(info.datatype, info.mem_type)) return false;
  data = info.buffer;
  if (width_ != 0) {
    if (__builtin_mul_overflow(info.count, width_, &bytes) || bytes > kBytesMost)
      status_ = invalid("the buffer has more bytes than there are addresses");
  } else {
    packed.measure(generic_of(info.datatype), info.buffer, info.count);
    data = packed.memory.data();
    bytes = packed.memory.size();
    if (is_result) r_.unpacks = true;
  }
  if (status_ == UCC_OK && bytes > 0 && data == nullptr) status_ = invalid("a buffer is NULL");
  if (is_on_device(info.mem_type) && bytes > 0) packed.pieces = {{data, bytes}};
  if (data == nullptr) data = &nothing;
  return status_ == UCC_OK;
}

/// Addresses are buffer + displacement x width: a program may give NULL for the buffer and addresses for displacements.
bool Planner::read_blocks(const InfoV& info, bool is_out, void*& data, sumac_blocks_t& blocks) {
  if (!read_type(info.datatype, info.mem_type)) return false;
  if (width_ == 0)
    status_ = unsupported("blocks of a generic datatype that is not contiguous");
  else if (info.counts == nullptr)
    status_ = invalid("counts are NULL");
  if (status_ != UCC_OK) return false;
  auto& counts = r_.counts[is_out];
  auto& places = r_.displacements[is_out];
  counts.resize(size_);
  places.resize(size_);
  std::int64_t next = 0;
  std::uintptr_t base = reinterpret_cast<std::uintptr_t>(info.buffer);
  const auto most = static_cast<std::int64_t>(kBytesMost / width_);
  for (int rank = 0; rank < team_.size; ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    counts[i] = count(info, rank);
    if (counts[i] < 0 || counts[i] > most - next) {
      status_ = invalid("the counts are more bytes than there are addresses");
      return false;
    }
    places[i] = info.displacements == nullptr ? next : displacement(info, rank);
    next += counts[i];
  }
  if (base == 0 && next > 0) {
    std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < size_; ++i)
      if (counts[i] > 0) lowest = std::min(lowest, places[i]);
    if (lowest <= 0) status_ = invalid("a buffer is NULL");
    base = static_cast<std::uintptr_t>(lowest) * width_;
    for (std::size_t i = 0; i < size_; ++i) places[i] = counts[i] > 0 ? places[i] - lowest : 0;
  }
  if (is_on_device(info.mem_type)) {  // On the host the blocks follow each other.
    auto& pieces = (is_out ? r_.packed_out : r_.packed_in).pieces;
    next = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const std::size_t bytes = static_cast<std::size_t>(counts[i]) * width_;
      auto* const at = reinterpret_cast<std::byte*>(base) + places[i] * static_cast<std::int64_t>(width_);
      if (bytes > 0) pieces.push_back({at, bytes});
      places[i] = std::exchange(next, next + counts[i]);
    }
  }
  blocks = {counts.data(), places.data(), width_, 1};
  data = base == 0 ? &nothing : reinterpret_cast<void*>(base);
  return status_ == UCC_OK;
}

bool Planner::read_fold() {
  call_.fold = rank::number_of(args_.op) < UCC_OP_LAST ? fold_of(r_.datatype, args_.op) : nullptr;
  if (call_.fold == nullptr)
    status_ = unsupported("this library does not reduce this datatype by this operation");
  else
    r_.divides = args_.op == UCC_OP_AVG && generic_of(r_.datatype) == nullptr;
  return status_ == UCC_OK;
}

/// In place, the whole vector is in `dst`, and the result belongs at the own block of it.
ucc_status_t Planner::reduce_scatter() {
  const bool has_counts = args_.coll_type == UCC_COLL_TYPE_REDUCE_SCATTERV;
  void* whole = nullptr;
  void* out = nullptr;
  std::size_t bytes = 0, block = 0, before = 0;
  if (has_counts) {
    InfoV counts = args_.dst.info_v;
    counts.displacements = nullptr;
    // It has one rank's block, and no other, unless the call is in place.
    if (!is_in_place_ && counts.counts != nullptr && count(counts, team_.rank) == 0) counts.buffer = &nothing;
    if (!read_blocks(counts, true, out, call_.in_blocks)) return status_;
    for (int rank = 0; rank < team_.size; ++rank) {
      const auto part = static_cast<std::size_t>(count(counts, rank)) * width_;
      bytes += part;
      if (rank < team_.rank) before += part;
      if (rank == team_.rank) block = part;
    }
    whole = out;
    std::size_t all = 0;
    if (!is_in_place_ && (!read(args_.src.info, r_.packed_in, whole, all, false) || is_short(all, bytes)))
      return status_;
  } else if (is_in_place_) {
    if (!read(args_.dst.info, r_.packed_out, whole, bytes, true)) return status_;
    if (bytes % (size_ * width_) != 0) return invalid("the count is no multiple of the ranks");
    out = whole;
    block = bytes / size_;
    before = block * static_cast<std::size_t>(team_.rank);
  } else {
    std::size_t all = 0;
    if (!read(args_.src.info, r_.packed_in, whole, all, false)) return status_;
    if (!read(args_.dst.info, r_.packed_out, out, block, true)) return status_;
    if (is_short(all / size_, block)) return status_;
    bytes = block * size_;
  }
  if (!read_fold()) return status_;
  if (bytes == 0) return UCC_OK;
  r_.way = Request::Way::team;
  call_.coll = has_counts ? SUMAC_COLL_REDUCE_SCATTER : SUMAC_COLL_REDUCE_SCATTER_BLOCK;
  call_.in = whole;
  call_.out = out;
  call_.bytes = has_counts ? bytes : block;
  r_.result_bytes = block;
  std::byte* const own = static_cast<std::byte*>(out) + (is_in_place_ ? before : 0);
  if (!r_.packed_out.pieces.empty()) {
    if (is_in_place_) r_.packed_in.pieces = std::move(r_.packed_out.pieces);
    r_.packed_out.pieces.clear();
    if (block > 0) r_.packed_out.pieces = {{own, block}};
  } else if (is_in_place_) {
    r_.scratch.resize(std::max<std::size_t>(block, 1));
    call_.out = r_.scratch.data();
    r_.result = own;
    r_.copies = true;
  }
  return UCC_OK;
}

/// A broadcast among some ranks, by messages: two ranks send and receive so.
ucc_status_t Planner::active_set() {
  const auto& set = args_.active_set;
  if (args_.coll_type != UCC_COLL_TYPE_BCAST)
    return unsupported("an active set: bcast has them, and no other collective");
  void* data = nullptr;
  std::size_t bytes = 0;
  if (!read(args_.src.info, r_.packed_out, data, bytes, !is_root())) return status_;
  // Each rank is in the set once, so no later sum overflows.
  if (set.size > size_ || (set.size > 1 && set.stride == 0))
    return invalid("the active set has more ranks than the team, or one twice");
  bool has_root = false, has_own = false;
  std::vector<int> others;
  for (std::uint64_t i = 0; i < set.size; ++i) {
    const std::uint64_t rank = set.start + i * static_cast<std::uint64_t>(set.stride);
    if (rank >= size_) return invalid("the active set has a rank that the team has not");
    has_root = has_root || rank == args_.root;
    if (rank == static_cast<std::uint64_t>(team_.rank))
      has_own = true;
    else
      others.push_back(team_.ranks[rank]);
  }
  if (!has_root || !has_own) return invalid("the active set lacks the root or the rank that calls");
  if (bytes == 0 || others.empty()) return UCC_OK;
  r_.way = Request::Way::messages;
  r_.sends = is_root();
  r_.peers = r_.sends ? others : std::vector<int>{team_.ranks[args_.root]};
  const std::uint32_t tag = (args_.mask & UCC_COLL_ARGS_FIELD_TAG) != 0 ? args_.tag : 0;
  r_.tag = (team_.number & 0x7fff) << 16 | tag;
  call_.out = data;
  call_.bytes = bytes;
  return UCC_OK;
}

ucc_status_t Planner::shape() {
  const auto& src = args_.src;
  const auto& dst = args_.dst;
  void *in = nullptr, *out = nullptr;
  std::size_t in_bytes = 0, out_bytes = 0;
  const auto in_place = [&] { return is_in_place_ ? nullptr : in; };
  const auto read_in = [&] { return read(src.info, r_.packed_in, in, in_bytes, false); };
  const auto read_out = [&] { return read(dst.info, r_.packed_out, out, out_bytes, true); };
  /// Elements of all ranks' blocks, which are alike.
  const auto block = [&](std::size_t bytes) {
    if (bytes % size_ != 0 || (width_ != 0 && bytes / size_ % width_ != 0))
      status_ = invalid("the count is no multiple of the ranks");
    return bytes / size_;
  };
  const auto set = [&](int coll, const void* from, void* to, std::size_t bytes, bool is_empty) {
    if (status_ != UCC_OK) return status_;
    call_.coll = static_cast<std::uint8_t>(coll);
    call_.in = from;
    call_.out = to;
    call_.bytes = bytes;
    r_.way = is_empty ? Request::Way::nowhere : Request::Way::team;
    return UCC_OK;
  };
  switch (args_.coll_type) {
    case UCC_COLL_TYPE_BARRIER:
    case UCC_COLL_TYPE_FANIN:
    case UCC_COLL_TYPE_FANOUT: return set(SUMAC_COLL_BARRIER, nullptr, nullptr, 0, false);
    case UCC_COLL_TYPE_BCAST:
      if (!read(src.info, r_.packed_out, out, out_bytes, !is_root())) return status_;
      return set(SUMAC_COLL_BCAST, nullptr, out, out_bytes, out_bytes == 0);
    case UCC_COLL_TYPE_ALLREDUCE:
      if (!read_out() || !read_fold() || (!is_in_place_ && !read_in())) return status_;
      if (!is_in_place_ && in_bytes != out_bytes) return invalid("src and dst differ in their counts");
      r_.result_bytes = out_bytes;
      return set(SUMAC_COLL_ALLREDUCE, in_place(), out, out_bytes, out_bytes == 0);
    case UCC_COLL_TYPE_REDUCE:
      if (is_root() && !read_out()) return status_;
      if ((!is_root() || !is_in_place_) && !read_in()) return status_;
      if (!read_fold()) return status_;
      r_.divides = r_.divides && is_root();
      r_.result_bytes = is_root() ? out_bytes : in_bytes;
      return set(SUMAC_COLL_REDUCE, is_root() ? in_place() : in, out, r_.result_bytes, r_.result_bytes == 0);
    case UCC_COLL_TYPE_ALLGATHER:
      if (!read_out() || (!is_in_place_ && !read_in())) return status_;
      if (is_short(in_bytes, out_bytes / size_)) return status_;
      return set(SUMAC_COLL_ALLGATHER, in_place(), out, block(out_bytes), out_bytes == 0);
    case UCC_COLL_TYPE_ALLGATHERV:
      if (!read_blocks(dst.info_v, true, out, call_.out_blocks) || (!is_in_place_ && !read_in())) return status_;
      if (is_short(in_bytes, own_block(dst.info_v) * bytes_of_type(dst.info_v.datatype))) return status_;
      return set(SUMAC_COLL_ALLGATHERV, in_place(), out, 0, false);
    case UCC_COLL_TYPE_ALLTOALL:
      if (!read_out() || (!is_in_place_ && !read_in()) || is_short(in_bytes, out_bytes)) return status_;
      return set(SUMAC_COLL_ALLTOALL, in_place(), out, block(out_bytes), out_bytes == 0);
    case UCC_COLL_TYPE_ALLTOALLV:
      // One-sided, a displacement of `dst` is a place in the other's memory, which the receiver here does not know.
      if ((args_.mask & UCC_COLL_ARGS_FIELD_GLOBAL_WORK_BUFFER) != 0 &&
          (flags_ & UCC_COLL_ARGS_FLAG_MEM_MAPPED_BUFFERS) != 0)
        return unsupported("mapped buffers with a global work buffer; alltoall has them");
      if (!read_blocks(dst.info_v, true, out, call_.out_blocks)) return status_;
      if (is_in_place_)
        call_.in_blocks = call_.out_blocks;
      else if (!read_blocks(src.info_v, false, in, call_.in_blocks))
        return status_;
      return set(SUMAC_COLL_ALLTOALLV, in_place(), out, 0, false);
    case UCC_COLL_TYPE_GATHER:
      if (is_root() && !read_out()) return status_;
      if ((!is_root() || !is_in_place_) && !read_in()) return status_;
      if (is_root()) in_bytes = block(out_bytes);
      return set(SUMAC_COLL_GATHER, is_root() ? in_place() : in, out, in_bytes, in_bytes == 0);
    case UCC_COLL_TYPE_GATHERV:
      if (is_root() && !read_blocks(dst.info_v, true, out, call_.out_blocks)) return status_;
      if (is_root()) in_bytes = own_block(dst.info_v) * width_;
      if ((!is_root() || !is_in_place_) && !read_in()) return status_;
      return set(SUMAC_COLL_GATHERV, is_root() ? in_place() : in, out, in_bytes, false);
    case UCC_COLL_TYPE_SCATTER:
      if (is_root() && !read_in()) return status_;
      if ((!is_root() || !is_in_place_) && !read_out()) return status_;
      if (is_root()) out_bytes = block(in_bytes);
      return set(SUMAC_COLL_SCATTER, in, is_root() && is_in_place_ ? in : out, out_bytes, out_bytes == 0);
    case UCC_COLL_TYPE_SCATTERV:
      if (is_root() && !read_blocks(src.info_v, false, in, call_.in_blocks)) return status_;
      if (is_root()) out_bytes = own_block(src.info_v) * width_;
      if ((!is_root() || !is_in_place_) && !read_out()) return status_;
      return set(SUMAC_COLL_SCATTERV, in, is_root() && is_in_place_ ? in : out, out_bytes, false);
    case UCC_COLL_TYPE_REDUCE_SCATTER:
    case UCC_COLL_TYPE_REDUCE_SCATTERV: return reduce_scatter();
    default: return invalid("there is no such collective");
  }
}

std::optional<LastPlan::Key> Planner::key() const {
  constexpr std::uint64_t kTypes =
      UCC_COLL_TYPE_ALLREDUCE | UCC_COLL_TYPE_BCAST | UCC_COLL_TYPE_ALLGATHER | UCC_COLL_TYPE_ALLTOALL;
  constexpr std::uint64_t kHints = UCC_COLL_ARGS_HINT_OPTIMIZE_OVERLAP_CPU | UCC_COLL_ARGS_HINT_OPTIMIZE_OVERLAP_GPU |
                                   UCC_COLL_ARGS_HINT_OPTIMIZE_LATENCY;
  if ((args_.coll_type & kTypes) == 0 || (flags_ & ~kHints) != 0 || (args_.mask & ~UCC_COLL_ARGS_FIELD_FLAGS) != 0 ||
      team_.context->has_threads)
    return {};
  // Members that a call does not need may be garbage.
  const bool is_bcast = args_.coll_type == UCC_COLL_TYPE_BCAST;
  const auto &src = args_.src.info, &dst = is_bcast ? src : args_.dst.info;
  if (src.buffer == nullptr || dst.buffer == nullptr || generic_of(src.datatype) != nullptr ||
      generic_of(dst.datatype) != nullptr)
    return {};
  std::uint64_t word = 0;
  if (is_bcast) word = args_.root;
  if (args_.coll_type == UCC_COLL_TYPE_ALLREDUCE) word = rank::number_of(args_.op);
  return LastPlan::Key{args_.coll_type, word,      src.count,    src.datatype,
                       src.mem_type,    dst.count, dst.datatype, dst.mem_type};
}

void Planner::repeat(const LastPlan& last) {
  const bool is_bcast = args_.coll_type == UCC_COLL_TYPE_BCAST;
  r_.type = args_.coll_type;
  r_.datatype = last.datatype;
  r_.result_bytes = last.result_bytes;
  r_.way = Request::Way::team;
  call_ = last.call;
  call_.in = is_bcast ? nullptr : args_.src.info.buffer;
  call_.out = is_bcast ? args_.src.info.buffer : args_.dst.info.buffer;
}

ucc_status_t Planner::plan() {
  const auto key = this->key();
  if (key && *key == team_.last_plan.key) {
    repeat(team_.last_plan);
    return UCC_OK;
  }
  constexpr std::uint64_t kRooted = UCC_COLL_TYPE_BCAST | UCC_COLL_TYPE_FANIN | UCC_COLL_TYPE_FANOUT |
                                    UCC_COLL_TYPE_GATHER | UCC_COLL_TYPE_GATHERV | UCC_COLL_TYPE_REDUCE |
                                    UCC_COLL_TYPE_SCATTER | UCC_COLL_TYPE_SCATTERV;
  const std::uint64_t mask = args_.mask;
  r_.type = args_.coll_type;
  r_.is_persistent = (flags_ & UCC_COLL_ARGS_FLAG_PERSISTENT) != 0;
  if ((mask & UCC_COLL_ARGS_FIELD_CB) != 0 && args_.cb.cb != nullptr) {
    r_.callback = args_.cb;
    r_.has_callback = true;
  }
  if ((flags_ & UCC_COLL_ARGS_FLAG_TIMEOUT) != 0) {
    constexpr double kLongest = 1e9;  // Seconds.
    if (!(args_.timeout > 0)) return invalid("the timeout is no positive number of seconds");
    r_.limit = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(args_.timeout, kLongest)));
  }
  if ((args_.coll_type & kRooted) != 0) {
    if (args_.root >= size_) return invalid(fmt::format("there is no root {} among {} ranks", args_.root, size_));
    call_.root = static_cast<int>(args_.root);
  }
  if ((mask & UCC_COLL_ARGS_FIELD_ACTIVE_SET) != 0 && team_.context->library->api_minor >= 1) return active_set();
  if (const ucc_status_t status = shape(); status != UCC_OK) return status;
  if (r_.way == Request::Way::team && team_.team == nullptr) r_.way = Request::Way::alone;
  if (key && r_.way == Request::Way::team && !r_.divides && !r_.is_on_device())
    team_.last_plan = {*key, call_, r_.datatype, r_.result_bytes};
  return UCC_OK;
}

}  // namespace

ucc_status_t plan(Request& request, const ucc_coll_args_t& args, ucc_team& team) {
  return Planner(request, args, team).plan();
}

}  // namespace sumac::ucc
