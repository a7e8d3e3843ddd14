#pragma once
// Every step function, for the table in algorithms.cpp; only this folder includes this header.
#include "shm/algorithms.hpp"

namespace sumac::shm {

// The flat algorithms work in any group and for any size (in several rounds); they are meant for messages that fit into
// one eager buffer.
Step barrier_flat(Task& task);
Step allreduce_flat(Task& task);
Step reduce_flat(Task& task);
Step bcast_flat(Task& task);
Step allgather_flat(Task& task);
Step allgatherv_flat(Task& task);
Step alltoall_flat(Task& task);
Step alltoallv_flat(Task& task);
Step reduce_scatter_block_flat(Task& task);
Step reduce_scatter_flat(Task& task);
Step gather_flat(Task& task);
Step gatherv_flat(Task& task);
Step scatter_flat(Task& task);
Step scatterv_flat(Task& task);
Step scan_flat(Task& task);
Step exscan_flat(Task& task);

// These send large messages through the members' large areas (turns.hpp): in any group with room for them, for any
// size.
bool turns_fit(const Group& group) noexcept;
Step allreduce_blocks(Task& task);
Step allreduce_pairs(Task& task);
Step reduce_blocks(Task& task);
Step reduce_scatter_block_blocks(Task& task);
Step reduce_scatter_blocks(Task& task);
Step reduce_stream(Task& task);
Step bcast_stream(Task& task);
Step allreduce_stream(Task& task);
Step allgather_exchange(Task& task);
Step allgatherv_exchange(Task& task);
Step alltoall_exchange(Task& task);
Step alltoallv_exchange(Task& task);
Step gather_stream(Task& task);
Step gatherv_stream(Task& task);
Step scatter_stream(Task& task);
Step scatterv_stream(Task& task);
Step scan_stream(Task& task);
Step exscan_stream(Task& task);

// These copy once between processes, in groups where agree_on_single_copy() succeeded.
bool single_copy_agreed(const Group& group) noexcept;
Step allreduce_single(Task& task);
Step bcast_single(Task& task);
Step allgather_single(Task& task);
Step allgatherv_single(Task& task);
Step alltoall_single(Task& task);
Step alltoallv_single(Task& task);
Step scatter_single(Task& task);

// Uses shared memory or single copy, timed on the first calls (timed.cpp), in groups of two that agreed on single copy.
bool has_decisions(const Group& group) noexcept;
Step timed(Task& task);

}  // namespace sumac::shm
