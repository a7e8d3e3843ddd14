#include "rank/plan.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

const char sumac_plan_no_data[1] = {};

namespace {

// Each part of the packed memory begins on a cache line of its own: of blocks first their counts and displacements, then
// their data.
constexpr std::size_t kLine = 64;
std::size_t rounded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

std::size_t reserve(sumac_plan& plan, std::size_t bytes) {
  const std::size_t at = plan.memory_bytes;
  plan.memory_bytes = at + rounded(std::max<std::size_t>(bytes, 1));
  return at;
}

std::size_t numbers_bytes(int blocks) { return 2 * sizeof(std::int64_t) * static_cast<std::size_t>(blocks); }

sumac_side packed_side(sumac_plan& plan, const void* user, std::size_t count, const sumac_layout& layout,
                       std::size_t bytes) {
  return {.user = static_cast<char*>(const_cast<void*>(user)),
          .layout = layout,
          .count = count,
          .sized = {},
          .blocks = 0,
          .packed_at = reserve(plan, bytes),
          .is_packed = true};
}

char* packed(const sumac_plan& plan, const sumac_side& side) {
  char* begin = static_cast<char*>(plan.memory) + side.packed_at;
  return side.sized.counts == nullptr ? begin : begin + rounded(numbers_bytes(side.blocks));
}

/// Returns where a side's packed data begin. Blocks of different lengths follow each other there, so their displacements are
/// ours, and may be larger than those of the program.
char* lay_out(const sumac_plan& plan, const sumac_side& side, sumac_blocks_t& at) {
  if (side.sized.counts != nullptr) {
    auto* counts = reinterpret_cast<std::int64_t*>(static_cast<char*>(plan.memory) + side.packed_at);
    std::int64_t *displacements = counts + side.blocks, next = 0;
    for (int i = 0; i < side.blocks; ++i) {
      displacements[i] = next;
      next += counts[i] = sumac_block_count(&side.sized, i);
    }
    at = {counts, displacements, at.unit, true};
  }
  return packed(plan, side);
}

template <class Convert>
int each_block(const sumac_plan& plan, const sumac_side& side, const Convert& convert) {
  char* ours = packed(plan, side);
  if (side.sized.counts == nullptr) return convert(side.user, side.count, ours);
  for (int i = 0; i < side.blocks; ++i) {
    const auto count = static_cast<std::size_t>(sumac_block_count(&side.sized, i));
    const int rc = convert(side.user + sumac_block_displacement(&side.sized, i) * side.layout.extent, count, ours);
    if (rc != 0) return rc;
    ours += count * side.layout.size;
  }
  return 0;
}

/// The bytes from the first element's data to the end of the last one's, where elements keep their distance.
std::size_t reach(const sumac_plan& plan) {
  return (plan.send.count - 1) * plan.own.mpi_bytes + static_cast<std::size_t>(plan.own.true_extent);
}

/// Copies the data alone: what lies in the gaps of the user's buffer is the user's. An element's data are no longer than its
/// extent, so there is always room for one.
int return_with_gaps(const sumac_plan& plan, const sumac_packing& mpi) {
  const sumac_side& side = plan.receive;
  char data[SUMAC_ELEMENT_BYTES_MAX];
  const std::size_t most = sizeof data / side.layout.size;
  for (std::size_t done = 0; done < side.count;) {
    const std::size_t now = std::min(most, side.count - done);
    const auto at = static_cast<std::ptrdiff_t>(done) * side.layout.extent;
    int rc = mpi.pack(packed(plan, side) - plan.own.true_lb + at, now, &side.layout, data);
    if (rc == 0) rc = mpi.unpack(data, side.user + at, now, &side.layout);
    if (rc != 0) return rc;
    done += now;
  }
  return 0;
}

void keep(const void*& array, std::size_t bytes, std::int64_t*& next) {
  if (array == nullptr) return;
  std::memcpy(next, array, bytes);
  array = next;
  next += (bytes + sizeof *next - 1) / sizeof *next;
}

}  // namespace

