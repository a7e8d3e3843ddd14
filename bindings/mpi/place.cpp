// Where this process is, from src/machine, for presence.c.
#include "machine/discover.hpp"
#include "team/team.h"

extern "C" void hcoll_own_place(std::uint32_t local_rank, sumac_place_t* place) {
  *place = {-1, -1, -1, -1};
  // A machine that cannot be read is one whose ranks count as close to each other; nothing is wrong with the job.
  const auto machine = sumac::machine::discover(sumac::machine::Reader::automatic, sumac::machine::own_affinity());
  if (!machine) return;
  const auto own = sumac::machine::own_place(*machine, 0, local_rank);
  place->socket = own.socket;
  place->numa = own.numa;
  place->core = own.core;
}
