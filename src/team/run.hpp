#pragma once
// One collective on its way through its schedule: a state machine that begin() sets up and advance() steps; it never
// blocks. The same object serves blocking calls (on the stack), nonblocking and persistent ones (in the handle).
#include <array>
#include <cstdint>
#include <vector>

#include "coll/across.hpp"
#include "shm/task.hpp"
#include "team/parcels.hpp"
#include "team/schedule.hpp"
#include "team/select.hpp"

struct sumac_team;

namespace sumac::team {

inline constexpr std::size_t kDepthMax = 16;

class Run {
 public:
  /// `call` is kept by address. `choice` is not Way::pass.
  void begin(sumac_team& team, const coll::Operation& operation, const Choice& choice);
  /// `failed`: the team is broken and says why.
  shm::Step advance();
  /// The last advance() came back `waiting`, but not in vain.
  bool has_moved() const noexcept { return has_moved_; }
  /// What it waits for is between hosts, and nothing of this host.
  bool waits_across() const noexcept { return (at_ == At::wait && flying_ > 0) || at_ == At::direct_rest; }

 private:
  enum class At : std::uint8_t { direct, launch, before, start, meanwhile, wait, after, direct_rest, finish, done };
  /// A chunk between hosts.
  struct Flight {
    coll::Operation operation;
    void* request;
    bool is_done;
  };

  /// So many chunks in flight at most.
  void set_depth(std::size_t depth);
  void begin_chunks(std::size_t bytes, std::size_t element_bytes, bool is_wide);
  void begin_gather();
  void place_blocks();
  void begin_parcels(const Choice& choice);
  std::byte* at(Where where, std::size_t chunk) const;
  std::size_t chunk_bytes(std::size_t chunk) const;
  void prepare(const Phase& phase, std::size_t chunk);
  /// True when all phases of the list are done for the chunk; otherwise `step` says what to return.
  bool walk(const PhaseList& list, std::size_t chunk, shm::Step& step);
  bool start_across(std::size_t chunk);
  void describe_across(std::size_t chunk, coll::Operation& operation) const;
  /// Every rank, once: the blocks that no leader carries.
  bool start_direct();
  /// False: `across` has failed, and the team is broken.
  bool is_well(const coll::Across& across, coll::Across::Progress progress, std::string_view otherwise);
  /// Moves all that is between hosts, so that it goes on while shared memory is waited for. False: it failed.
  bool poll_across();
  void unpack();

  sumac_team* team_;
  const coll::Operation* operation_;
  coll::Across* across_;  ///< What carries it between hosts.
  Schedule plan_;
  At at_;
  bool is_prepared_;
  bool has_moved_;
  bool has_just_started_;  ///< The only chunk, across: nobody can have answered yet.
  std::uint8_t phase_;
  std::uint8_t flying_;  ///< Chunks started and not yet done.
  std::size_t chunk_;    ///< The newest chunk, also beyond the last one while older ones come back.
  std::size_t chunks_, chunk_step_, depth_;
  std::size_t bytes_;
  const std::byte* in_;
  std::byte* out_;
  std::byte* stage_;
  char nothing_[8];       ///< What a barrier moves.
  coll::Operation part_;  ///< Of the phase that is under way inside the island.
  shm::Task task_;
  std::array<Flight, kDepthMax> flights_;
  Parcels* parcels_;  ///< Of the collectives that have some.
  Flight direct_;
};

}  // namespace sumac::team
