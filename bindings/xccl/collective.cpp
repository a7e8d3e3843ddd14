// Collectives become those of libucc.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "bindings/xccl/request.hpp"

namespace sumac::xccl {
namespace {

constexpr ucc_datatype_t kTypes[] = {UCC_DT_INT8,    UCC_DT_INT16,   UCC_DT_INT32,  UCC_DT_INT64,  UCC_DT_INT128,
                                     UCC_DT_UINT8,   UCC_DT_UINT16,  UCC_DT_UINT32, UCC_DT_UINT64, UCC_DT_UINT128,
                                     UCC_DT_FLOAT16, UCC_DT_FLOAT32, UCC_DT_FLOAT64};
static_assert(std::size(kTypes) == XCCL_DT_LAST_PREDEFINED);

/// LAST: refused. XCCL reduces by neither AND, OR nor XOR, which beside LAND and BAND mean nothing.
constexpr ucc_reduction_op_t kOps[] = {UCC_OP_MAX,  UCC_OP_MIN,  UCC_OP_SUM,  UCC_OP_PROD, UCC_OP_LAST,
                                       UCC_OP_LAST, UCC_OP_LAST, UCC_OP_LAND, UCC_OP_LOR,  UCC_OP_LXOR,
                                       UCC_OP_BAND, UCC_OP_BOR,  UCC_OP_BXOR, UCC_OP_LAST, UCC_OP_LAST};
static_assert(std::size(kOps) == XCCL_OP_LAST_PREDEFINED);

/// A program may mark "in place" by it, the value of MPI_IN_PLACE.
const void* const kInPlace = reinterpret_cast<const void*>(1);

class Planner {
 public:
  Planner(xccl_coll_req& request, const xccl_coll_op_args_t& args)
      : r_(request), args_(args), info_(args.buffer_info), team_(*request.team) {
    of_ucc_.mask = UCC_COLL_ARGS_FIELD_FLAGS;
    of_ucc_.flags = UCC_COLL_ARGS_FLAG_PERSISTENT;
    of_ucc_.root = static_cast<std::uint64_t>(static_cast<std::int64_t>(args.root));
  }

  xccl_status_t plan() {
    if ((args_.field_mask & XCCL_COLL_OP_ARGS_FIELD_STREAM) != 0)
      return refuse(XCCL_ERR_UNSUPPORTED, "a collective on a CUDA stream: this library moves host memory");
    if (const xccl_status_t status = shape(); status != XCCL_OK) return status;
    return init(of_ucc_, team_, r_.request);
  }

 private:
  static xccl_status_t invalid(const char* why) { return refuse(XCCL_ERR_INVALID_PARAM, why); }
  bool is_root() const { return args_.root == team_.rank; }
  void set_source(const ucc_coll_buffer_info_t& source, bool is_in_place) {
    if (is_in_place)
      of_ucc_.flags |= UCC_COLL_ARGS_FLAG_IN_PLACE;
    else
      of_ucc_.src.info = source;
  }

  xccl_status_t shape() {
    const auto blocks = static_cast<std::size_t>(team_.size);
    bool is_in_place = info_.src_buffer == info_.dst_buffer || info_.src_buffer == kInPlace;
    std::size_t bytes = info_.len;
    switch (args_.coll_type) {
      case XCCL_BARRIER: of_ucc_.coll_type = UCC_COLL_TYPE_BARRIER; return XCCL_OK;
      case XCCL_FANIN: of_ucc_.coll_type = UCC_COLL_TYPE_FANIN; return XCCL_OK;
      case XCCL_FANOUT: of_ucc_.coll_type = UCC_COLL_TYPE_FANOUT; return XCCL_OK;
      case XCCL_BCAST:
        of_ucc_.coll_type = UCC_COLL_TYPE_BCAST;
        of_ucc_.src.info = bytes_at(info_.dst_buffer, bytes);
        if (is_root() && !is_in_place) {
          r_.root_src = info_.src_buffer;
          r_.root_dst = info_.dst_buffer;
          r_.root_bytes = bytes;
        }
        if (r_.root_bytes > 0 && r_.root_src == nullptr) return invalid("a broadcast's root has NULL for its source");
        return XCCL_OK;
      case XCCL_ALLREDUCE:
      case XCCL_REDUCE: return reduction(is_in_place);
      case XCCL_ALLTOALL:
        of_ucc_.coll_type = UCC_COLL_TYPE_ALLTOALL;
        if (bytes > PTRDIFF_MAX / blocks) return invalid("an alltoall has more bytes than there are addresses");
        bytes *= blocks;
        of_ucc_.dst.info = bytes_at(info_.dst_buffer, bytes);
        set_source(bytes_at(info_.src_buffer, bytes), is_in_place);
        return XCCL_OK;
      case XCCL_ALLTOALLV: return alltoallv(is_in_place);
      case XCCL_ALLGATHER: {
        const std::size_t block = bytes / blocks;
        of_ucc_.coll_type = UCC_COLL_TYPE_ALLGATHER;
        of_ucc_.dst.info = bytes_at(info_.dst_buffer, bytes);
        const auto* own =
            static_cast<const std::byte*>(info_.dst_buffer) + block * static_cast<std::size_t>(team_.rank);
        is_in_place = is_in_place || info_.src_buffer == own;
        set_source(bytes_at(info_.src_buffer, block), is_in_place);
        return XCCL_OK;
      }
      default: return invalid("there is no such collective");
    }
  }

