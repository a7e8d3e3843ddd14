#pragma once
// The record of a communicator holds its team, once it is worth one (src/rank/worth.h). It hangs at an attribute of the communicator, so MPI_Comm_free lets go of it; a small cache in front of the attribute makes the way to it
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

#include "bindings/pmpi/lane.hpp"
#include "bindings/pmpi/library.hpp"
#include "rank/tally.h"

namespace sumac::pmpi {

enum class Life : std::uint8_t {
  fresh,     ///< No team yet.
  starting,  ///< Inside the collective that makes it.
  team,
  pass,  ///< The MPI does everything.
};

struct Communicator {
  /// None once the program has freed it, because the MPI gives the handle to another communicator at once.
  std::atomic<MPI_Comm> handle{};
  std::string name;           ///< Its name when its last team was made, for what fails after the program has freed it.
  std::atomic<int> users{0};  ///< The program, and each request that refers to a lane.
  Life life = Life::fresh;
  int rank = -1, size = 0, hosts = 1;
  std::uint32_t spared = 0;   ///< Collectives that the MPI still does before the team is made (worth.h).
  bool is_explained = false;  ///< SUMAC_EXPLAIN=1 has said why there is no team yet.
  /// For blocking and nonblocking collectives: MPI orders them all.
  Lane ordinary;
  bool is_counted = false;  ///< Exactly one rank counts the calls of a communicator, none those of one rank.
  bool is_broken = false;   ///< The reason was printed.
  bool has_tree = false;    ///< The tree may carry some of its collectives between hosts.
  bool no_group = false;    ///< The tree had no group for it.
  std::vector<std::unique_ptr<Lane>> lanes;  ///< For persistent collectives (lanes.cpp).
  std::atomic<std::uint32_t> lanes_taken{0};
  bool lanes_end = false;
  std::uint64_t passed[SUMAC_COLLS][SUMAC_WHYS] = {};  ///< Calls that the MPI does without a team being asked.
  void* scratch = nullptr;  ///< Packed data of blocking collectives, kept from one call to the next.
  std::size_t scratch_bytes = 0;
};

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

/// Makes the team if there is none yet. Collective. Returns an MPI error code.
int attach(Communicator& communicator);
/// With SUMAC_EXPLAIN=1: one rank prints, once, why the communicator has no team yet.
void explain_spared(Communicator& communicator);

/// Makes the team of a lane for a persistent collective, with shared memory alone. Collective. Returns a status of
/// src/team.
int make_lane_team(Lane& lane, char* why, std::size_t why_bytes);

/// True if the program has revoked the communicator, at this rank or at another one: then the MPI has every call, and its
/// error.
bool is_revoked(Communicator& communicator);

std::string name_of(MPI_Comm comm);
std::string name_of(const Communicator& communicator);

/// Calls `visit` for every living record.
void each_communicator(void (*visit)(Communicator&, void*), void* context);

}  // namespace sumac::pmpi
