#pragma once
// Operations between hosts: by the aggregation tree where it can and may, else by the MPI's nonblocking collectives among
// the leaders.
#include <cstdint>

#include "team/team.h"

namespace sumac::pmpi {

struct Communicator;

/// These serve as the functions of the same names of a team's spec; their context is the lane.
void offer_across(void* context, const int* leaders, int leader_count, int my_index, void* offer);
int open_across(void* context, const int* leaders, int leader_count, int my_index, const void* offers,
                std::int64_t* agreed, sumac_across_t* across);
int agree_across(void* context, const std::int64_t* agreed, sumac_across_t* across);

/// True if open_across() makes communicators of our own for this one. The same at every rank.
bool needs_communicators(const Communicator& communicator);

}  // namespace sumac::pmpi