void sumac_plan_pack_row(sumac_plan* plan, sumac_side* side, const void* user, std::size_t count,
                         const sumac_layout* layout) {
  *side = packed_side(*plan, user, count, *layout, count * layout->size);
}

void sumac_plan_pack_blocks(sumac_plan* plan, sumac_side* side, const void* user, const sumac_blocks_t* sized,
                            int blocks, const sumac_layout* layout) {
  std::size_t count = 0;
  for (int i = 0; i < blocks; ++i) count += static_cast<std::size_t>(sumac_block_count(sized, i));
  *side = packed_side(*plan, user, count, *layout, rounded(numbers_bytes(blocks)) + count * layout->size);
  side->sized = *sized;
  side->blocks = blocks;
}

void sumac_plan_pack_with_gaps(sumac_plan* plan, const void* in, std::size_t gives, void* out, std::size_t gets,
                               const sumac_layout* layout) {
  plan->keeps_extent = true;
  plan->send = packed_side(*plan, in, gives, *layout, gives * plan->own.mpi_bytes);
  if (out != nullptr) plan->receive = packed_side(*plan, out, gets, *layout, gets * plan->own.mpi_bytes);
}

void sumac_plan_in_place(sumac_plan* plan, std::size_t own, std::size_t count) {
  plan->shared = SUMAC_IN_IS_OUT;
  plan->call.in = plan->call.out;
  if (!plan->receive.is_packed) return;
  // Data to send are packed into the memory that receives.
  const std::size_t bytes = plan->call.bytes, elements = bytes / plan->receive.layout.size;
  plan->send = plan->receive;
  plan->send.user += static_cast<std::ptrdiff_t>(own * elements) * plan->receive.layout.extent;
  plan->send.count = count;
  plan->send.packed_at += own * bytes;
}

void sumac_plan_use(sumac_plan* plan, void* memory) {
  sumac_call_t& call = plan->call;
  plan->memory = memory;
  if (plan->receive.is_packed) call.out = lay_out(*plan, plan->receive, call.out_blocks);
  if (plan->send.is_packed && plan->shared != SUMAC_IN_IS_OUT) call.in = lay_out(*plan, plan->send, call.in_blocks);
  if (plan->shared == SUMAC_IN_IS_OUT) {
    call.in = call.out;
    call.in_blocks = call.out_blocks;
  } else if (plan->shared == SUMAC_OUT_IS_IN) {
    call.out = const_cast<void*>(call.in);
  }
}

int sumac_plan_pack(const sumac_plan* plan, const sumac_packing* mpi) {
  const sumac_side& side = plan->send;
  if (!side.is_packed) return 0;
  if (plan->keeps_extent) {
    std::memcpy(packed(*plan, side), side.user + plan->own.true_lb, reach(*plan));
    return 0;
  }
  return each_block(*plan, side, [&](const char* user, std::size_t count, char* ours) {
    return mpi->pack(user, count, &side.layout, ours);
  });
}

int sumac_plan_unpack(const sumac_plan* plan, const sumac_packing* mpi) {
  const sumac_side& side = plan->receive;
  if (!side.is_packed) return 0;
  if (plan->keeps_extent) return return_with_gaps(*plan, *mpi);
  return each_block(*plan, side, [&](char* user, std::size_t count, const char* ours) {
    return mpi->unpack(ours, user, count, &side.layout);
  });
}

void sumac_plan_keep_numbers(sumac_plan* plan, int blocks, std::int64_t* numbers) {
  const auto keep_both = [&](sumac_blocks_t& each) {
    const std::size_t bytes =
        static_cast<std::size_t>(blocks) * (each.is_wide != 0 ? sizeof(std::int64_t) : sizeof(int));
    keep(each.counts, bytes, numbers);
    keep(each.displacements, bytes, numbers);
  };
  keep_both(plan->call.in_blocks);
  keep_both(plan->call.out_blocks);
  for (sumac_side* side : {&plan->send, &plan->receive})
    if (side->is_packed) keep_both(side->sized);
}
