// Two ranks are on one host if they can share memory (machine/memory_host.hpp).
#include "bindings/pmpi/places.hpp"

#include <map>
#include <string>
#include <vector>

#include "bindings/pmpi/library.hpp"
#include "machine/memory_host.hpp"
#include "rank/place.h"
#include "rank/say.h"

namespace sumac::pmpi {
namespace {

/// Numbers the hosts in the order in which ranks name them.
void number_hosts(const std::vector<std::uint64_t>& hosts) {
  std::map<std::uint64_t, int> numbers;
  library.places.resize(hosts.size());
  library.host_ranks = 0;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto [at, is_new] = numbers.try_emplace(hosts[rank], static_cast<int>(numbers.size()));
    library.places[rank] = {at->second, -1, -1, -1};
    if (hosts[rank] != hosts[static_cast<std::size_t>(library.rank)]) continue;
    if (rank == static_cast<std::size_t>(library.rank)) library.local_rank = library.host_ranks;
    ++library.host_ranks;
  }
  library.hosts = static_cast<int>(numbers.size());
}

template <class Value>
bool allgather(const Value& own, std::vector<Value>& all) {
  all.resize(static_cast<std::size_t>(library.size));
  return mpi.Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD) == MPI_SUCCESS;
}

}  // namespace

bool find_places() {
  std::vector<std::uint64_t> hosts;
  if (!allgather(machine::memory_host(), hosts)) return false;
  number_hosts(hosts);
  sumac_place_t own{};
  char why[512] = "";
  sumac_own_place(static_cast<std::uint32_t>(library.local_rank), &own, why, sizeof why);
  if (why[0] != '\0' && library.local_rank == 0)
    SUMAC_SAY("warning: %s; going on as if all ranks of this host were close to each other", why);
  std::vector<sumac_place_t> places;
  if (!allgather(own, places)) return false;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    places[rank].host = library.places[rank].host;
    library.places[rank] = places[rank];
  }
  return true;
}

}  // namespace sumac::pmpi
