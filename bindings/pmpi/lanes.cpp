#include "bindings/pmpi/lanes.hpp"

#include <bit>
#include <cstdint>

#include "bindings/pmpi/communicator.hpp"
#include "bindings/pmpi/errors.hpp"
#include "rank/say.h"

namespace sumac::pmpi {
namespace {

/// The most persistent collectives of one communicator that have a lane at a time; the MPI does any others.
constexpr unsigned kLanesMax = 16;

/// Returns the lowest lane that no rank uses, or -1.
int agree(Communicator& communicator, int& rc) {
  std::uint32_t mine = ~communicator.lanes_taken.load() & ((std::uint32_t{1} << kLanesMax) - 1), all = 0;
  rc = mpi.Allreduce(&mine, &all, 1, MPI_UINT32_T, MPI_BAND, communicator.handle.load());
  return rc == MPI_SUCCESS && all != 0 ? std::countr_zero(all) : -1;
}

/// Succeeds at all ranks or fails at all.
std::unique_ptr<Lane> make(Communicator& communicator, int& rc) {
  auto lane = std::make_unique<Lane>();
  lane->owner = &communicator;
  char why[1024] = "";
  const int status = make_lane_team(*lane, why, sizeof why);
  if (status == SUMAC_TEAM_OK) return lane;
  communicator.lanes_end = true;
  if (status != SUMAC_TEAM_PASS) {
    SUMAC_SAY("no team for a persistent collective of communicator %s: %s", name_of(communicator).c_str(), why);
    rc = error_code(why);
  }
  return nullptr;
}

}  // namespace

Lane* take_lane(Communicator& communicator, int& rc) {
  rc = MPI_SUCCESS;
  if (communicator.hosts > 1 || communicator.lanes_end) return nullptr;
  const int at = agree(communicator, rc);
  if (at < 0) return nullptr;
  if (communicator.lanes.empty()) communicator.lanes.resize(kLanesMax);
  auto& lane = communicator.lanes[static_cast<std::size_t>(at)];
  if (!lane) lane = make(communicator, rc);
  if (lane) communicator.lanes_taken.fetch_or(std::uint32_t{1} << at);
  return lane.get();
}

void give_lane(Lane& lane) {
  Communicator& communicator = *lane.owner;
  for (std::size_t at = 0; at < communicator.lanes.size(); ++at)
    if (communicator.lanes[at].get() == &lane) communicator.lanes_taken.fetch_and(~(std::uint32_t{1} << at));
}

}  // namespace sumac::pmpi
