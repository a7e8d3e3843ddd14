#pragma once
// The object behind sumac_team_t. The hot path's members come first: one collective on one host is one look at them and
// one call of shm.
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recorder/recorder.hpp"
#include "shm/group.hpp"
#include "shm/segment/segment.hpp"
#include "shm/waiting.hpp"
#include "team/board.hpp"
#include "team/call_log.hpp"
#include "team/comparison.hpp"
#include "team/exchange.hpp"
#include "team/layout.hpp"
#include "team/left.hpp"
#include "team/options_handle.hpp"
#include "team/ordered_sum.hpp"
#include "team/own_across.hpp"
#include "team/prefix.hpp"
#include "team/reduce_scatter.hpp"
#include "team/run.hpp"
#include "team/select.hpp"
#include "team/team.h"
#include "team/turn.hpp"

/// A posted or persistent operation.
struct sumac_op {
  sumac_team* team = nullptr;
  sumac::coll::Operation operation{};
  sumac::team::Choice choice;
  sumac_op_done_t done = nullptr;
  void* user = nullptr;
  std::atomic<int> status{SUMAC_TEAM_OK};  ///< SUMAC_TEAM_PENDING while it is in the queue.
  bool is_freed = false;                   ///< The caller has freed it, so it is recycled when it is done.
  bool has_begun = false;
  bool travels_with_others = false;  ///< Run::travels_with_others().
  bool is_direct = false;            ///< It is one call on the island's group.
  sumac_op* next = nullptr;          ///< In the queue, or in the list of spare ones.
  sumac_op *list_next = nullptr, *list_previous = nullptr;
  sumac::team::Run run;
};

struct sumac_team {
  explicit sumac_team(bool with_threads) : turn(with_threads), queue_lock(with_threads), threads(with_threads) {}
  ~sumac_team();
  sumac_team(const sumac_team&) = delete;
  sumac_team& operator=(const sumac_team&) = delete;

  // ---- The hot path's.
  std::size_t direct_from[SUMAC_COLLS];  ///< From so many bytes on, a collective is one call on the island's group.
  /// From so many bytes on, it is compared with the next module's: SIZE_MAX where that is never done.
  std::size_t compared_from[SUMAC_COLLS];
  sumac::shm::Group* island_group = nullptr;
  sumac::recorder::TrackMemory* track = nullptr;  ///< The memory of `recorded`.
  std::atomic<std::uint32_t> active{0};           ///< Operations posted and not done.
  std::atomic<std::uint32_t> moves{0};   ///< Steps of posted operations that made progress and were not the last.
  std::atomic<std::uint32_t> awaits{0};  ///< The events that the operations under way wait for (enum sumac_awaits).
  sumac::team::Turn turn;
  bool is_apart = false;  ///< The holder of `turn` may not call the binding, which may be inside MPI in another thread.
  std::uint64_t run_counts[SUMAC_COLLS][SUMAC_WAYS] = {};  ///< Written only by the holder of `turn`.
  std::uint64_t hop_counts[SUMAC_COLLS] = {};  ///< The same. A rank that leads no other ones counts nothing.

  // ---- Posted operations, in their order; guarded by queue_lock. Those under way are the first ones.
  sumac::team::Turn queue_lock;
  sumac_op *head = nullptr, *tail = nullptr;
  sumac_op* all_ops = nullptr;
  sumac_op* spare = nullptr;
  std::uint64_t post_counts[SUMAC_COLLS][SUMAC_WAYS] = {};
  sumac::team::LeftCalls left;
  bool notes_left = true;

  // ---- What it is made of, in order of construction.
  const bool threads;
  std::string name;
  sumac::recorder::Track recorded;
  const sumac::team::OptionsHandle* options = nullptr;
  sumac::team::Layout layout;
  sumac::team::Shape shape;
  std::size_t large_bytes_least = 0;  ///< The smallest large area of any host's segment.
  bool uses_tuning_file = false;
  std::vector<std::string> remarks;      ///< For explain: tuned or forced algorithms that are not available.
  sumac::shm::TuningInput island_input;  ///< The input for the island's group.
  std::string no_copy;                   ///< The reason why it has no single copy, if it was asked for.
  void (*user_progress)(void*) = nullptr;
  void* user_context = nullptr;
  sumac::shm::WaitSettings waiting;
  std::unique_ptr<sumac::shm::Segment> segment;
  std::vector<std::unique_ptr<sumac::shm::Group>> groups;  ///< Indexed as Layout::groups; empty where this rank is no
                                                           ///< member.
  sumac::team::Board* board = nullptr;
  std::unique_ptr<sumac::team::OwnAcross> functions;  ///< The caller's functions; its destructor closes them.
  sumac::coll::Across* own_across = nullptr;  ///< The caller's carrier among the leaders: `functions`, or the network
                                              ///< that they brought. Null on one host.
  sumac::coll::Across* tree = nullptr;  ///< Owned by the caller, which frees it with own_across. If null, no_tree has
                                        ///< the reason.
  std::string no_tree;
  std::optional<sumac::team::CallLog> calls;  ///< The ranks of this host compare their calls.

