#include "team/team.hpp"

#include <algorithm>

#include "base/c_text.hpp"
#include "shm/algorithms.hpp"
#include "shm/segment/liveness.hpp"
#include "team/c_types.hpp"

using sumac::Errc;
using sumac::coll::Fold;
using sumac::coll::Kind;
using sumac::coll::Operation;
using sumac::team::Across;
using sumac::team::Choice;
using sumac::team::operation_of;

namespace {
/// An operation that MPI carries among leaders may end so long after one of them is known to be lost, whose messages had been sent before.
constexpr sumac::Millis kLastMessages{200};
/// From this size on shared memory may copy straight into another rank's memory.
constexpr std::size_t kMeetsBytes = 32 * 1024;

/// The forms with sizes of their own for each rank have no common size.
bool meets_first(const Operation& operation) { return operation.bytes >= kMeetsBytes || has_counts(operation); }

int agreed(const sumac::Result<>& compared, char* why, std::size_t why_bytes) {
  if (compared) return SUMAC_TEAM_OK;
  sumac::copy_text(compared.error().context, why, why_bytes);
  return SUMAC_TEAM_DIFFER;
}

}  // namespace

sumac_team::~sumac_team() {
  while (all_ops != nullptr) delete std::exchange(all_ops, all_ops->list_next);
}

void sumac_team::fail(Errc code, std::string_view why) {
  // A helper thread may find the same failure at the same time.
  const sumac::team::ShortLock lock(queue_lock);
  if (is_broken.load(std::memory_order_relaxed)) return;
  if (board != nullptr) {
    board->write(code, why);
    // Another rank may have been first: a rank that ends because another one died must not be named instead of the dead
    // one.
    if (board->is_written()) why = board->text;
  }
  sumac::copy_text(why, error, sizeof error);
  for (const auto& group : groups)
    if (group) group->break_because(code, error);
  // A release store: a reader that sees the flag also reads the text.
  is_broken.store(true, std::memory_order_release);
}

/// For any other reason each rank has its own words, which its client spreads.
void sumac_team::give_up_across() {
  int dead = -1;
  for (const auto& group : groups)
    if (group && dead < 0) dead = group->dead_rank();
  if (dead < 0) return;
  for (auto* way : {tree, own_across})
    if (way != nullptr) way->give_up(error, dead);
}

bool sumac_team::finds_dead(const sumac::team::Run* oldest) {
  const bool is_across = oldest != nullptr && oldest->outlives_this_host();
  if (!is_across && island_group != nullptr && island_group->look_for_dead() != Errc::ok) return true;
  if (tree == nullptr || !tree->has_lost_member()) return false;
  const sumac::Time now = sumac::monotonic_now();
  if (lost_member_at == sumac::Time{}) lost_member_at = now;
  return !is_across || now - lost_member_at >= kLastMessages;
}

void sumac_team::fail_for_dead() {
  if (island_group != nullptr && island_group->broken() != Errc::ok)
    return fail(island_group->broken(), island_group->error());
  fail(Errc::lost, tree->error());
}

void sumac_team::look_for_dead(const sumac::team::Run* oldest) {
  if (finds_dead(oldest)) fail_for_dead();
}

void sumac_team::look_for_dead_now_and_then(const sumac::team::Run* oldest) {
  const sumac::Time now = sumac::monotonic_now();
  if (now - looked_for_dead < sumac::waits::kAlone.check_every) return;
  looked_for_dead = now;
  look_for_dead(oldest);
}

bool sumac_team::has_failed_here() const noexcept { return board != nullptr && board->is_written(); }

void sumac_team::look_at_board() {
  if (!is_broken.load(std::memory_order_relaxed) && has_failed_here())
    fail(static_cast<Errc>(board->code), board->text);
}

/// Asks the tree first: for the whole operation, then for the chunks in which leaders would send it.
Across sumac_team::who_takes(Kind kind, std::size_t bytes, const Fold* fold) const {
  const Kind started = sumac::team::started_across(kind);
  fold = sumac::team::fold_across(kind, fold);
  if (tree != nullptr && tree->takes(started, bytes, fold)) return Across::tree;
  const sumac::coll::Collective& row = sumac::coll::collective(kind);
  if (row.is_pairwise && !has_size(kind) && !own_across->has_direct()) return Across::none;
  if (!own_across->takes(started, bytes, fold)) return Across::none;
  const std::size_t piece = options->options.chunk.count;
  const bool goes_in_pieces = row.keeps == sumac::coll::Share::vector && bytes > piece;
  return tree != nullptr && goes_in_pieces && tree->takes(started, piece, fold) ? Across::tree : Across::next;
}

