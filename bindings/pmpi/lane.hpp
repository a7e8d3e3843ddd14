#pragma once
// A team runs its operations in one order, the same at all ranks. A lane is a team for one such order, with what moves
// its posted operations.
#include "team/team.h"

namespace sumac::pmpi {

struct Communicator;

struct Lane {
  Communicator* owner = nullptr;
  sumac_team_t* team = nullptr;
  Lane* next_active = nullptr;  ///< In progress.cpp's list of lanes with posted operations.
  int posted = 0;               ///< Operations that are not done.
  int visitors = 0;             ///< Threads that are inside the team now.
};

}  // namespace sumac::pmpi