  std::unique_ptr<sumac::team::Comparison> comparison;  ///< Made by the first call that needs it.

  std::vector<std::vector<std::byte>> spare_scratch;  ///< The room of operations that are done, for the next ones.

  /// The ways between hosts that were looked at since the oldest operation began its last step.
  struct {
    bool tree = false, own = false;
  } has_looked;

  // ---- Room that only an operation uses which is under way alone.
  std::vector<std::byte> stage;
  sumac::team::Row gather;                                     ///< The island's blocks, in the call's units.
  sumac::team::SmallRow gather_islands;                        ///< The islands, in bytes.
  sumac::PaidLately looking;                                   ///< Decides whether the leader looks before it sleeps.
  sumac::Rhythm drives;                                        ///< Decides when MPI is driven between such sleeps.
  std::unique_ptr<sumac::team::Exchange> exchange;             ///< Made by the first operation that needs it.
  std::unique_ptr<sumac::team::ReduceScatter> reduce_scatter;  ///< Made by the first operation that needs it.
  std::unique_ptr<sumac::team::Prefix> prefix;                 ///< Made by the first operation that needs it.
  std::unique_ptr<sumac::team::OrderedSum> ordered_sum;        ///< Made by the first operation that needs it.

  /// Blocking calls that were not a single call of shm; written by the holder of `turn`.
  std::uint64_t slow_calls = 0;

  // ---- The end of it.
  sumac::Time looked_for_dead{};
  sumac::Time lost_member_at{};  ///< When the tree first said so while MPI carried an operation.
  std::atomic<bool> is_broken{false};
  char error[512] = "";

  /// Only the first reason is kept. All ranks of this host learn it.
  void fail(sumac::Errc code, std::string_view why);
  /// The members on other hosts learn that a rank of this host is dead, if that is why the team has failed. The caller holds the turn.
  void give_up_across();
  /// Asks the system about the ranks of this host, and the tree about the others, also while MPI carries an operation: MPI waits for the
  /// dead for ever. `oldest`: the oldest operation that is under way, or null. Of one that waits for other hosts only these may have the
  /// result, so a death here breaks the team when it is done.
  void look_for_dead(const sumac::team::Run* oldest);
  void look_for_dead_now_and_then(const sumac::team::Run* oldest);
  /// True if fail_for_dead() has something to say.
  bool finds_dead(const sumac::team::Run* oldest);
  void fail_for_dead();
  /// A rank of this host has failed, perhaps this one.
  bool has_failed_here() const noexcept;
  /// If another rank of this host has failed, this team fails too.
  void look_at_board();
  sumac::team::Across who_takes(sumac::coll::Kind kind, std::size_t bytes, const sumac::coll::Fold* fold) const;
  sumac::team::Choice choose(sumac::coll::Kind kind, std::size_t bytes, std::size_t across_bytes,
                             const sumac::coll::Fold* fold) const;
  /// The object that carries operations of this way between hosts; null: they stay on one.
  sumac::coll::Across* across(sumac::team::Way way) const noexcept {
    return way == sumac::team::Way::tree ? tree : own_across;
  }
  /// True if `across` is the caller's own functions, which a thread beside the caller's must not call.
  bool needs_caller(const sumac::coll::Across* across) const noexcept {
    return across != nullptr && across == functions.get();
  }
  sumac::team::Choice choose(const sumac::coll::Operation& operation) const;
  /// Notes a call that the next module does. The caller holds queue_lock.
  void note_left(const sumac::coll::Operation& operation, sumac::team::Why why) {
    if (notes_left) left.note(operation, sumac::team::why_left(why, tree, operation));
  }
  /// The most bytes of a chunk if `bytes` go by `way` between hosts; null: they stay on one.
  std::size_t chunk_wanted(const sumac::coll::Across* way, std::size_t bytes) const noexcept;
};

namespace sumac::team {

/// The text of sumac_team_explain(), also where it has returned the same table before.
std::string whole_explanation(const sumac_team_t& team);

}  // namespace sumac::team