Choice sumac_team::choose(Kind kind, std::size_t bytes, std::size_t across_bytes, const Fold* fold) const {
  sumac::team::Question question;
  question.kind = kind;
  question.bytes = bytes;
  question.disabled = options->options.disabled[index_of(kind)];
  question.steps = options->options.steps;
  if (own_across != nullptr && !question.disabled) question.across = who_takes(kind, across_bytes, fold);
  question.in_order = options->options.reproducible && sumac::coll::collective(kind).reduces &&
                      (fold == nullptr || order_matters(*fold));
  if ((question.in_order || sumac::coll::collective(kind).is_prefix) && own_across != nullptr) {
    const auto* carrier = question.across == Across::tree ? tree : own_across;
    question.adds_canonically =
        question.across != Across::none && carrier->adds_canonically(sumac::team::started_across(kind));
    question.values_can_travel = sumac::team::OrderedSum::can_gather(*this);
  }
  return sumac::team::choose(shape, question);
}

/// A network of host algorithms cuts a vector itself, and pays for each operation: it gets the whole vector, or few chunks
/// where shared memory works on one while another is between the hosts.
std::size_t sumac_team::chunk_wanted(const sumac::coll::Across* way, std::size_t bytes) const noexcept {
  const std::size_t least = options->options.chunk.count;
  if (shape.has_next || way != own_across) return least;
  return std::max(least, shape.island_size_max == 1 ? bytes : bytes / options->options.depth);
}

Choice sumac_team::choose(const Operation& operation) const {
  // The v-forms have no common size: each rank's bytes differ.
  std::size_t bytes = has_size(operation.kind) ? operation.bytes : 0, across_bytes = bytes;
  if (operation.kind == Kind::allgather || operation.kind == Kind::reduce_scatter_block)
    across_bytes = operation.bytes * static_cast<std::size_t>(layout.size);
  if (sumac::coll::collective(operation.kind).is_prefix) across_bytes = operation.bytes * layout.islands.size();
  if (operation.kind == Kind::allgatherv) {
    std::int64_t units = 0;
    std::int64_t largest = 0;
    for (int r = 0; r < layout.size; ++r) {
      units += operation.out_blocks.count(r);
      largest = std::max(largest, operation.out_blocks.count(r));
    }
    bytes = static_cast<std::size_t>(largest) * operation.out_blocks.unit;
    across_bytes = static_cast<std::size_t>(units) * operation.out_blocks.unit;
  }
  // Bytes are compared, not units: each rank may use a type of its own, and all ranks must decide alike.
  if ((operation.kind == Kind::allgather || operation.kind == Kind::allgatherv) && layout.islands.size() > 1 &&
      across_bytes > INT32_MAX)
    return {sumac::team::Way::pass, false, sumac::team::Why::too_many_bytes};
  return choose(operation.kind, bytes, across_bytes, operation.fold);
}

void sumac_team_destroy(sumac_team_t* team) { delete team; }

const char* sumac_team_error(sumac_team_t* team) {
  team->look_at_board();  // Another rank of the host may have found it broken.
  return team->is_broken.load(std::memory_order_acquire) ? team->error : "";
}

void sumac_team_break(sumac_team_t* team, const char* why) { team->fail(Errc::refused, why); }

int sumac_team_check(sumac_team_t* team) {
  team->look_at_board();
  if (team->island_group != nullptr && team->island_group->look_for_dead_now_and_then() != Errc::ok)
    team->fail(team->island_group->broken(), team->island_group->error());
  return team->is_broken.load(std::memory_order_acquire) ? SUMAC_TEAM_BROKEN : SUMAC_TEAM_OK;
}

void sumac_team_ways(const sumac_team_t* team, int coll, uint64_t* calls) {
  for (int w = 0; w < SUMAC_WAYS; ++w) calls[w] = team->run_counts[coll][w] + team->post_counts[coll][w];
}

void sumac_team_counts(const sumac_team_t* team, sumac_counts_t* counts) {
  for (int c = 0; c < SUMAC_COLLS; ++c) sumac_team_ways(team, c, counts->calls[c]);
  counts->closed = 0;
  std::fill_n(counts->left, SUMAC_LEFTS, 0);
  std::copy_n(team->hop_counts, SUMAC_COLLS, counts->hop);
  for (const auto& row : team->left.rows()) counts->left[row.why] += row.calls;
  for (const auto& group : team->groups)
    if (group && group->index() == 0) counts->closed += group->closed();
}

