// Two ranks are on one host if they can share memory (machine/memory_host.hpp).
#include "bindings/pmpi/places.hpp"

#include <algorithm>
#include <vector>

#include "bindings/pmpi/communicator.hpp"
#include "machine/memory_host.hpp"

namespace sumac::pmpi {
namespace {

template <class Value>
bool allgather(const Value& own, std::vector<Value>& all) {
  all.resize(static_cast<std::size_t>(library.size));
  return mpi.Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD) == MPI_SUCCESS;
}

}  // namespace

bool find_places() {
  std::vector<std::uint64_t> hosts;
  if (!allgather(machine::memory_host(), hosts)) return false;
  const auto is_here = [own = hosts[static_cast<std::size_t>(library.rank)]](std::uint64_t host) {
    return host == own;
  };
  runtime.host_ranks = static_cast<int>(std::count_if(hosts.begin(), hosts.end(), is_here));
  library.local_rank = static_cast<int>(std::count_if(hosts.begin(), hosts.begin() + library.rank, is_here));
  sumac_place_t own{};
  sumac_process_place(library.local_rank, library.local_rank == 0, &own);
  if (!allgather(own, library.places)) return false;
  library.hosts = sumac_number_hosts(hosts.data(), library.size, library.places.data());
  return true;
}

}  // namespace sumac::pmpi
