#pragma once
// What stands behind sumac_team_t. Its first lines are the hot path's: one collective on one host is one look at them
// and one call of shm.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "shm/group.hpp"
#include "shm/segment.hpp"
#include "shm/waiting.hpp"
#include "team/board.hpp"
#include "team/exchange.hpp"
#include "team/layout.hpp"
#include "team/looks.hpp"
#include "team/options_handle.hpp"
#include "team/own_across.hpp"
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
  bool is_freed = false;                   ///< Nobody asks any more: goes when it is done.
  bool has_begun = false;
  sumac_op* next = nullptr;  ///< In the queue, or among the spare ones.
  sumac_op *list_next = nullptr, *list_previous = nullptr;
  sumac::team::Run run;
};

struct sumac_team {
  explicit sumac_team(bool with_threads) : turn(with_threads), queue_lock(with_threads), threads(with_threads) {}
  ~sumac_team();
  sumac_team(const sumac_team&) = delete;
  sumac_team& operator=(const sumac_team&) = delete;

  // ---- The hot path's.
  std::size_t direct_from[SUMAC_COLLS];  ///< From so many bytes on a collective is one call on the island's group.
  sumac::shm::Group* island_group = nullptr;
  std::atomic<std::uint32_t> active{0};  ///< Posted and not done.
  std::atomic<std::uint32_t> moves{0};   ///< Steps of posted operations that were not in vain and not the last.
  sumac::team::Turn turn;
  std::uint64_t run_counts[SUMAC_COLLS][SUMAC_WAYS] = {};  ///< By whose turn it is.

  // ---- Posted operations, in their order; guarded by queue_lock.
  sumac::team::Turn queue_lock;
  sumac_op *head = nullptr, *tail = nullptr;
  sumac_op* all_ops = nullptr;
  sumac_op* spare = nullptr;
  std::uint64_t post_counts[SUMAC_COLLS][SUMAC_WAYS] = {};

  // ---- What it is made of, in order of construction.
  const bool threads;
  std::string name;
  const sumac::team::OptionsHandle* options = nullptr;
  sumac::team::Layout layout;
  sumac::team::Shape shape;
  bool uses_tuning_file = false;
  std::vector<std::string> remarks;      ///< For explain: tuned or forced algorithms that cannot be had.
  sumac::shm::TuningInput island_input;  ///< Of the island's group; and, if it was asked for,
  std::string no_copy;                   ///< why it has no single copy.
  void (*user_progress)(void*) = nullptr;
  void* user_context = nullptr;
  sumac::shm::Waiting waiting;
  std::unique_ptr<sumac::shm::Segment> segment;
  std::vector<std::unique_ptr<sumac::shm::Group>> groups;  ///< As Layout::groups; empty where this rank has no part.
  sumac::team::Board* board = nullptr;
  std::unique_ptr<sumac::coll::Across> own_across;  ///< The caller's collectives among the leaders; none on one host.
  sumac::coll::Across* tree = nullptr;  ///< Of the caller, which ends it with own_across. None: no_tree says why.
  std::string no_tree;

  // ---- Room that only the oldest operation uses.
  std::vector<std::byte> scratch, stage;
  std::vector<int> gather_counts, gather_displacements;        ///< Of the island's blocks, then of the islands.
  sumac::team::Looks looks;                                    ///< Before the leader sleeps on its way across.
  sumac::Time driven_at{};                                     ///< When MPI was, between such sleeps.
  std::unique_ptr<sumac::team::Exchange> exchange;             ///< Made by the first one.
  std::unique_ptr<sumac::team::ReduceScatter> reduce_scatter;  ///< The same.

  // ---- The end of it.
  std::atomic<bool> is_broken{false};
  char error[512] = "";

  /// The first reason stands. Everybody on this host hears of it.
  void fail(sumac::Errc code, std::string_view why);
  /// Has another rank of this host failed? Then so have we.
  void look_at_board();
  sumac::team::Across who_takes(sumac::coll::Kind kind, std::size_t bytes, const sumac::coll::Fold* fold) const;
  sumac::team::Choice choose(sumac::coll::Kind kind, std::size_t bytes, std::size_t across_bytes,
                             const sumac::coll::Fold* fold) const;
  /// The object that carries operations of this way between hosts; null: they stay on one.
  sumac::coll::Across* across(sumac::team::Way way) const noexcept {
    return way == sumac::team::Way::tree ? tree : own_across.get();
  }
  sumac::team::Choice choose(const sumac::coll::Operation& operation) const;
};
