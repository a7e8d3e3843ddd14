#pragma once
// Operations between hosts: by the aggregation tree where it can and may, else by the MPI's nonblocking collectives among
// the leaders.
#include "team/team.h"

namespace sumac::pmpi {

/// Serves as spec.open_across; its context is the lane.
int open_across(void* context, const int* leaders, int leader_count, int my_index, sumac_across_t* across);

}  // namespace sumac::pmpi
