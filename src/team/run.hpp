#pragma once
// One collective and its progress through the schedule: begin() sets up the state machine and advance() steps it; it
// never blocks. The same object serves blocking calls (on the stack) and nonblocking and persistent ones (in the
// handle).
//
// Several may be under way in a team over hosts: a younger one begins once the older ones need no rank of the island any more on
// their way up, and comes down when they are done.
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
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
  /// `operation` is kept by address. `choice` is not Way::pass.
  void begin(sumac_team& team, const coll::Operation& operation, const Choice& choice);
  /// Returns `failed` once the team is broken; the team has the reason. Unless `comes_down`, it stops before its result goes
  /// to the ranks of the island, because an older operation's has not gone yet.
  shm::Step advance(bool comes_down = true);
  /// True if such an operation may be under way while others are: it goes between hosts and uses no memory of the team that
  /// only one operation may use.
  static bool travels_with_others(const sumac_team& team, const coll::Operation& operation, const Choice& choice);
  /// It waits for an older operation before its result goes to the ranks of the island.
  bool has_come_back() const noexcept { return at_ == At::after && has_gone_up(); }
  /// Everything that it does inside the island on its way up is done.
  bool has_gone_up() const noexcept { return chunk_ >= chunks_ || (chunk_ + 1 == chunks_ && at_ >= At::wait); }
  /// The team is broken, and the operation ends: its memory goes back to the caller.
  void let_go();
  /// The last advance() returned `waiting` but made progress.
  bool has_moved() const noexcept { return has_moved_; }
  /// The way between hosts that it waits for, or will; null if it takes none.
  coll::Across* across() const noexcept;
  /// It waits for other hosts only, and not for a rank of this host.
  bool waits_across() const noexcept;
  /// A rank of this host that dies now cannot keep it from its result, which the other hosts may have already.
  bool outlives_this_host() const noexcept { return at_ == At::wait && flying_ > 0 && has_gone_up(); }
  /// Returns the events that the operation waits for after advance() returned `waiting`, as bits of enum sumac_awaits.
  unsigned awaits() const noexcept;

 private:
  enum class At : std::uint8_t {
    direct,
    values,
    launch,
    before,
    start,
    meanwhile,
    wait,
    after,
    direct_rest,
    finish,
    done
  };
  /// A chunk between hosts.
  struct Flight {
    coll::Operation operation;
    void* request;
    bool is_done;
  };

  /// Sets how many chunks may be in flight.
  void set_depth(std::size_t depth);
  void begin_chunks(std::size_t bytes, std::size_t element_bytes, bool is_wide);
  void take_scratch(std::size_t bytes);
  void give_scratch();
  void begin_gather();
  void place_blocks();
  void begin_parcels(const Choice& choice);
  std::byte* at(Where where, std::size_t chunk) const;
  std::size_t chunk_bytes(std::size_t chunk) const;
  void prepare(const Phase& phase, std::size_t chunk);
  /// Returns true when all phases of the list are done for the chunk; otherwise `step` is the value to return.
  bool walk(const PhaseList& list, std::size_t chunk, shm::Step& step);
  bool start_across(std::size_t chunk);
  void describe_across(std::size_t chunk, coll::Operation& operation) const;
  /// Starts, once at every rank, the blocks that no leader carries.
  bool start_direct();
  /// The thread that moves the team now may not call the binding that carries the operation between hosts.
  bool is_out_of_reach() const noexcept;
  /// The same for this carrier.
  bool is_apart_from(const coll::Across* across) const noexcept;
  /// Returns false if `across` has failed; the team is then broken.
  bool is_well(const coll::Across& across, coll::Across::Progress progress, std::string_view otherwise);
  /// Breaks the team, once the older operations are done: until then a younger one waits with its failure, for their results may be
  /// under way.
  void fail(Errc code, std::string_view why);
  /// Polls all operations between hosts, so that they go on while shared memory is waited for. Returns false if one
  /// failed.
  bool poll_across();
  /// Only the first poll of a pass over the operations under way looks for messages.
  coll::Across::Progress poll(coll::Across& across, void* request);
  /// This leader has what the call gives it, whether or not the ranks of its host get theirs.
  bool has_own_result() const noexcept;
  void unpack();

  sumac_team* team_;
  const coll::Operation* operation_;
  coll::Across* across_;  ///< Carries the operation between hosts.
  Schedule plan_;
  At at_;
  bool is_prepared_;
  bool has_moved_;
  bool has_just_started_;  ///< The only chunk was just started between hosts, so no answer can have come yet.
  std::uint8_t phase_;
  std::uint8_t flying_;  ///< Chunks started and not yet done.
  std::size_t chunk_;    ///< The newest chunk; it goes beyond the last one while older ones come back.
  std::size_t chunks_, chunk_step_, depth_;
  std::size_t bytes_;
  const std::byte* in_;
  std::byte* out_;
  std::byte* stage_;
  std::vector<std::byte> scratch_;  ///< From the team's spare ones; empty in an operation that needs none.
  char nothing_[8];                 ///< The data that a barrier moves.
  coll::Operation part_;            ///< The operation of the current phase inside the island.
  shm::Task task_;
  std::array<Flight, kDepthMax> flights_;
  Parcels* parcels_;  ///< For the collectives that have one, else null.
  Flight direct_;
  std::unique_ptr<Error> failure_;  ///< An operation that is not the oldest keeps it here.
  bool is_oldest_ = true;
};

}  // namespace sumac::team
