// Blocking calls, and the queue of posted operations. Their values go up in their order, and their results come back in their
// order. In a team of one island nothing of an operation begins before the older one is done. Over several, those that
// travel with others are under way together: what waits for other hosts does not hold up what is behind it.
#include <algorithm>
#include <new>
#include <optional>

#include "shm/task.hpp"
#include "team/c_types.hpp"
#include "team/team.hpp"

using sumac::Errc;
using sumac::coll::Operation;
using Slept = sumac::coll::Across::Sleep;
using sumac::shm::Step;
using sumac::team::Choice;
using sumac::team::operation_of;
using sumac::team::Run;
using sumac::team::ShortLock;
using sumac::team::Way;
using sumac::team::Why;
namespace recorder = sumac::recorder;

namespace {

/// The most operations of a team that are under way at once: what the aggregation tree takes by default (W).
constexpr int kUnderWayMax = 64;
/// The most chunks of theirs, half of what the tree lets be outstanding.
constexpr int kChunksMax = 256;

int under_way_max(const sumac_team& team) {
  return std::min(kUnderWayMax, kChunksMax / static_cast<int>(team.options->options.depth));
}

/// True if the call is one on the island's group, as all that are like it.
bool is_direct(const sumac_team& team, std::uint8_t coll, std::size_t bytes) {
  return coll < SUMAC_COLLS && bytes >= team.direct_from[coll];
}

/// Counts the operations that are posted and not done. The caller holds queue_lock, or no other thread uses the team.
void add_active(sumac_team& team, std::uint32_t more) {
  // Relaxed: a reader learns only whether there is something to do.
  team.active.store(team.active.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

bool is_empty(const Operation& operation) { return sumac::coll::has_size(operation.kind) && operation.bytes == 0; }

/// The hot path's failure: the group has the reason.
[[gnu::cold]] int broke(sumac_team& team) {
  team.fail(team.island_group->broken(), team.island_group->error());
  return SUMAC_TEAM_BROKEN;
}

/// Removes the oldest operation from the queue. Only the holder of `team.turn` calls it.
void finish(sumac_team& team, sumac_op& op, int status) {
  const auto done = op.done;
  void* const user = op.user;
  bool is_freed = false;
  {
    const ShortLock lock(team.queue_lock);
    team.head = op.next;
    if (team.head == nullptr) team.tail = nullptr;
    op.next = nullptr;
    op.has_begun = false;
    is_freed = op.is_freed;
    if (is_freed) {
      op.next = team.spare;
      team.spare = &op;
    }
    // A release store: a caller that sees the status sees the result, and may free the operation from here on.
    op.status.store(status, std::memory_order_release);
    add_active(team, -1u);
  }
  recorder::end(*team.track);
  if (done != nullptr && !is_freed) done(user, status);
}

/// Ends the oldest operation of a broken team.
[[gnu::cold]] void give_up(sumac_team& team, sumac_op& op) {
  team.give_up_across();
  if (op.has_begun) op.run.let_go();
  finish(team, op, SUMAC_TEAM_BROKEN);
}

sumac_op* oldest(sumac_team& team, sumac_op** youngest = nullptr) {
  const ShortLock lock(team.queue_lock);
  if (youngest != nullptr) *youngest = team.tail;
  return team.head;
}

sumac_op* next_of(sumac_team& team, const sumac_op& op) {
  const ShortLock lock(team.queue_lock);
  return op.next;
}

/// Begins the operation if that has not happened, and advances it as far as Run::advance() goes. `awaits` is set if it waits.
Step step_one(sumac_team& team, sumac_op& op, bool comes_down, unsigned& awaits) {
  if (team.is_apart && op.operation.fold != nullptr && op.operation.fold->in_mpi) {
    awaits = SUMAC_AWAITS_MPI;
    return Step::waiting;
  }
  if (!op.has_begun) {
    op.has_begun = true;
    op.run.begin(team, op.operation, op.choice);
  }
  const Step step = op.run.advance(comes_down);
  if (step != Step::waiting) return step;
  // Relaxed: the number orders nothing else, and only the holder of `turn` writes it.
  if (op.run.has_moved()) team.moves.store(team.moves.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  awaits = op.run.awaits();
  return step;
}

/// Advances the oldest operation. Another rank of this host may have failed after it published the result, which is then taken first.
Step step_oldest(sumac_team& team, sumac_op& op, unsigned& awaits) {
  Step step = step_one(team, op, true, awaits);
  if (step != Step::waiting || op.run.outlives_this_host() || !team.has_failed_here()) return step;
  do step = step_one(team, op, true, awaits);
  while (step == Step::waiting && op.run.has_moved());
  if (step == Step::waiting) team.look_at_board();
  return step;
}

/// Returns the operation behind `op` if the two may be under way together now, else null.
sumac_op* companion(sumac_team& team, const sumac_op& op) {
  if (!op.travels_with_others || !op.has_begun || !op.run.has_gone_up()) return nullptr;
  sumac_op* next = next_of(team, op);
  return next != nullptr && next->travels_with_others ? next : nullptr;
}

/// While it lives, the messages of operations that begin are gathered.
class Corked {
 public:
  explicit Corked(sumac_team& team) : ways_{team.tree, team.own_across} {
    for (auto* way : ways_)
      if (way != nullptr) way->cork();
  }
  ~Corked() {
    for (auto* way : ways_)
      if (way != nullptr) way->uncork();
  }
  Corked(const Corked&) = delete;
  Corked& operator=(const Corked&) = delete;

 private:
  sumac::coll::Across* const ways_[2];
};

/// Advances the operations behind the oldest one, each as far as it gets before the older ones are done. Returns the events
/// that they wait for.
unsigned step_companions(sumac_team& team, const sumac_op& head) {
  unsigned awaited = 0;
  const sumac_op* older = &head;
  for (int under_way = 1; under_way < under_way_max(team); ++under_way) {
    sumac_op* const op = companion(team, *older);
    if (op == nullptr) break;
    unsigned awaits = 0;
    // It ends in its order, also if it has failed: the oldest one's next step finds a broken team.
    (void)step_one(team, *op, false, awaits);
    awaited |= op->has_begun && op->run.has_come_back() ? 0 : awaits;
    if (team.is_broken.load(std::memory_order_relaxed)) break;
    older = op;
  }
  return awaited;
}

/// `youngest` was the youngest operation before they were stepped: one that was posted since may have something to do.
void tell_awaits(sumac_team& team, unsigned awaits, const sumac_op* youngest) {
  const ShortLock lock(team.queue_lock);
  // Relaxed: a reader only learns how to wait. It finds the team itself by taking `turn`.
  team.awaits.store(team.tail == youngest ? awaits : awaits | SUMAC_AWAITS_LOOK, std::memory_order_relaxed);
}

/// Advances the posted operations; returns how many ended. Where there are several, what they send leaves together at the end:
/// where the others' messages have come before, each of them begins and ends here.
int step_all(sumac_team& team) {
  std::optional<Corked> corked;
  for (int finished = 0;; ++finished) {
    sumac_op* youngest = nullptr;
    sumac_op* const head = oldest(team, &youngest);
    if (head == nullptr) return finished;
    if (head != youngest && !corked) corked.emplace(team);
    if (team.is_broken.load(std::memory_order_relaxed)) {
      give_up(team, *head);
      continue;
    }
    unsigned awaits = 0;
    switch (step_oldest(team, *head, awaits)) {
      case Step::done: finish(team, *head, SUMAC_TEAM_OK); break;
      case Step::failed: give_up(team, *head); break;
      case Step::waiting:
        if (!team.is_broken.load(std::memory_order_relaxed)) awaits |= step_companions(team, *head);
        tell_awaits(team, awaits, youngest);
        if ((awaits & SUMAC_AWAITS_MPI) != 0) team.look_for_dead_now_and_then(&head->run);
        return finished;
    }
  }
}

/// A leader waits for other hosts: it looks a little if that has paid lately, then sleeps until something arrives,
/// because many hosts of a job may share these cores. MPI is driven when its millisecond is over, before the next sleep
/// and not after the last one, so that an arrived message is handled first and its answer does not wait. If nothing has
/// arrived it does not look between two sleeps. Returns false if it cannot sleep.
bool sleep_across(sumac_team& team, const Run& run, int& sleeps) {
  sumac::coll::Across* const across = run.across();
  if (across == nullptr) return false;
  const sumac::Duration every =
      team.waiting.sleeps_long ? sumac::waits::kLeaderSleepsAlone : sumac::waits::kLeader.drive_every;
  for (;;) {
    sumac::Time now = sumac::monotonic_now();
    if (team.drives.is_due(now, every)) {
      if (team.waiting.progress != nullptr) team.waiting.progress(team.waiting.context);
      team.drives.done(now = sumac::monotonic_now());
    }
    const auto left = std::chrono::duration_cast<sumac::Micros>(team.drives.left(now, every));
    const auto slept = across->sleep(std::max(1, static_cast<int>(left.count())));
    if (slept == Slept::impossible) return false;
    if (++sleeps % sumac::waits::kLeaderSleepsPerCheck == 0) team.look_for_dead(&run);
    if (slept == Slept::test || team.is_broken.load(std::memory_order_relaxed)) return true;
  }
}

/// Waits as a rank waits for its host until `ready` returns true. `oldest` returns what is under way.
template <class Ready, class Oldest>
void wait_here(sumac_team& team, Ready ready, Oldest oldest_run) {
  sumac::shm::RankWait waiting(team.waiting);
  const std::uint32_t looks = sumac::waits::schedule_looks(team.waiting.yields_first());
  for (;;) {
    for (std::uint32_t i = 1; i <= looks; ++i)
      if (ready()) return;
    if (waiting.pause()) team.look_for_dead(oldest_run());
  }
}

/// Waits until `is_over` returns true, which steps `run`. Where the run waits for other hosts, it looks `looks_across` times
/// before it sleeps, beside the first step, which starts the operation. After a sleep one look is enough, because the
/// message that ended the sleep is there. Returns how often it slept.
template <class IsOver>
int wait_out(sumac_team& team, const Run& run, IsOver is_over, std::uint32_t looks_across) {
  sumac::shm::RankWait waiting(team.waiting);
  const std::uint32_t looks = sumac::waits::schedule_looks(team.waiting.yields_first());
  int sleeps = 0;
  for (;;) {
    const std::uint32_t before_sleep = sleeps > 0 ? 1 : 1 + looks_across;
    for (std::uint32_t i = 1; i <= looks; ++i) {
      if (is_over()) return sleeps;
      if (run.has_moved()) waiting.moved();
      if (i >= before_sleep && run.waits_across()) break;
    }
    if (run.waits_across() && sleep_across(team, run, sleeps)) continue;
    // A leader that waits for other hosts does this as well.
    if (!waiting.pause() || !team.finds_dead(&run)) continue;
    const bool is_over_before = is_over();  // The dead rank may have given everything before it died.
    team.fail_for_dead();
    if (is_over_before) return sleeps;
  }
}

/// Takes the team's turn and finishes the operations that were posted before. Returns false if the team is broken.
bool take_turn(sumac_team& team) {
  // Another thread may hold `turn` to advance the queue; it will give it back soon, and looks for dead ranks itself.
  for (sumac::shm::RankWait waiting(team.waiting); !team.turn.try_take();) (void)waiting.pause();
  const auto oldest_run = [&] {
    const sumac_op* const op = oldest(team);
    return op != nullptr && op->has_begun ? &op->run : nullptr;
  };
  while (team.active.load(std::memory_order_relaxed) > 0)
    wait_here(
        team, [&] { return step_all(team) > 0; }, oldest_run);
  return !team.is_broken.load(std::memory_order_relaxed);
}

/// Runs an operation of several levels or several hosts to its end. The caller holds the turn.
int run_to_end(sumac_team& team, const Operation& operation, const Choice& choice) {
  int status = SUMAC_TEAM_PENDING;
  Run run;
  run.begin(team, operation, choice);
  const auto is_over = [&] {
    if (team.is_broken.load(std::memory_order_relaxed)) {
      status = SUMAC_TEAM_BROKEN;
      return true;
    }
    const Step step = run.advance();
    if (step != Step::waiting) status = step == Step::done ? SUMAC_TEAM_OK : SUMAC_TEAM_BROKEN;
    return step != Step::waiting;
  };
  const bool by_tree = choice.way == Way::tree;
  const bool looks = !by_tree || team.looking.looks();
  const int sleeps = wait_out(team, run, is_over, looks ? sumac::waits::kLeader.looks : 0);
  if (by_tree) sleeps > 0 ? team.looking.missed() : team.looking.paid();
  if (status == SUMAC_TEAM_BROKEN) {
    team.give_up_across();
    run.let_go();
  }
  return status;
}

/// Runs a call that shared memory and the next module may both do. The caller holds the turn.
int run_compared(sumac_team& team, const Operation& operation, const Choice& choice) {
  if (!team.comparison) team.comparison = std::make_unique<sumac::team::Comparison>();
  if (!team.comparison->takes(*team.island_group, operation)) return SUMAC_TEAM_PASS;
  if (choice.by_steps) {
    const int status = run_to_end(team, operation, choice);
    if (status == SUMAC_TEAM_OK) team.comparison->done(*team.island_group, operation.kind);
    return status;
  }
  if (sumac::shm::run(*team.island_group, operation) != Errc::ok) return broke(team);
  team.comparison->done(*team.island_group, operation.kind);
  return SUMAC_TEAM_OK;
}

void begin_recorded(sumac_team& team, const Operation& operation) {
  recorder::begin(*team.track, static_cast<std::uint32_t>(index_of(operation.kind)), operation.bytes);
}

/// Counts a blocking call that the next module does, which is recorded as begun.
[[gnu::cold]] int leave(sumac_team& team, const Operation& operation, Why why) {
  ++team.run_counts[index_of(operation.kind)][SUMAC_WAY_PASS];
  recorder::pass(*team.track);
  const ShortLock lock(team.queue_lock);
  team.note_left(operation, why);
  return SUMAC_TEAM_PASS;
}

/// Handles everything that is not a single call of shm: operations queued before it, several levels, several hosts, and
/// collectives that the next module does.
[[gnu::noinline]] int run_slowly(sumac_team& team, const Operation& operation) {
  const auto row = index_of(operation.kind);
  if (row >= sumac::coll::kCollectives.size()) return SUMAC_TEAM_INVALID;
  if (team.is_broken.load(std::memory_order_acquire)) return SUMAC_TEAM_BROKEN;
  const Choice choice = team.choose(operation);
  const auto count = [&](Way way) { ++team.run_counts[row][static_cast<std::size_t>(way)]; };
  if (choice.way == Way::pass) {
    begin_recorded(team, operation);
    return leave(team, operation, choice.why);
  }
  if (is_empty(operation)) {
    count(choice.way);
    return SUMAC_TEAM_OK;
  }
  begin_recorded(team, operation);
  int status = SUMAC_TEAM_BROKEN;
  const bool usable = take_turn(team);
  ++team.slow_calls;
  if (usable)
    status = operation.bytes >= team.compared_from[row] ? run_compared(team, operation, choice)
                                                        : run_to_end(team, operation, choice);
  if (status != SUMAC_TEAM_PASS) {
    count(choice.way);
    recorder::end(*team.track);
  }
  team.turn.give();
  return status == SUMAC_TEAM_PASS ? leave(team, operation, Why::next_is_faster) : status;
}

/// Records that it is posted.
void begin_posted(sumac_team& team, const sumac_op& op) {
  recorder::begin(*team.track, static_cast<std::uint32_t>(index_of(op.operation.kind)) | recorder::kPosted,
                  op.operation.bytes);
}

/// The caller holds queue_lock, or no other thread uses the team.
void enqueue(sumac_team& team, sumac_op& op) {
  op.status.store(SUMAC_TEAM_PENDING, std::memory_order_relaxed);
  op.next = nullptr;
  if (team.head == nullptr || op.travels_with_others) team.awaits.store(SUMAC_AWAITS_LOOK, std::memory_order_relaxed);
  (team.tail == nullptr ? team.head : team.tail->next) = &op;
  team.tail = &op;
  add_active(team, 1);
}

}  // namespace

bool sumac_team_goes_apart(const sumac_team_t* team, const sumac_call_t* call) {
  if (call->coll >= SUMAC_COLLS) return false;
  const Operation& operation = operation_of(*call);
  const Way way = team->choose(operation).way;
  // A pairwise collective with sizes of its own for each block may send large blocks from rank to rank.
  const bool has_direct = sumac::coll::collective(operation.kind).is_pairwise && !sumac::coll::has_size(operation.kind);
  if (team->own_across != nullptr && !team->needs_caller(team->own_across)) return way != Way::pass;
  return way == Way::host || (way == Way::tree && !has_direct);
}

int sumac_team_run(sumac_team_t* team, const sumac_call_t* call) {
  const std::uint8_t coll = call->coll;
  const std::size_t bytes = call->bytes;
  if (is_direct(*team, coll, bytes) && bytes < team->compared_from[coll] &&
      team->active.load(std::memory_order_relaxed) == 0 && team->turn.try_take()) [[likely]] {
    ++team->run_counts[coll][SUMAC_WAY_HOST];
    recorder::begin(*team->track, coll, bytes);
    const Errc code = sumac::shm::run(*team->island_group, operation_of(*call));
    recorder::end(*team->track);
    team->turn.give();
    return code == Errc::ok ? SUMAC_TEAM_OK : broke(*team);
  }
  if (coll < SUMAC_COLLS && bytes >= team->compared_from[coll] && team->comparison != nullptr &&
      team->comparison->leaves(operation_of(*call).kind, bytes)) {
    begin_recorded(*team, operation_of(*call));
    return leave(*team, operation_of(*call), Why::next_is_faster);
  }
  return run_slowly(*team, operation_of(*call));
}

int sumac_team_run_agreed(sumac_team_t* team, const sumac_call_t* call, uint64_t number, char* why, size_t why_bytes) {
  // A rank that gave up on this very call has written its part before, which may be all that this one needs.
  team->look_at_board();
  if (team->is_broken.load(std::memory_order_acquire)) return SUMAC_TEAM_BROKEN;
  sumac_team_begin(team, call, number);
  int status = sumac_team_meet(team, call, number, number, why, why_bytes);
  if (status == SUMAC_TEAM_PENDING)
    wait_here(
        *team,
        [&] {
          status = team->is_broken.load(std::memory_order_relaxed)
                       ? SUMAC_TEAM_BROKEN
                       : sumac_team_meet(team, call, number, number, why, why_bytes);
          return status != SUMAC_TEAM_PENDING;
        },
        [] { return static_cast<const Run*>(nullptr); });
  if (status == SUMAC_TEAM_OK) status = sumac_team_run(team, call);
  return status == SUMAC_TEAM_OK ? sumac_team_differ(team, number, number, why, why_bytes) : status;
}

void sumac_team_passed(sumac_team_t* team) {
  recorder::passed(*team->track);
  if (team->comparison != nullptr) team->comparison->done();
}

int sumac_op_create(sumac_team_t* team, const sumac_call_t* call, sumac_op_done_t done, void* user, sumac_op_t** op_p) {
  if (call->coll >= SUMAC_COLLS) return SUMAC_TEAM_INVALID;
  if (team->is_broken.load(std::memory_order_acquire)) return SUMAC_TEAM_BROKEN;
  const Operation& operation = operation_of(*call);
  const bool direct = is_direct(*team, call->coll, call->bytes);
  const Choice choice = direct ? Choice{.way = Way::host} : team->choose(operation);
  sumac_op* op = nullptr;
  {
    const ShortLock lock(team->queue_lock);
    if (choice.way == Way::pass) {
      ++team->post_counts[call->coll][SUMAC_WAY_PASS];
      team->note_left(operation, choice.why);
      return SUMAC_TEAM_PASS;
    }
    if ((op = team->spare) != nullptr) team->spare = op->next;
  }
  if (op == nullptr) {
    op = new (std::nothrow) sumac_op;
    if (op == nullptr) return SUMAC_TEAM_NO_MEMORY;
    const ShortLock lock(team->queue_lock);
    op->list_next = team->all_ops;
    if (team->all_ops != nullptr) team->all_ops->list_previous = op;
    team->all_ops = op;
  }
  op->team = team;
  op->operation = operation;
  op->choice = choice;
  op->is_direct = direct;
  op->travels_with_others = !direct && Run::travels_with_others(*team, operation, choice);
  op->done = done;
  op->user = user;
  op->is_freed = op->has_begun = false;
  op->next = nullptr;
  op->status.store(SUMAC_TEAM_OK, std::memory_order_relaxed);
  *op_p = op;
  return SUMAC_TEAM_OK;
}

int sumac_op_start(sumac_op_t* op) {
  sumac_team& team = *op->team;
  if (op->status.load(std::memory_order_relaxed) == SUMAC_TEAM_PENDING) return SUMAC_TEAM_INVALID;
  if (team.is_broken.load(std::memory_order_acquire)) return SUMAC_TEAM_BROKEN;
  const bool is_done = is_empty(op->operation);
  {
    const ShortLock lock(team.queue_lock);
    ++team.post_counts[index_of(op->operation.kind)][static_cast<std::size_t>(op->choice.way)];
    if (!is_done) {
      begin_posted(team, *op);
      enqueue(team, *op);
    }
  }
  if (is_done) {
    op->status.store(SUMAC_TEAM_OK, std::memory_order_relaxed);
    if (op->done != nullptr) op->done(op->user, SUMAC_TEAM_OK);
  }
  return SUMAC_TEAM_OK;
}

int sumac_op_begin(sumac_op_t* op) {
  sumac_team& team = *op->team;
  const bool is_alone = op->is_direct && !team.threads && team.active.load(std::memory_order_relaxed) == 0 &&
                        !team.is_broken.load(std::memory_order_relaxed) && team.turn.try_take();
  if (!is_alone) {
    const int status = sumac_op_start(op);
    if (status == SUMAC_TEAM_OK) (void)sumac_team_progress(&team);
    return status;
  }
  ++team.post_counts[index_of(op->operation.kind)][SUMAC_WAY_HOST];
  begin_posted(team, *op);
  op->run.begin(team, op->operation, op->choice);
  const bool is_done = op->run.advance() == Step::done;
  if (is_done) {
    recorder::end(*team.track);
  } else {
    op->has_begun = true;  // If it has failed, its next step finds a broken team.
    enqueue(team, *op);
  }
  team.turn.give();
  if (is_done && op->done != nullptr) op->done(op->user, SUMAC_TEAM_OK);
  return SUMAC_TEAM_OK;
}

int sumac_op_test(sumac_op_t* op) {
  // This acquire pairs with finish().
  if (op->status.load(std::memory_order_acquire) == SUMAC_TEAM_PENDING) sumac_team_progress(op->team);
  return op->status.load(std::memory_order_acquire);
}

void sumac_op_free(sumac_op_t* op) {
  sumac_team& team = *op->team;
  const ShortLock lock(team.queue_lock);
  if (op->status.load(std::memory_order_relaxed) == SUMAC_TEAM_PENDING) {
    op->is_freed = true;
    return;
  }
  op->next = team.spare;
  team.spare = op;
}

int sumac_team_post(sumac_team_t* team, const sumac_call_t* call, sumac_op_done_t done, void* user, sumac_op_t** op_p) {
  sumac_op_t* op = nullptr;
  if (const int made = sumac_op_create(team, call, done, user, &op); made != SUMAC_TEAM_OK) return made;
  *op_p = op;  // Set before the start, because another thread may call `done` at once.
  const int started = sumac_op_start(op);
  if (started != SUMAC_TEAM_OK) {
    sumac_op_free(op);
    *op_p = nullptr;
  }
  return started;
}

int sumac_team_progress(sumac_team_t* team) {
  if (team->active.load(std::memory_order_relaxed) == 0 || !team->turn.try_take()) return 0;
  const int finished = step_all(*team);
  team->turn.give();
  return finished;
}

int sumac_team_progress_apart(sumac_team_t* team) {
  if (team->active.load(std::memory_order_relaxed) == 0 || !team->turn.try_take()) return 0;
  team->is_apart = true;
  const int finished = step_all(*team);
  team->is_apart = false;
  team->turn.give();
  return finished;
}

unsigned sumac_team_awaits(const sumac_team_t* team) {
  return team->active.load(std::memory_order_relaxed) == 0 ? 0 : team->awaits.load(std::memory_order_relaxed);
}

bool sumac_team_sleep(sumac_team_t* team, int us) {
  sumac::coll::Across* across = nullptr;
  // All that are under way must wait for other hosts, and for what the same sleep ends.
  const sumac_op* op = oldest(*team);
  for (int i = 0; op != nullptr && i < under_way_max(*team); ++i, op = companion(*team, *op)) {
    if (i > 0 && op->has_begun && op->run.has_come_back()) continue;
    if (!op->has_begun || !op->run.waits_across() || op->run.across() == nullptr) return false;
    if (across != nullptr && op->run.across() != across) return false;
    across = op->run.across();
  }
  return across != nullptr && across->sleep(us) != Slept::impossible;
}

unsigned sumac_team_moves(const sumac_team_t* team) { return team->moves.load(std::memory_order_relaxed); }

sumac_rest_t sumac_thread_rest(int64_t idle_us) {
  const sumac::WaitPlan plan = sumac::backoff(sumac::waits::kThread, sumac::Micros{idle_us});
  const auto sleep = std::chrono::duration_cast<sumac::Micros>(plan.sleep);
  return {static_cast<int>(plan.looks), plan.yields, static_cast<int>(sleep.count())};
}

int sumac_team_active(const sumac_team_t* team) {
  return static_cast<int>(team->active.load(std::memory_order_relaxed));
}
