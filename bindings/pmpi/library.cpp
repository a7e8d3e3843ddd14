#include "bindings/pmpi/library.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "bindings/pmpi/communicator.hpp"
#include "bindings/pmpi/ops.hpp"
#include "bindings/pmpi/presence.hpp"
#include "bindings/pmpi/progress.hpp"
#include "bindings/pmpi/ranks.hpp"
#include "bindings/pmpi/requests.hpp"
#include "bindings/pmpi/watch.hpp"
#include "machine/memory_host.hpp"
#include "rank/job.h"
#include "rank/say.h"

namespace sumac::pmpi {

Library library;

namespace {

/// Raised when ranks with the old and the new library could not work together.
constexpr std::uint64_t kVersion = 2;

/// One rank of each host reports what is wrong with the environment, which mostly is the same at all of them. Nobody
/// knows the hosts yet, so the launcher's number counts.
bool speaks_for_host() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK"})
    if (const char* text = std::getenv(name); text != nullptr) return std::string_view(text) == "0";
  return library.rank == 0;
}

/// Returns what Open MPI's mpi_yield_when_idle says, through MPI's tool interface; other MPIs do not have it.
bool mpi_yields() {
  int provided = 0, at = 0, count = 0;
  if (mpi.T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return false;
  std::array<long long, 4> value{};
  MPI_T_cvar_handle handle{};
  if (mpi.T_cvar_get_index("mpi_yield_when_idle", &at) == MPI_SUCCESS &&
      mpi.T_cvar_handle_alloc(at, nullptr, &handle, &count) == MPI_SUCCESS) {
    if (count == 1) (void)mpi.T_cvar_read(handle, value.data());
    (void)mpi.T_cvar_handle_free(&handle);
  }
  (void)mpi.T_finalize();
  return value[0] != 0;
}

template <class Value>
bool allgather(const Value& own, std::vector<Value>& all) {
  all.resize(static_cast<std::size_t>(library.size));
  return mpi.Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD) == MPI_SUCCESS;
}

/// Fills library.places, hosts and local_rank, and the runtime's host_ranks. Two ranks are on one host if they can share memory
/// (machine/memory_host.hpp). Collective over MPI_COMM_WORLD; false if an exchange failed.
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

bool is_spawned() {
  MPI_Comm parent{};
  return mpi.Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL;
}

enum class Say : bool { if_asked, always };

void stay_off(const std::string& why, Say say) {
  if (library.rank == 0 && (say == Say::always || library.explains()))
    std::fprintf(stderr, "sumac: off: %s\n", why.c_str());
  sumac_process_free(&library.process);
}

}  // namespace

void begin() {
  (void)mpi.Comm_rank(MPI_COMM_WORLD, &library.rank);
  (void)mpi.Comm_size(MPI_COMM_WORLD, &library.size);
  if (library.size == 1) return;  // Nobody to talk to.
  int level = 0;
  (void)mpi.Query_thread(&level);
  library.threads = level == MPI_THREAD_MULTIPLE;
  char name[MPI_MAX_PROCESSOR_NAME] = "?";
  int length = 0;
  (void)mpi.Get_processor_name(name, &length);
  sumac_say_as(name, library.rank);
  const bool usable = sumac_process_read(&library.process, speaks_for_host(), library.rank == 0);
  const auto why = agree_on_presence({.version = kVersion,
                                      .settings = sumac_process_signature(&library.process),
                                      .usable = usable,
                                      .job_id = sumac_job_draw_id()},
                                     library.job_id);
  if (!why.empty()) return stay_off(why, Say::always);
  if (is_spawned()) return stay_off("this MPI_COMM_WORLD was spawned by another one", Say::if_asked);
  if (!find_places()) return stay_off("the positions of the ranks could not be exchanged", Say::always);
  (void)mpi.Comm_group(MPI_COMM_WORLD, &library.group);
  runtime.yields = mpi_yields();
  fill_pairs();
  library.on = make_keys() && make_type_key() && begin_progress();
  if (!library.on) return;
  begin_world();
  if (sumac_profile_wanted(&library.process.settings)) begin_watch(name);
  library.plain = !library.watches;
  library.direct = library.plain && !any_behind;
}

void end() {
  // Rank 0 alone decides of the last line: mpirun takes the shell's variables to its own host alone, so ranks may have others.
  sumac_records_tally(&runtime, &CommunicatorOfMpi(MPI_COMM_WORLD).record(), library.process.settings.last_line != 0);
  if (std::exchange(library.watches, false)) sumac_profile_end();
  sumac_makings_end();  // The sums of the last line have brought all ranks here.
  library.on = library.plain = library.direct = false;
  end_progress();
  free_handles();
  drop_communicators();
  sumac_job_end();
  (void)mpi.Group_free(&library.group);
  sumac_process_free(&library.process);
}

}  // namespace sumac::pmpi
