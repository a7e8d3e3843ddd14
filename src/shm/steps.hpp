#pragma once
// Inside this folder only: every step function, for the table in algorithms.cpp.
#include "shm/algorithms.hpp"

namespace sumac::shm {

// flat: any group, any size (several rounds); meant for what fits into one eager buffer.
Step barrier_flat(Operation& op);
Step allreduce_flat(Operation& op);
Step reduce_flat(Operation& op);
Step bcast_flat(Operation& op);
Step allgather_flat(Operation& op);
Step allgatherv_flat(Operation& op);
Step alltoall_flat(Operation& op);
Step alltoallv_flat(Operation& op);
Step reduce_scatter_block_flat(Operation& op);

// Large messages through the members' large areas (turns.hpp): any group with room for them, any size.
bool turns_fit(const Group& group) noexcept;
Step allreduce_blocks(Operation& op);
Step allreduce_pairs(Operation& op);
Step reduce_blocks(Operation& op);
Step reduce_scatter_block_blocks(Operation& op);
Step reduce_stream(Operation& op);
Step bcast_stream(Operation& op);
Step allreduce_stream(Operation& op);
Step allgather_exchange(Operation& op);
Step allgatherv_exchange(Operation& op);
Step alltoall_exchange(Operation& op);
Step alltoallv_exchange(Operation& op);

// Single copy, where agree_on_single_copy() said yes.
bool single_copy_agreed(const Group& group) noexcept;
Step allreduce_single(Operation& op);
Step bcast_single(Operation& op);
Step allgather_single(Operation& op);
Step allgatherv_single(Operation& op);
Step alltoall_single(Operation& op);
Step alltoallv_single(Operation& op);

// Either of two ways, timed on the first calls (timed.cpp): groups of two that agreed on single copy.
bool has_decisions(const Group& group) noexcept;
Step timed(Operation& op);

}  // namespace sumac::shm
