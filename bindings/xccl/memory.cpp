// Memory that others fetch from. A fetch has no one-sided access beneath it: each rank gives its wish to all (an allgather), and the
// root scatters. So it works wherever the team's collectives do, in a host and between hosts.
#include <fmt/format.h>

#include <cstring>
#include <new>
#include <utility>

#include "bindings/xccl/request.hpp"

namespace sumac::xccl {

xccl_status_t plan_fetch(xccl_coll_req& request, const xccl_coll_op_args_t& args) {
  const auto& get = args.get_info;
  if ((args.field_mask & XCCL_COLL_OP_ARGS_FIELD_STREAM) != 0)
    return refuse(XCCL_ERR_UNSUPPORTED, "a fetch on a CUDA stream: this library moves host memory");
  auto memory = find(get.memh, "mapped memory");
  if (!memory) return XCCL_ERR_INVALID_PARAM;
  if (memory->team != request.team || memory->status != XCCL_OK || memory->root != args.root)
    return refuse(XCCL_ERR_INVALID_PARAM, "a fetch's memory is not mapped yet, or of another team or root");
  if (get.len > 0 && get.local_buffer == nullptr) return refuse(XCCL_ERR_INVALID_PARAM, "a fetch's buffer is NULL");
  auto fetch = std::make_unique<Fetch>();
  // A negative offset is larger than any memory.
  fetch->record = {memory->number, static_cast<std::uint64_t>(get.offset), get.len};
  fetch->into = get.local_buffer;
  fetch->memory = std::move(memory);
  fetch->records.resize(static_cast<std::size_t>(request.team->size));
  const xccl_status_t status =
      gather(*request.team, &fetch->record, fetch->records.data(), sizeof fetch->record, fetch->wishes);
  request.fetch = std::move(fetch);
  return status;
}

xccl_status_t Fetch::move(const xccl_team& team, ucc_coll_req_h& request) {
  if (request != nullptr) (void)ucc_collective_finalize(std::exchange(request, nullptr));  // It was posted before.
  counts.clear();
  offsets.clear();
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    const Record& one = records[rank];
    if (one.number != records.front().number || one.offset > memory->length || one.length > memory->length - one.offset)
      return refuse(XCCL_ERR_INVALID_PARAM,
                    fmt::format("a fetch: rank {} names other memory, or asks for {} bytes at {} of {}", rank,
                                one.length, one.offset, memory->length));
    counts.push_back(one.length);
    offsets.push_back(one.offset);
  }
  ucc_coll_args_t args{};
  args.mask = UCC_COLL_ARGS_FIELD_FLAGS;
  args.flags = UCC_COLL_ARGS_FLAG_COUNT_64BIT | UCC_COLL_ARGS_FLAG_DISPLACEMENTS_64BIT;
  args.coll_type = UCC_COLL_TYPE_SCATTERV;
  args.root = static_cast<std::uint64_t>(memory->root);
  if (team.rank == memory->root) {
    args.flags |= UCC_COLL_ARGS_FLAG_IN_PLACE;
    args.src.info_v = {memory->address, counts.data(), offsets.data(), UCC_DT_INT8, UCC_MEMORY_TYPE_HOST};
    if (record.length > 0) std::memmove(into, memory->address + record.offset, record.length);
  } else {
    args.dst.info = bytes_at(into, record.length);
  }
  return init(args, team, request);
}

namespace {

xccl_status_t agree(xccl_mem_handle& memory) {
  for (const auto& one : memory.records)
    if (one.root != memory.records.front().root || one.root < 0)
      return refuse(XCCL_ERR_INVALID_PARAM,
                    "xccl_global_mem_map: the ranks differ in their root, or one has wrong arguments, or no memory");
  memory.length = memory.records[static_cast<std::size_t>(memory.root)].length;
  return XCCL_OK;
}

}  // namespace
}  // namespace sumac::xccl

using sumac::xccl::find;
using sumac::xccl::guarded;
using sumac::xccl::refuse;
using sumac::xccl::Register;

extern "C" {

xccl_status_t xccl_global_mem_map_start(xccl_team_h handle, xccl_mem_map_params_t params, xccl_mem_h* memh_p) {
  if (memh_p == nullptr) return XCCL_ERR_INVALID_PARAM;
  return guarded([&] {
    auto team = find(handle, "team");
    if (!team) return XCCL_ERR_INVALID_PARAM;
    if (!team->is_active) return refuse(XCCL_ERR_INVALID_PARAM, "xccl_global_mem_map_start: the team is not made yet");
    const auto has = [&](std::uint64_t bit) { return (params.field_mask & bit) != 0; };
    auto memory = std::make_shared<xccl_mem_handle>();
    // Wrong arguments reach all ranks, so that none waits for this one.
    memory->root =
        has(XCCL_MEM_MAP_PARAM_FIELD_ROOT) && params.root >= 0 && params.root < team->size ? params.root : -1;
    if (memory->root == team->rank) {
      if (has(XCCL_MEM_MAP_PARAM_FIELD_ADDRESS)) memory->address = static_cast<std::byte*>(params.address);
      memory->record.length = has(XCCL_MEM_MAP_PARAM_FIELD_LENGTH) ? params.length : 0;
      if (memory->record.length == 0 || memory->record.length > PTRDIFF_MAX) memory->root = -1;
      if (memory->address == nullptr && memory->root >= 0) {
        memory->own.reset(new (std::nothrow) std::byte[params.length]());
        memory->address = memory->own.get();
        if (memory->address == nullptr) memory->root = -1;
      }
    }
    memory->record.root = memory->root;
    memory->records.resize(static_cast<std::size_t>(team->size));
    auto request = std::make_shared<xccl_coll_req>();
    request->team = team;
    const xccl_status_t status =
        sumac::xccl::gather(*team, &memory->record, memory->records.data(), sizeof memory->record, request->request);
    if (status != XCCL_OK) return status;
    {
      const std::lock_guard guard(team->lock);
      memory->number = ++team->mapped;
    }
    memory->team = std::move(team);
    memory->exchange = sumac::xccl::add(std::move(request));
    xccl_coll_req& exchange = *memory->exchange;
    *memh_p = Register<xccl_mem_handle>::own().add(std::move(memory));
    return sumac::xccl::post(exchange);
  });
}

xccl_status_t xccl_global_mem_map_test(xccl_mem_h memh_p) {
  return guarded([&] {
    const auto memory = find(memh_p, "mapped memory");
    if (!memory) return XCCL_ERR_INVALID_PARAM;
    if (memory->exchange == nullptr) return memory->status;
    const xccl_status_t status = sumac::xccl::test(*memory->exchange);
    if (status == XCCL_INPROGRESS) return status;
    (void)sumac::xccl::finalize(*std::exchange(memory->exchange, nullptr));
    return memory->status = status == XCCL_OK ? sumac::xccl::agree(*memory) : status;
  });
}

xccl_status_t xccl_global_mem_unmap(xccl_mem_h memh_p) {
  return guarded([&] {
    const auto memory = find(memh_p, "mapped memory");
    if (!memory) return XCCL_ERR_INVALID_PARAM;
    // Each fetch refers to its memory, and so does the register.
    if (memory->exchange != nullptr)
      return refuse(XCCL_ERR_INVALID_PARAM,
                    "xccl_global_mem_unmap: the mapping is under way: test it until it is over");
    (void)Register<xccl_mem_handle>::own().take(memh_p);
    return XCCL_OK;
  });
}

}  // extern "C"
