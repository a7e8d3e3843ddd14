/* Each function of the public header, once, for C and C++. */
#pragma once
#include <sumac/team.h>

#define NAMES_OF_FUNCTIONS(X)                                                                                      \
  X(sumac_team_open)                                                                                               \
  X(sumac_team_close)                                                                                              \
  X(sumac_team_rank)                                                                                               \
  X(sumac_team_size)                                                                                               \
  X(sumac_team_why)                                                                                                \
  X(sumac_team_test)                                                                                               \
  X(sumac_team_wait)                                                                                               \
  X(sumac_team_barrier)                                                                                            \
  X(sumac_team_bcast)                                                                                              \
  X(sumac_team_allreduce)                                                                                          \
  X(sumac_team_reduce)                                                                                             \
  X(sumac_team_scan)                                                                                               \
  X(sumac_team_exscan)                                                                                             \
  X(sumac_team_reduce_scatter)                                                                                     \
  X(sumac_team_allgather)                                                                                          \
  X(sumac_team_alltoall)                                                                                           \
  X(sumac_team_gather)                                                                                             \
  X(sumac_team_scatter)                                                                                            \
  X(sumac_team_allgatherv)                                                                                         \
  X(sumac_team_alltoallv)                                                                                          \
  X(sumac_team_send)                                                                                               \
  X(sumac_team_recv)
