#include "rank/place.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/boot_id.hpp"
#include "base/fnv.hpp"
#include "machine/discover.hpp"

void sumac_own_place(std::uint32_t local_rank, sumac_place_t* place, char* why, std::size_t why_bytes) {
  *place = {-1, -1, -1, -1};
  why[0] = '\0';
  const auto machine = sumac::machine::discover(sumac::machine::Reader::automatic, sumac::machine::own_affinity());
  if (!machine) {
    // If the machine cannot be read, all ranks count as close to each other, which is no fault of the job. A wrong
    // description by the user is a fault.
    if (!sumac::machine::environment_describes_a_machine()) return;
    const std::string& context = machine.error().context;
    const std::size_t length = std::min(context.size(), why_bytes - 1);
    std::memcpy(why, context.data(), length);
    why[length] = '\0';
    return;
  }
  const auto own = sumac::machine::own_place(*machine, 0, local_rank);
  place->socket = own.socket;
  place->numa = own.numa;
  place->core = own.core;
}

std::uint64_t sumac_own_kernel(const char* host) {
  const std::string boot = sumac::boot_id();
  return sumac::fnv1a(boot.empty() ? host : boot.c_str());
}
