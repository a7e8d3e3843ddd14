// Large messages of two ranks go through shared memory or by single copy, whichever is faster here. The first calls of
// a collective and size alternate between both methods; each is timed from the moment when both members have arrived
// until it is complete, and the medians decide (decision.hpp). Both methods give the same bits: with two ranks each
// folds rank 0's values with rank 1's.
//
// A trial begins with a round of its own, in which each member publishes how long its last trial took. The slower one's
// time counts, so both members record the same number and need no other agreement. Nonblocking calls are not timed,
// because their time depends on when the caller drives them; neither are calls that another algorithm serves anyway
// (alltoall in place).
#include "shm/single/timed.hpp"

#include <limits>
#include <mutex>
#include <utility>

#include "base/clock.hpp"
#include "shm/rounds.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

namespace {

enum Phase : std::uint32_t { kStart, kTell, kMeet };
/// The index in Operation::own of the one word that no other algorithm uses: when the trial began, in ns; 0: none is
/// under way.
constexpr std::size_t kBegan = 7;

struct Ways {
  coll::Kind kind;
  const Algorithm* of[2];  ///< Indexed by Decision::Way.
};

const std::array<Ways, Decisions::kColls>& all_ways() noexcept {
  static const auto ways = [] {
    const auto of = [](coll::Kind kind, std::string_view shared) {
      return Ways{kind, {find_algorithm(kind, shared), find_algorithm(kind, "single")}};
    };
    return std::array{of(coll::Kind::allreduce, "blocks"), of(coll::Kind::bcast, "stream"),
                      of(coll::Kind::allgather, "exchange"), of(coll::Kind::alltoall, "exchange"),
                      of(coll::Kind::scatter, "stream")};
  }();
  return ways;
}

std::size_t way_index(coll::Kind kind) noexcept {
  std::size_t i = 0;
  while (all_ways()[i].kind != kind) ++i;
  return i;
}

const Algorithm* algorithm_for(std::size_t kind, Decision::Way way) noexcept {
  return all_ways()[kind].of[static_cast<std::size_t>(way)];
}

/// One member's contribution to a trial's first round.
struct Said {
  double last_ns;
  bool counts;
};

/// A small list that is searched when groups are made and when a decision is made.
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

Step settled(Task& task, std::size_t kind, Decision::Way way) {
  task.algorithm = algorithm_for(kind, way);
  start_over(task);
  return task.algorithm->step(task);
}

/// Does one step of the method that is timed.
Step try_out(Task& task, std::size_t kind, Decision& decision) {
  const std::uint64_t began = task.own[kBegan];
  const Algorithm* const self = task.algorithm;
  const Step step = algorithm_for(kind, decision.way())->step(task);
  // If the algorithm found memory that is not open, it has switched to the other one: then the time stays infinite.
  if (step == Step::done && task.algorithm == self)
    decision.mine_ns = std::max<double>(1, static_cast<double>(now_ns() - began)) * 1024 /
                       static_cast<double>(std::max<std::size_t>(task.operation->bytes, 1));
  return step;
}

/// Called when every member has published the time of its last trial.
void note_all(const Task& task, Decision& decision, bool& counts) noexcept {
  const Group& group = *task.group;
  double slowest = 0;
  bool is_timed = true;
  for (int m = 0; m < group.size(); ++m) {
    Said said;
    std::memcpy(&said, group.line(m, task.round).payload, sizeof said);
    is_timed = is_timed && said.last_ns > 0;
    slowest = std::max(slowest, said.last_ns);
    counts = counts && said.counts;
  }
  if (is_timed) decision.note(slowest);
}

}  // namespace

bool has_decisions(const Group& group) noexcept { return single_copy_agreed(group) && group.decisions != nullptr; }

Step timed(Task& task) {
  Group& group = *task.group;
  const std::size_t kind = way_index(task.operation->kind);
  Decision& decision = group.decisions->at(kind, task.operation->bytes);
  if (task.own[kBegan] != 0) return try_out(task, kind, decision);
  if (task.phase == kStart) {
    if (decision.is_settled() && decision.count()) [[likely]]
      return settled(task, kind, decision.way());
    begin_round(task);
    task.phase = kTell;
  }
  if (task.phase == kTell) {
    if (!group.room(task.round, kLineRing)) return Step::waiting;
    const Said mine{decision.mine_ns,
                    task.polls > 1 && !(task.operation->kind == coll::Kind::alltoall && task.operation->in_place())};
    Line& line = group.line(group.index(), task.round);
    std::memcpy(line.payload, &mine, sizeof mine);
    publish(line, task.round, sizeof mine);
    task.phase = kMeet;
  }
  if (!all_arrived(task, sizeof(Said))) return Step::waiting;
  bool counts = true;
  note_all(task, decision, counts);
  decision.mine_ns = 0;
  group.complete(task.round);
  if (decision.is_settled()) {
    if (group.index() == 0) known_pairs().add(group.process(1), group.decisions->known());
    return settled(task, kind, decision.way());
  }
  if (!counts) return settled(task, kind, decision.better());
  decision.mine_ns = std::numeric_limits<double>::infinity();
  start_over(task);
  task.own[kBegan] = now_ns();
  return try_out(task, kind, decision);
}

Decisions::Known known_of(const ProcessName& other) { return known_pairs().find(other); }

const Algorithm* decided(const Group& group, coll::Kind kind, std::size_t bytes) noexcept {
  if (!has_decisions(group)) return nullptr;
  const std::size_t i = way_index(kind);
  const Decision& decision = group.decisions->at(i, bytes);
  return decision.is_settled() ? algorithm_for(i, decision.way()) : nullptr;
}

std::string about_decision(const Group& group, coll::Kind kind, std::size_t bytes) {
  if (decided(group, kind, bytes) == nullptr) return "";
  const std::size_t i = way_index(kind);
  const Decision& decision = group.decisions->at(i, bytes);
  const auto words = [&](Decision::Way way) {
    return fmt::format("\"{}\" {:.1f} ns", algorithm_for(i, way)->name, decision.median_ns(way));
  };
  if (decision.median_ns(kShared) == 0) return "as an earlier communicator of the two ranks found out";
  return fmt::format("1 KiB took by {}, by {}", words(kShared), words(kSingle));
}

}  // namespace sumac::shm
