// Large messages of two ranks go through shared memory or by single copy, whichever is faster here. The first calls of
// a collective and size alternate between both methods; each is timed from the moment when both members have arrived
// until it is complete, and the medians decide (decision.hpp). Both methods give the same bits: with two ranks each
// folds rank 0's values with rank 1's.
//
// trial.hpp says what a trial is: nonblocking calls count where their caller polls until they are done. Calls that another algorithm serves anyway (alltoall in place) are not timed.
#include "shm/single/timed.hpp"

#include <mutex>
#include <utility>

#include "shm/rounds.hpp"
#include "shm/steps.hpp"
#include "shm/trial.hpp"

namespace sumac::shm {

namespace {

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
  static KnownPairs& pairs = *new KnownPairs;  // Never destroyed: a thread may make teams while the process ends.
  return pairs;
}

Step settled(Task& task, std::size_t kind, Decision::Way way) {
  task.algorithm = algorithm_for(kind, way);
  start_over(task);
  return task.algorithm->step(task);
}

}  // namespace

bool has_decisions(const Group& group) noexcept { return single_copy_agreed(group) && group.decisions != nullptr; }

Step timed(Task& task) {
  Group& group = *task.group;
  const std::size_t kind = way_index(task.operation->kind);
  Decision& decision = group.decisions->at(kind, task.operation->bytes);
  const auto try_it = [&] { return try_out(task, *algorithm_for(kind, decision.way()), decision); };
  if (is_on_trial(task)) return try_it();
  if (task.phase == 0 && decision.is_settled() && decision.count()) [[likely]]
    return settled(task, kind, decision.way());
  const bool is_other = task.operation->kind == coll::Kind::alltoall && task.operation->in_place();
  switch (meet(task, decision, !is_other)) {
    case Trial::meeting: return Step::waiting;
    case Trial::untimed: return settled(task, kind, decision.better());
    case Trial::begun: return try_it();
    case Trial::decided: break;
  }
  if (group.index() == 0) known_pairs().add(group.process(1), group.decisions->known());
  return settled(task, kind, decision.way());
}

Decisions::Known known_of(const ProcessName& other) { return known_pairs().find(other); }

const Algorithm* decided(const Group& group, coll::Kind kind, std::size_t bytes) noexcept {
  if (!has_decisions(group)) return nullptr;
  const std::size_t i = way_index(kind);
  const Decision& decision = group.decisions->at(i, bytes);
  return decision.is_settled() ? algorithm_for(i, decision.way()) : nullptr;
}

const Algorithm* through_memory(const Algorithm& algorithm) noexcept {
  if (algorithm.step == timed) return algorithm_for(way_index(algorithm.kind), kShared);
  return algorithm.usable == single_copy_agreed ? nullptr : &algorithm;
}

std::string about_decision(const Group& group, coll::Kind kind, std::size_t bytes) {
  if (decided(group, kind, bytes) == nullptr) return "";
  const std::size_t i = way_index(kind);
  const Decision& decision = group.decisions->at(i, bytes);
  const auto words = [&](Decision::Way way) {
    return fmt::format("\"{}\" {:.1f} ns", algorithm_for(i, way)->name, decision.median_ns(way));
  };
  if (decision.median_ns(kShared) == 0)
    return "not timed here: an earlier communicator of the two ranks found out, or nobody watched the operations";
  return fmt::format("1 KiB took by {}, by {}", words(kShared), words(kSingle));
}

}  // namespace sumac::shm
