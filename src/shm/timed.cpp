// Large messages of two ranks go through shared memory or by single copy, whichever is faster here: the first calls of a collective
// and size take both ways in turns, each is timed from where both members have arrived to where it is complete, and the medians
// decide (decision.hpp). Both ways give the same bits: of two ranks each folds rank 0's values with rank 1's.
//
// A trial begins with a round of its own, in which each member says how long its last trial took. The slower one's time counts, so both
// members note the same number and need nothing else to agree. Calls that others drive now and then (nonblocking) are not
// timed: their time is the caller's; nor is what goes by another algorithm than it would (alltoall in place).
#include "shm/timed.hpp"

#include <limits>
#include <mutex>
#include <utility>

#include "base/clock.hpp"
#include "shm/rounds.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

namespace {

enum Phase : std::uint32_t { kStart, kTell, kMeet };
/// Of Operation::own, the one word that no other algorithm has: when the trial began, in ns; 0: none is under way.
constexpr std::size_t kBegan = 7;

struct Ways {
  Coll coll;
  const Algorithm* of[2];  ///< By Decision::Way.
};

const std::array<Ways, Decisions::kColls>& all_ways() noexcept {
  static const auto ways = [] {
    const auto of = [](Coll coll, std::string_view shared) {
      return Ways{coll, {find_algorithm(coll, shared), find_algorithm(coll, "single")}};
    };
    return std::array{of(Coll::allreduce, "blocks"), of(Coll::bcast, "stream"), of(Coll::allgather, "exchange"),
                      of(Coll::alltoall, "exchange")};
  }();
  return ways;
}

std::size_t index_of(Coll coll) noexcept {
  std::size_t i = 0;
  while (all_ways()[i].coll != coll) ++i;
  return i;
}

const Algorithm* algorithm_for(std::size_t coll, Decision::Way way) noexcept {
  return all_ways()[coll].of[static_cast<std::size_t>(way)];
}

/// One member's part of a trial's first round.
struct Said {
  double last_ns;
  bool counts;
};

/// Small lists, asked when groups are made and when a decision falls.
class KnownPairs {
 public:
  Decisions::Known find(const ProcessName& other) {
    const std::lock_guard guard(lock_);
    return entry(other);
  }
  void add(const ProcessName& other, const Decisions::Known& known) {
    const std::lock_guard guard(lock_);
    auto& mine = entry(other);
    for (std::size_t i = 0; i < known.size(); ++i)
      if (known[i] != 0) mine[i] = known[i];
  }

 private:
  Decisions::Known& entry(const ProcessName& other) {
    for (auto& [process, known] : pairs_)
      if (process.pid == other.pid && process.start_time == other.start_time) return known;
    return pairs_.emplace_back(other, Decisions::Known{}).second;
  }
  std::mutex lock_;
  std::vector<std::pair<ProcessName, Decisions::Known>> pairs_;
};

KnownPairs& known_pairs() {
  static KnownPairs pairs;
  return pairs;
}

std::uint64_t now_ns() noexcept { return static_cast<std::uint64_t>(monotonic_now().time_since_epoch().count()); }

Step settled(Operation& op, std::size_t coll, Decision::Way way) {
  op.algorithm = algorithm_for(coll, way);
  start_over(op);
  return op.algorithm->step(op);
}

/// One step of the way that is timed.
Step try_out(Operation& op, std::size_t coll, Decision& decision) {
  const std::uint64_t began = op.own[kBegan];
  const Algorithm* const self = op.algorithm;
  const Step step = algorithm_for(coll, decision.way())->step(op);
  // One that has found memory closed has gone over to the other for good: its time stays infinite.
  if (step == Step::done && op.algorithm == self)
    decision.mine_ns = std::max<double>(1, static_cast<double>(now_ns() - began)) * 1024 /
                       static_cast<double>(std::max<std::size_t>(op.call->bytes, 1));
  return step;
}

/// Everybody has said how its last trial went.
void note_all(const Operation& op, Decision& decision, bool& counts) noexcept {
  const Group& group = *op.group;
  double slowest = 0;
  bool is_timed = true;
  for (int m = 0; m < group.size(); ++m) {
    Said said;
    std::memcpy(&said, group.line(m, op.round).payload, sizeof said);
    is_timed = is_timed && said.last_ns > 0;
    slowest = std::max(slowest, said.last_ns);
    counts = counts && said.counts;
  }
  if (is_timed) decision.note(slowest);
}

}  // namespace

bool has_decisions(const Group& group) noexcept { return single_copy_agreed(group) && group.decisions != nullptr; }

Step timed(Operation& op) {
  Group& group = *op.group;
  const std::size_t coll = index_of(op.call->coll);
  Decision& decision = group.decisions->at(coll, op.call->bytes);
  if (op.own[kBegan] != 0) return try_out(op, coll, decision);
  if (op.phase == kStart) {
    if (decision.is_settled() && decision.count()) [[likely]]
      return settled(op, coll, decision.way());
    begin_round(op);
    op.phase = kTell;
  }
  if (op.phase == kTell) {
    if (!group.room(op.round, kLineRing)) return Step::waiting;
    const Said mine{decision.mine_ns, op.polls > 1 && !(op.call->coll == Coll::alltoall && op.call->in_place())};
    Line& line = group.line(group.index(), op.round);
    std::memcpy(line.payload, &mine, sizeof mine);
    publish(line, op.round, sizeof mine);
    op.phase = kMeet;
  }
  if (!all_arrived(op, sizeof(Said))) return Step::waiting;
  bool counts = true;
  note_all(op, decision, counts);
  decision.mine_ns = 0;
  group.complete(op.round);
  if (decision.is_settled()) {
    if (group.index() == 0) known_pairs().add(group.process(1), group.decisions->known());
    return settled(op, coll, decision.way());
  }
  if (!counts) return settled(op, coll, decision.better());
  decision.mine_ns = std::numeric_limits<double>::infinity();
  start_over(op);
  op.own[kBegan] = now_ns();
  return try_out(op, coll, decision);
}

Decisions::Known known_of(const ProcessName& other) { return known_pairs().find(other); }

const Algorithm* decided(const Group& group, Coll coll, std::size_t bytes) noexcept {
  if (!has_decisions(group)) return nullptr;
  const std::size_t i = index_of(coll);
  const Decision& decision = group.decisions->at(i, bytes);
  return decision.is_settled() ? algorithm_for(i, decision.way()) : nullptr;
}

std::string about_decision(const Group& group, Coll coll, std::size_t bytes) {
  if (decided(group, coll, bytes) == nullptr) return "";
  const std::size_t i = index_of(coll);
  const Decision& decision = group.decisions->at(i, bytes);
  const auto words = [&](Decision::Way way) {
    return fmt::format("\"{}\" {:.1f} ns", algorithm_for(i, way)->name, decision.median_ns(way));
  };
  if (decision.median_ns(Decision::Way::shared) == 0) return "as an earlier communicator of the two ranks found out";
  return fmt::format("1 KiB took by {}, by {}", words(Decision::Way::shared), words(Decision::Way::single));
}

}  // namespace sumac::shm
