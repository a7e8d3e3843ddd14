#pragma once
// The record of a communicator holds its team (rank/record.h). It hangs at an attribute of the communicator, so MPI_Comm_free lets go of it; a small cache in front of the attribute makes the way to it
// short. A request of ours that is posted, and a persistent one until it is freed, holds the record too: MPI lets a program
// free a communicator under them.
//
// Records are never given back to the system, only used again. So a thread may read a record's handle while another
// thread frees another communicator.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bindings/pmpi/freeing.hpp"
#include "bindings/pmpi/library.hpp"
#include "rank/record.h"

namespace sumac::pmpi {

struct Communicator : sumac_record {
  /// None once the program has freed it, because the MPI gives the handle to another communicator at once.
  std::atomic<MPI_Comm> handle{};
  std::string own_name;       ///< Its name when the program freed it, for what fails afterwards.
  std::atomic<int> users{0};  ///< The program, and each request that refers to a lane.
  MPI_Comm ours{};            ///< Our own communicator of all its ranks; MPI_COMM_NULL: there is none.
};

using Lane = sumac_lane;
inline Communicator& owner_of(const Lane& lane) { return static_cast<Communicator&>(*lane.record); }

/// The program's MPI as src/rank sees it.
extern sumac_runtime runtime;
/// Its functions between hosts (rank/across.h).
extern const sumac_between between;

/// Makes the keys of the attributes. False if the MPI refuses.
bool make_keys();
/// Makes MPI_COMM_WORLD's team if it has one host: MPI_Init may wait for other ranks. Begins the tree's job.
void begin_world();
/// Destroys all teams, whatever still refers to them.
void drop_communicators();

/// A request takes part in the record of its lane, and lets go of it when it has ended. The last one to let go destroys the
/// teams, which may call the MPI: not in a function that the MPI calls for a request.
void hold(Communicator& communicator);
void let_go(Communicator& communicator);

/// Returns the record of a communicator, and makes it if there is none. Null: it is none of ours (an
/// inter-communicator, or one with processes of another MPI_COMM_WORLD), or no communicator at all.
Communicator* find_slowly(MPI_Comm comm);

/// The handle stands for another communicator from now on, or for none.
void forget(MPI_Comm comm, Communicator& communicator);
using FreeingCommunicator = Freeing<MPI_Comm, Communicator>;

namespace detail {
constexpr std::size_t kCached = 64;
extern std::array<std::atomic<Communicator*>, kCached> cache;
inline std::size_t cached_at(MPI_Comm comm) {
  const auto bits = bits_of(comm);
  return (bits ^ bits >> 6 ^ bits >> 12) % kCached;
}
}  // namespace detail

inline Communicator* find(MPI_Comm comm) {
  Communicator* found = detail::cache[detail::cached_at(comm)].load(std::memory_order_acquire);
  if (found != nullptr && found->handle.load(std::memory_order_relaxed) == comm) [[likely]]
    return found;
  return find_slowly(comm);
}

/// True if the program has revoked the communicator, at this rank or at another one: then the MPI has every call, and its
/// error.
bool is_revoked(sumac_record* record);

std::string name_of(MPI_Comm comm);
std::string name_of(const Communicator& communicator);

}  // namespace sumac::pmpi