  xccl_status_t reduction(bool is_in_place) {
    const auto [dt, op, count] = args_.reduce_info;
    if (static_cast<unsigned>(dt) >= std::size(kTypes)) return invalid("a reduction's dt is no type");
    if (static_cast<unsigned>(op) >= std::size(kOps)) return invalid("a reduction's op is no operation");
    if (kOps[op] == UCC_OP_LAST)
      return refuse(XCCL_ERR_UNSUPPORTED,
                    "a reduction by AND, OR, XOR, MAXLOC or MINLOC; LAND, BAND and their like are there");
    of_ucc_.op = kOps[op];
    const auto elements = [&](void* buffer) {
      return ucc_coll_buffer_info_t{buffer, count, kTypes[dt], UCC_MEMORY_TYPE_HOST};
    };
    const bool has_result = args_.coll_type == XCCL_ALLREDUCE || is_root();
    of_ucc_.coll_type = args_.coll_type == XCCL_ALLREDUCE ? UCC_COLL_TYPE_ALLREDUCE : UCC_COLL_TYPE_REDUCE;
    if (has_result) of_ucc_.dst.info = elements(info_.dst_buffer);
    if (!has_result && is_in_place)
      of_ucc_.src.info = elements(info_.dst_buffer);
    else
      set_source(elements(info_.src_buffer), is_in_place);
    return XCCL_OK;
  }

  xccl_status_t alltoallv(bool is_in_place) {
    const auto blocks = [](void* buffer, std::uint32_t* counts, std::uint32_t* displacements, xccl_dt_t type) {
      // Without the flags of 64 bits libucc reads numbers of 32.
      return ucc_coll_buffer_info_v_t{buffer, reinterpret_cast<ucc_count_t*>(counts),
                                      reinterpret_cast<ucc_aint_t*>(displacements), kTypes[type], UCC_MEMORY_TYPE_HOST};
    };
    if (static_cast<unsigned>(info_.dst_datatype) >= std::size(kTypes) ||
        (!is_in_place && static_cast<unsigned>(info_.src_datatype) >= std::size(kTypes)))
      return invalid("an alltoallv's datatype is no type");
    of_ucc_.coll_type = UCC_COLL_TYPE_ALLTOALLV;
    of_ucc_.dst.info_v = blocks(info_.dst_buffer, info_.dst_counts, info_.dst_displacements, info_.dst_datatype);
    if (is_in_place)
      of_ucc_.flags |= UCC_COLL_ARGS_FLAG_IN_PLACE;
    else
      of_ucc_.src.info_v = blocks(info_.src_buffer, info_.src_counts, info_.src_displacements, info_.src_datatype);
    return XCCL_OK;
  }

  xccl_coll_req& r_;
  const xccl_coll_op_args_t& args_;
  const xccl_coll_buffer_info_t& info_;
  const xccl_team& team_;
  ucc_coll_args_t of_ucc_{};
};

}  // namespace

ucc_coll_buffer_info_t bytes_at(const void* buffer, std::size_t bytes) {
  return {const_cast<void*>(buffer), bytes, UCC_DT_INT8, UCC_MEMORY_TYPE_HOST};
}

xccl_status_t init(ucc_coll_args_t& args, const xccl_team& team, ucc_coll_req_h& request) {
  return status_of(ucc_collective_init(&args, &request, team.team));
}

xccl_status_t gather(const xccl_team& team, const void* own, void* all, std::size_t bytes, ucc_coll_req_h& request) {
  ucc_coll_args_t args{};
  args.mask = UCC_COLL_ARGS_FIELD_FLAGS;
  args.flags = UCC_COLL_ARGS_FLAG_PERSISTENT;
  args.coll_type = UCC_COLL_TYPE_ALLGATHER;
  args.src.info = bytes_at(own, bytes);
  args.dst.info = bytes_at(all, bytes * static_cast<std::size_t>(team.size));
  return init(args, team, request);
}

xccl_coll_req_h add(std::shared_ptr<xccl_coll_req> request) {
  const std::lock_guard guard(request->team->lock);
  request->team->requests.push_back(request.get());
  return Register<xccl_coll_req>::own().add(request);
}

xccl_status_t post(xccl_coll_req& request) {
  xccl_team& team = *request.team;
  const std::lock_guard guard(team.lock);
  if (!team.is_active) return refuse(XCCL_ERR_INVALID_PARAM, "xccl_collective_post: the request's team is destroyed");
  if (request.state != xccl_coll_req::State::fresh && request.status() != XCCL_OK)
    return refuse(XCCL_ERR_INVALID_PARAM, "xccl_collective_post: the request is under way, or has failed");
  request.state = xccl_coll_req::State::waiting;
  team.waiting.push_back(&request);
  team.step();
  return request.state == xccl_coll_req::State::failed ? request.failure : XCCL_OK;
}

xccl_status_t test(xccl_coll_req& request) {
  if (request.state == xccl_coll_req::State::fresh)
    return refuse(XCCL_ERR_INVALID_PARAM, "a request is tested before it is posted");
  if (const xccl_status_t status = request.status(); status != XCCL_INPROGRESS) return status;
  const xccl_status_t moved = request.team->context->progress();
  return moved == XCCL_OK ? request.status() : moved;
}

xccl_status_t finalize(xccl_coll_req& request) {
  xccl_team& team = *request.team;
  const std::lock_guard guard(team.lock);
  if (request.state != xccl_coll_req::State::fresh && request.status() == XCCL_INPROGRESS && team.is_active)
    return refuse(XCCL_ERR_INVALID_PARAM, "xccl_collective_finalize: the request is under way");
  request.drop();
  std::erase(team.requests, &request);
  (void)Register<xccl_coll_req>::own().take(&request);
  return XCCL_OK;
}

}  // namespace sumac::xccl

