#include "team/run.hpp"

#include <algorithm>
#include <utility>

#include "base/copy.hpp"
#include "coll/cut.hpp"
#include "team/c_types.hpp"
#include "team/team.hpp"

namespace sumac::team {
namespace {

using shm::Step;
using shm::WhenBroken;
using Progress = coll::Across::Progress;

/// The fold of a barrier, which adds up one meaningless byte.
const coll::Fold& no_fold() {
  static const coll::Fold fold{.element_bytes = 1, .kernel = reduce::kernel_for(Op::bor, Dtype::uint8)};
  return fold;
}

constexpr std::string_view kUnlikeSplits =
    "the ranks differ: what the ranks of another host send to those here has other sizes than these receive: "
    "send_counts[r] here must be recv_counts[rank] there";

std::size_t as_size(std::int64_t number) { return static_cast<std::size_t>(number); }

}  // namespace

bool Run::travels_with_others(const sumac_team& team, const coll::Operation& operation, const Choice& choice) {
  using enum coll::Kind;
  const bool is_plain =
      operation.kind == barrier || operation.kind == allreduce || operation.kind == reduce || operation.kind == bcast;
  return is_plain && team.layout.islands.size() > 1 && choice.way != Way::pass && choice.sums != Sums::by_values;
}

void Run::begin(sumac_team& team, const coll::Operation& operation, const Choice& choice) {
  team_ = &team;
  operation_ = &operation;
  across_ = team.across(choice.way);
  phase_ = 0;
  flying_ = 0;
  chunk_ = 0;
  is_prepared_ = has_moved_ = has_just_started_ = false;
  direct_.is_done = true;
  parcels_ = nullptr;
  failure_.reset();
  if (choice.sums == Sums::by_values) {
    at_ = At::values;
    if (!team.ordered_sum) team.ordered_sum = std::make_unique<OrderedSum>(team);
    team.ordered_sum->begin(operation);
    return;
  }
  const bool is_wide = team.layout.islands.size() > 1;
  if (!is_wide && !choice.by_steps) {
    at_ = At::direct;
    shm::prepare(*team.island_group, operation, task_);
    return;
  }
  at_ = At::before;
  in_ = static_cast<const std::byte*>(operation.in);
  out_ = static_cast<std::byte*>(operation.out);
  const auto kind = operation.kind;
  if (kind == coll::Kind::allgather || kind == coll::Kind::allgatherv) {
    begin_gather();
    return;
  }
  if (coll::collective(kind).is_pairwise || coll::collective(kind).is_prefix || scatters_sums(kind)) {
    begin_parcels(choice);
    return;
  }
  if (kind == coll::Kind::barrier) {
    in_ = nullptr;
    out_ = reinterpret_cast<std::byte*>(nothing_);
    nothing_[0] = 0;
  }
  if (in_ == nullptr) in_ = out_;
  plan_ = schedule(team.layout, kind, operation.root, choice.by_steps, choice.sums == Sums::in_order);
  begin_chunks(kind == coll::Kind::barrier ? 1 : operation.bytes,
               operation.fold != nullptr ? operation.fold->element_bytes : 1, is_wide);
}

void Run::set_depth(std::size_t depth) {
  depth_ = depth;
  for (std::size_t i = 0; i < depth; ++i)
    flights_[i].is_done = true;  // Only the used ones, because each costs a line of memory before every send.
}

void Run::begin_chunks(std::size_t bytes, std::size_t element_bytes, bool is_wide) {
  const std::size_t wanted = team_->chunk_wanted(across_, bytes);
  bytes_ = bytes;
  const coll::Cut chunks = coll::cut(bytes, {.most = wanted, .unit = shm::unit_for(element_bytes)});
  chunk_step_ = chunks.step;
  chunks_ = chunks.count;
  // Inside one host nothing advances while we wait, so a second chunk in flight gains nothing.
  set_depth(is_wide ? std::min<std::size_t>({team_->options->options.depth, chunks_, kDepthMax}) : 1);
  if (plan_.uses_scratch) take_scratch(depth_ * chunk_step_);
}

void Run::take_scratch(std::size_t bytes) {
  auto& spare = team_->spare_scratch;
  if (!spare.empty()) {
    scratch_ = std::move(spare.back());
    spare.pop_back();
  }
  if (scratch_.size() < bytes) scratch_.resize(bytes);
}

/// Also behind a failure, because MPI may still write into it: then it lives as long as the team.
void Run::give_scratch() {
  if (!scratch_.empty()) team_->spare_scratch.push_back(std::exchange(scratch_, {}));
}

/// Gathers the blocks in the order of islands; if that is also the order in the user's buffer, they go there directly.
void Run::begin_gather() {
  const Layout& layout = team_->layout;
  plan_ = schedule_allgather(layout);
  chunks_ = 1;
  set_depth(1);
  place_blocks();
  const bool is_v = operation_->kind == coll::Kind::allgatherv;
  const std::size_t unit = is_v ? operation_->out_blocks.unit : operation_->bytes;
  bool fits = true;
  std::size_t position = 0;
  std::size_t own = 0;
  for (const auto& island : layout.islands)
    for (const int r : island) {
      const auto displacement = is_v ? static_cast<std::size_t>(operation_->out_blocks.displacement(r)) : as_size(r);
      fits = fits && displacement == position;
      if (r == layout.rank) own = position;
      position += is_v ? as_size(operation_->out_blocks.count(r)) : 1;
    }
  bytes_ = chunk_step_ = position * unit;
  if (bytes_ == 0) {
    at_ = At::done;  // All ranks know this, since all have all counts.
    return;
  }
  if (fits) {
    stage_ = out_;
  } else {
    if (team_->stage.size() < bytes_) team_->stage.resize(bytes_);
    stage_ = team_->stage.data();
  }
  const auto own_displacement =
      is_v ? static_cast<std::ptrdiff_t>(operation_->out_blocks.displacement(layout.rank)) : layout.rank;
  const bool in_place = in_ == nullptr || in_ == out_;
  if (in_place) in_ = out_ + own_displacement * static_cast<std::ptrdiff_t>(unit);
  if (!layout.island_part) {
    const std::size_t own_bytes = (is_v ? as_size(operation_->out_blocks.count(layout.rank)) : 1) * unit;
    if (in_ != stage_ + own * unit) copy_bytes(stage_ + own * unit, in_, own_bytes);
  } else if (fits && in_place) {
    in_ = nullptr;  // shm's own convention for "in place".
  }
}

void Run::begin_parcels(const Choice& choice) {
  const Layout& layout = team_->layout;
  const std::size_t depth = std::min<std::size_t>(team_->options->options.depth, kDepthMax);
  if (coll::collective(operation_->kind).is_prefix) {
    plan_ = schedule_prefix(layout, operation_->kind);
    if (!team_->prefix) team_->prefix = std::make_unique<Prefix>(layout);
    const std::size_t sums = operation_->bytes * layout.islands.size();
    chunks_ = team_->prefix->begin(*operation_, team_->chunk_wanted(across_, sums), depth);
    set_depth(team_->prefix->depth());
    parcels_ = team_->prefix.get();
    return;
  }
  if (!scatters_sums(operation_->kind)) {
    plan_ = schedule_pairwise(layout, !coll::has_size(operation_->kind));
    if (!team_->exchange) team_->exchange = std::make_unique<Exchange>(layout, team_->shape.exchange_max);
    team_->exchange->begin(*operation_);
    parcels_ = team_->exchange.get();
    chunks_ = 1;
    set_depth(1);
    at_ = At::launch;
    return;
  }
  plan_ = schedule_reduce_scatter_block(layout, choice.way == Way::tree);
  if (!team_->reduce_scatter) team_->reduce_scatter = std::make_unique<ReduceScatter>(layout);
  const bool is_even = operation_->kind == coll::Kind::reduce_scatter_block;
  const std::size_t whole = is_even ? operation_->bytes * as_size(layout.size) : operation_->bytes;
  chunks_ =
      team_->reduce_scatter->begin(*operation_, choice.way == Way::tree, team_->chunk_wanted(across_, whole), depth);
  set_depth(team_->reduce_scatter->depth());
  parcels_ = team_->reduce_scatter.get();
}

/// Computes counts and displacements: first of this island's blocks inside `stage`, in the call's units, then of the
/// islands, in bytes. Bytes are used because leaders whose ranks have different types for the same data must describe
/// it alike.
void Run::place_blocks() {
  const Layout& layout = team_->layout;
  const bool is_v = operation_->kind == coll::Kind::allgatherv;
  auto& counts = team_->gather.counts;
  auto& displacements = team_->gather.displacements;
  auto& islands = team_->gather_islands;
  counts.clear();
  displacements.clear();
  islands.reset(layout.islands.size());
  // Over several islands all blocks together are at most INT32_MAX bytes (choose()); for one island nothing reads
  // these.
  const std::size_t unit = is_v ? operation_->out_blocks.unit : operation_->bytes;
  std::int64_t position = 0;
  for (std::size_t i = 0; i < layout.islands.size(); ++i) {
    const std::int64_t begins = position;
    for (const int r : layout.islands[i]) {
      const std::int64_t count = is_v ? operation_->out_blocks.count(r) : 1;
      if (static_cast<int>(i) == layout.island()) {
        counts.push_back(count);
        displacements.push_back(position);
      }
      position += count;
    }
    islands.set(i, static_cast<std::size_t>(position - begins) * unit, static_cast<std::size_t>(begins) * unit);
  }
}

std::byte* Run::at(Where where, std::size_t chunk) const {
  switch (where) {
    case Where::none: return nullptr;
    case Where::user_in: return const_cast<std::byte*>(in_) + (in_ == nullptr ? 0 : chunk * chunk_step_);
    case Where::user_out: return out_ + chunk * chunk_step_;
    case Where::scratch: return const_cast<std::byte*>(scratch_.data()) + chunk % depth_ * chunk_step_;
    case Where::stage: return stage_;
  }
  return nullptr;
}

std::size_t Run::chunk_bytes(std::size_t chunk) const {
  return coll::part_at(chunk * chunk_step_, bytes_, chunk_step_);
}

void Run::prepare(const Phase& phase, std::size_t chunk) {
  part_ = {};
  part_.kind = phase.kind;
  part_.root = phase.root;
  if (phase.errand != Errand::none) {
    parcels_->fill(phase, chunk, part_);
    shm::prepare(*team_->groups[static_cast<std::size_t>(phase.group)], part_, task_);
    return;
  }
  part_.in = at(phase.in, chunk);
  part_.out = at(phase.out, chunk);
  part_.bytes = chunk_bytes(chunk);
  part_.fold = operation_->kind == coll::Kind::barrier ? &no_fold() : operation_->fold;
  if (phase.kind == coll::Kind::allgatherv) {
    const bool is_v = operation_->kind == coll::Kind::allgatherv;
    part_.bytes = 0;
    part_.out_blocks = {team_->gather.counts.data(), team_->gather.displacements.data(),
                        is_v ? operation_->out_blocks.unit : operation_->bytes};
  }
  shm::prepare(*team_->groups[static_cast<std::size_t>(phase.group)], part_, task_);
}

bool Run::walk(const PhaseList& list, std::size_t chunk, Step& step) {
  while (phase_ < list.count) {
    if (!is_prepared_) {
      if (parcels_ != nullptr && !parcels_->needs(list.phases[phase_])) {
        ++phase_;
        continue;
      }
      prepare(list.phases[phase_], chunk);
      is_prepared_ = true;
    }
    // Behind the way across each phase only hands results on.
    step = shm::advance(task_, at_ == At::after ? WhenBroken::takes_results : WhenBroken::fails);
    has_moved_ = has_moved_ || task_.has_moved;
    if (step == Step::failed) {
      shm::Group& group = *team_->groups[static_cast<std::size_t>(list.phases[phase_].group)];
      fail(group.broken(), group.error());
      return false;
    }
    if (step == Step::waiting) {
      if ((flying_ > 0 || !direct_.is_done) && !poll_across()) step = Step::failed;
      return false;
    }
    is_prepared_ = false;
    ++phase_;
  }
  phase_ = 0;
  return true;
}

bool Run::start_across(std::size_t chunk) {
  Flight& flight = flights_[chunk % depth_];
  flight.operation = {};
  flight.operation.kind = plan_.across.kind;
  flight.operation.root = plan_.across.root;
  flight.operation.meaning = operation_->meaning;
  flight.is_done = false;
  flight.request = nullptr;
  describe_across(chunk, flight.operation);
  const Progress progress = across_->start(flight.operation, flight.request);
  flight.is_done = progress != Progress::pending;
  if (!is_well(*across_, progress, "a collective among the leaders did not start")) return false;
  if (!flight.is_done) ++flying_;
  has_just_started_ = !flight.is_done && chunks_ == 1;
  return true;
}

void Run::describe_across(std::size_t chunk, coll::Operation& operation) const {
  if (parcels_ != nullptr) {
    parcels_->fill_across(chunk, operation);
  } else if (plan_.across.kind == coll::Kind::allgatherv) {
    operation.out = stage_;
    operation.out_blocks = team_->gather_islands.blocks();
  } else if (plan_.across.kind != coll::Kind::barrier) {
    operation.in = at(plan_.across.in, chunk);
    operation.out = at(plan_.across.out, chunk);
    operation.bytes = chunk_bytes(chunk);
    operation.fold = operation_->fold;
  }
}

bool Run::start_direct() {
  direct_.operation = {};
  direct_.operation.meaning = operation_->meaning;
  direct_.request = nullptr;
  if (!team_->exchange->fill_direct(direct_.operation)) return true;
  const Progress progress = team_->own_across->start_direct(direct_.operation, direct_.request);
  direct_.is_done = progress != Progress::pending;
  return is_well(*team_->own_across, progress, "blocks between ranks of two hosts did not start");
}

bool Run::is_well(const coll::Across& across, Progress progress, std::string_view otherwise) {
  if (progress != Progress::failed) return true;
  const std::string_view words = across.error();
  fail(Errc::lost, words.empty() ? otherwise : words);
  return false;
}

void Run::fail(Errc code, std::string_view why) {
  if (is_oldest_) return team_->fail(code, why);
  if (!failure_) failure_ = std::make_unique<Error>(Error{code, std::string(why)});
}

bool Run::is_apart_from(const coll::Across* across) const noexcept {
  return team_->is_apart && team_->needs_caller(across);
}
bool Run::is_out_of_reach() const noexcept { return is_apart_from(across_); }

coll::Across* Run::across() const noexcept {
  if (at_ == At::values) return team_->ordered_sum->part().across();
  return at_ == At::direct_rest ? team_->own_across : across_;  // Blocks from rank to rank never go through the tree.
}

bool Run::waits_across() const noexcept {
  if (at_ == At::values) return team_->ordered_sum->part().waits_across();
  return (at_ == At::wait && flying_ > 0) || at_ == At::direct_rest;
}

unsigned Run::awaits() const noexcept {
  if (at_ == At::values) return team_->ordered_sum->part().awaits();
  constexpr unsigned kLook = SUMAC_AWAITS_LOOK, kTree = SUMAC_AWAITS_TREE, kMpi = SUMAC_AWAITS_MPI;
  const unsigned own = team_->needs_caller(team_->own_across) ? kMpi : kLook;
  const unsigned across = across_ != nullptr && across_ == team_->tree ? kTree : own;
  const unsigned direct = direct_.is_done ? 0 : own;
  switch (at_) {
    case At::launch:
    case At::start:
    case At::direct_rest: return own;
    case At::wait: return across | direct;
    default: return kLook | (flying_ > 0 ? across : 0) | direct;
  }
}

coll::Across::Progress Run::poll(coll::Across& across, void* request) {
  bool& has_looked = &across == team_->tree ? team_->has_looked.tree : team_->has_looked.own;
  return std::exchange(has_looked, true) ? across.peek(request) : across.test(request);
}

bool Run::poll_across() {
  // Oldest first, in the order in which they were started.
  const std::size_t oldest = chunk_ + 1 >= depth_ ? chunk_ + 1 - depth_ : 0;
  for (std::size_t c = oldest; c <= chunk_ && c < chunks_ && !is_out_of_reach(); ++c) {
    Flight& flight = flights_[c % depth_];
    if (flight.is_done) continue;
    const Progress progress = poll(*across_, flight.request);
    if (progress == Progress::pending) continue;
    flight.is_done = has_moved_ = true;
    --flying_;
    if (!is_well(*across_, progress, "a collective among the leaders failed")) return false;
    if (chunks_ == 1 && across_->went_by_hop()) ++team_->hop_counts[index_of(operation_->kind)];
  }
  if (direct_.is_done || is_apart_from(team_->own_across)) return true;
  const Progress progress = poll(*team_->own_across, direct_.request);
  direct_.is_done = progress != Progress::pending;
  return is_well(*team_->own_across, progress, "blocks between ranks of two hosts were lost");
}

void Run::let_go() {
  if (at_ == At::values) return team_->ordered_sum->let_go();
  if (at_ == At::direct) return;
  for (std::size_t i = 0; flying_ > 0 && i < depth_; ++i) {
    if (std::exchange(flights_[i].is_done, true)) continue;
    across_->let_go(flights_[i].request);
    --flying_;
  }
  if (!std::exchange(direct_.is_done, true)) team_->own_across->let_go(direct_.request);
  give_scratch();
}

bool Run::has_own_result() const noexcept {
  const auto kind = operation_->kind;
  const bool is_given = kind == coll::Kind::barrier || kind == coll::Kind::allreduce || kind == coll::Kind::bcast ||
                        (kind == coll::Kind::reduce && operation_->root != team_->layout.rank);
  return is_given && plan_.goes_across && flying_ == 0 && chunk_ + 2 - depth_ == chunks_;
}

void Run::unpack() {
  const auto kind = operation_->kind;
  if ((kind != coll::Kind::allgather && kind != coll::Kind::allgatherv) || stage_ == out_) return;
  const bool is_v = kind == coll::Kind::allgatherv;
  const std::size_t unit = is_v ? operation_->out_blocks.unit : operation_->bytes;
  const std::byte* from = stage_;
  for (const auto& island : team_->layout.islands)
    for (const int r : island) {
      const std::ptrdiff_t displacement = is_v ? operation_->out_blocks.displacement(r) : r;
      const std::size_t bytes = (is_v ? as_size(operation_->out_blocks.count(r)) : 1) * unit;
      copy_bytes(out_ + displacement * static_cast<std::ptrdiff_t>(unit), from, bytes);
      from += bytes;
    }
}

Step Run::advance(bool comes_down) {
  Step step = Step::waiting;
  has_moved_ = false;
  is_oldest_ = comes_down;
  if (comes_down) team_->has_looked = {};
  if (failure_) [[unlikely]] {
    if (comes_down) team_->fail(failure_->code, failure_->context);
    return Step::failed;
  }
  for (;;) switch (at_) {
      case At::direct:
        step = shm::advance(task_, shm::has_begun(task_) ? WhenBroken::takes_results : WhenBroken::fails);
        has_moved_ = task_.has_moved;
        if (step == Step::failed) fail(team_->island_group->broken(), team_->island_group->error());
        return step;
      case At::values:
        step = team_->ordered_sum->advance();
        has_moved_ = team_->ordered_sum->part().has_moved();
        return step;
      case At::launch:  // First of all, because these blocks wait for no rank of the island.
        if (is_apart_from(team_->own_across) && team_->exchange->may_have_direct()) return Step::waiting;
        if (!start_direct()) return Step::failed;
        at_ = At::before;
        break;
      case At::before:
        if (chunk_ < chunks_ && !walk(plan_.before, chunk_, step)) return step;
        at_ = At::start;
        break;
      case At::start:
        if (chunk_ < chunks_ && plan_.goes_across) {
          if (is_out_of_reach()) return Step::waiting;
          if (!start_across(chunk_)) return Step::failed;
        }
        at_ = At::meanwhile;
        break;
      case At::meanwhile:
        if (chunk_ < chunks_ && !walk(plan_.meanwhile, chunk_, step)) return step;
        at_ = At::wait;
        break;
      case At::wait:
        if (plan_.goes_across && chunk_ + 1 >= depth_) {
          if (std::exchange(has_just_started_, false)) return Step::waiting;
          if (flying_ > 0 && !poll_across()) return Step::failed;
          if (!flights_[(chunk_ + 1 - depth_) % depth_].is_done) return Step::waiting;
          if (parcels_ != nullptr && !parcels_->arrived(chunk_ + 1 - depth_)) {
            fail(Errc::invalid, kUnlikeSplits);
            return Step::failed;
          }
        }
        at_ = At::after;
        break;
      case At::after:
        if (chunk_ + 1 >= depth_) {
          if (!comes_down) return Step::waiting;
          // A rank that died before it took its result does not take it from this one, for the other hosts have theirs.
          if (!walk(plan_.after, chunk_ + 1 - depth_, step) && (step != Step::failed || !has_own_result())) return step;
          if (parcels_ != nullptr) parcels_->returned(chunk_ + 1 - depth_);
        }
        ++chunk_;
        at_ = chunk_ == chunks_ + depth_ - 1 ? At::direct_rest : At::before;
        break;
      case At::direct_rest:
        if (!direct_.is_done && !poll_across()) return Step::failed;
        if (!direct_.is_done) return Step::waiting;
        at_ = At::finish;
        break;
      case At::finish:
        unpack();
        give_scratch();
        if (parcels_ != nullptr) parcels_->finish();
        at_ = At::done;
        break;
      case At::done: return Step::done;
    }
}

}  // namespace sumac::team