bool sumac_team_left(const sumac_team_t* team, size_t index, sumac_left_calls_t* row) {
  const auto& rows = team->left.rows();
  if (index >= rows.size()) return false;
  *row = rows[index];
  return true;
}

void sumac_team_notes_left(sumac_team_t* team, bool on) { team->notes_left = on; }

int sumac_team_keeps_order(const sumac_team_t* team) {
  const auto& options = team->options->options;
  const bool goes_by_steps =
      team->shape.has_steps && options.steps != sumac::team::Steps::never && !options.reproducible;
  return team->shape.islands == 1 && !goes_by_steps ? 1 : 0;
}

size_t sumac_team_element_bytes_max(const sumac_team_t* team, int coll) {
  static_assert(sumac::shm::Shape{}.eager_bytes <= SUMAC_ELEMENT_BYTES_MAX, "an element lies in one cell");
  return sumac::shm::element_bytes_max(static_cast<Kind>(coll), team->layout.size, team->large_bytes_least);
}

int sumac_team_leaders(const sumac_team_t* team, int* my_index) {
  if (my_index != nullptr) *my_index = team->layout.leads() ? team->layout.island() : -1;
  return static_cast<int>(team->layout.islands.size());
}

uint64_t sumac_team_ended(const sumac_team_t* team) {
  // Over several hosts every call is a slow one, at every rank.
  std::uint64_t ended = team->slow_calls - team->active.load(std::memory_order_relaxed);
  for (int c = 0; c < SUMAC_COLLS; ++c) {
    std::uint64_t ways[SUMAC_WAYS];
    sumac_team_ways(team, c, ways);
    for (const auto calls : ways) ended += calls;
  }
  return ended;
}

void sumac_team_waits(sumac_team_t* team, int64_t now_ns) {
  sumac::recorder::waits(*team->track, now_ns);
  if (team->island_group != nullptr) team->island_group->note_waiting(now_ns);
}

size_t sumac_team_calls_bytes(int ranks) { return sumac::team::CallLog::bytes_for(ranks); }

void sumac_team_begin(sumac_team_t* team, const sumac_call_t* call, uint64_t number) {
  const Operation& operation = operation_of(*call);
  team->calls->begin(number, operation);
  if (meets_first(operation)) sumac::recorder::expect(*team->track, call->coll, call->bytes);
}

int sumac_team_meet(const sumac_team_t* team, const sumac_call_t* call, uint64_t number, uint64_t oldest, char* why,
                    size_t why_bytes) {
  const Operation& operation = operation_of(*call);
  if (!meets_first(operation)) return SUMAC_TEAM_OK;
  if (!team->calls->all_have_begun(number)) return SUMAC_TEAM_PENDING;
  // Until the older ones end nobody has compared them, and ranks that differ there would read each other's rounds wrongly here.
  auto compared = team->calls->compare(oldest, number);
  if (compared && has_counts(operation)) compared = team->calls->compare_blocks(number, operation);
  return agreed(compared, why, why_bytes);
}

int sumac_team_differ(const sumac_team_t* team, uint64_t first, uint64_t last, char* why, size_t why_bytes) {
  return agreed(team->calls->compare(first, last), why, why_bytes);
}

bool sumac_team_has_begun(const sumac_team_t* team, int rank, uint64_t number) {
  return team->calls->has_begun(team->layout.local_index(rank), number);
}

void sumac_team_misses(sumac_team_t* team, const int* ranks, size_t count) {
  sumac::recorder::misses(*team->track, ranks, count);
}

int sumac_team_missing(const sumac_team_t* team, int64_t since_ns, int64_t now_ns, int* ranks) {
  constexpr std::int64_t kAway = 1'000'000'000;
  const auto& members = team->layout.island_members();
  int count = 0;
  for (int i = 0; team->island_group != nullptr && i < team->island_group->size(); ++i)
    if (i != team->island_group->index() && team->island_group->waited_at(i) < std::max(since_ns, now_ns - kAway))
      ranks[count++] = members[static_cast<std::size_t>(i)];
  return count;
}

bool sumac_team_is_dead(const sumac_team_t* team, int rank) {
  const auto& here = team->layout.host_members;
  const auto at = std::ranges::lower_bound(here, rank);
  if (team->segment == nullptr || at == here.end() || *at != rank) return false;
  return sumac::shm::look_at(*team->segment, static_cast<int>(at - here.begin())) == sumac::shm::Life::dead;
}

int sumac_team_leader(const sumac_team_t* team, int index) {
  return team->layout.islands[static_cast<std::size_t>(index)].front();
}