using sumac::xccl::find;
using sumac::xccl::guarded;
using sumac::xccl::refuse;

xccl_status_t xccl_coll_req::status() const {
  // An acquire: what set() has stored before is seen.
  switch (state.load(std::memory_order_acquire)) {
    case State::failed: return failure;
    case State::running: return request == nullptr ? XCCL_ERR_INVALID_PARAM : sumac::xccl::status_of(*request);
    default: return XCCL_INPROGRESS;
  }
}

void xccl_coll_req::set(xccl_status_t posted, State good) {
  failure = posted;
  state.store(posted == XCCL_OK ? good : State::failed, std::memory_order_release);
}

void xccl_coll_req::start() {
  if (root_bytes > 0) std::memmove(root_dst, root_src, root_bytes);
  set(sumac::xccl::status_of(ucc_collective_post(fetch ? fetch->wishes : request)),
      fetch ? State::asking : State::running);
}

bool xccl_coll_req::move() {
  xccl_status_t status = sumac::xccl::status_of(*fetch->wishes);
  if (status == XCCL_INPROGRESS) return false;
  if (status == XCCL_OK) status = fetch->move(*team, request);
  if (status == XCCL_OK) status = sumac::xccl::status_of(ucc_collective_post(request));
  set(status, State::running);
  return true;
}

void xccl_coll_req::drop() {
  for (ucc_coll_req_h* one : {&request, fetch ? &fetch->wishes : nullptr})
    if (one != nullptr && *one != nullptr) (void)ucc_collective_finalize(std::exchange(*one, nullptr));
}

extern "C" {

xccl_status_t xccl_collective_init(xccl_coll_op_args_t* coll_args, xccl_coll_req_h* request, xccl_team_h handle) {
  if (coll_args == nullptr || request == nullptr) return XCCL_ERR_INVALID_PARAM;
  return guarded([&] {
    auto team = find(handle, "team");
    if (!team) return XCCL_ERR_INVALID_PARAM;
    if (!team->is_active) return refuse(XCCL_ERR_INVALID_PARAM, "xccl_collective_init: the team is not made yet");
    auto made = std::make_shared<xccl_coll_req>();
    made->team = std::move(team);
    const xccl_status_t status = coll_args->coll_type == XCCL_FANOUT_GET
                                     ? sumac::xccl::plan_fetch(*made, *coll_args)
                                     : sumac::xccl::Planner(*made, *coll_args).plan();
    if (status == XCCL_OK) *request = sumac::xccl::add(std::move(made));
    return status;
  });
}

xccl_status_t xccl_collective_post(xccl_coll_req_h request) {
  return guarded([&] {
    const auto found = find(request, "request");
    return found ? sumac::xccl::post(*found) : XCCL_ERR_INVALID_PARAM;
  });
}

xccl_status_t xccl_collective_test(xccl_coll_req_h request) {
  return guarded([&] {
    const auto found = find(request, "request");
    return found ? sumac::xccl::test(*found) : XCCL_ERR_INVALID_PARAM;
  });
}

xccl_status_t xccl_collective_wait(xccl_coll_req_h request) {
  return guarded([&] {
    const auto found = find(request, "request");
    if (!found) return XCCL_ERR_INVALID_PARAM;
    xccl_status_t status;
    while ((status = sumac::xccl::test(*found)) == XCCL_INPROGRESS) ::sched_yield();
    return status;
  });
}

xccl_status_t xccl_collective_finalize(xccl_coll_req_h request) {
  return guarded([&] {
    const auto found = find(request, "request");
    return found ? sumac::xccl::finalize(*found) : XCCL_ERR_INVALID_PARAM;
  });
}

}  // extern "C"
