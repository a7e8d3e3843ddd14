#include "shm/trial.hpp"

#include <limits>

#include "base/clock.hpp"
#include "shm/rounds.hpp"

namespace sumac::shm {

namespace {

enum Phase : std::uint32_t { kStart, kTell, kMeet };
/// The index in Task::own of the one word that no other algorithm uses: when the trial began, in ns; 0: none is
/// under way.
constexpr std::size_t kBegan = 7;

/// In the place of a time: this member left its operation alone, so the trial says nothing.
constexpr double kLeftAlone = -1;

/// One member's contribution to a trial's first round.
struct Said {
  double last_ns;  ///< 0: there was no trial before.
  bool counts;
};

std::uint64_t now_ns() noexcept { return static_cast<std::uint64_t>(monotonic_now().time_since_epoch().count()); }

/// Called when every member has published the time of its last trial. Returns whether this operation counts.
bool note_all(const Task& task, coll::Decision& decision) noexcept {
  const Group& group = *task.group;
  double slowest = 0;
  bool is_timed = true, is_watched = true, counts = true;
  for (int m = 0; m < group.size(); ++m) {
    Said said;
    std::memcpy(&said, group.line(m, task.round).payload, sizeof said);
    is_timed = is_timed && said.last_ns > 0;
    is_watched = is_watched && said.last_ns >= 0;
    slowest = std::max(slowest, said.last_ns);
    counts = counts && said.counts;
  }
  if (is_timed) decision.note(slowest);
  if (!is_watched) decision.skip();
  return counts;
}

}  // namespace

bool is_on_trial(const Task& task) noexcept { return task.own[kBegan] != 0; }

Trial meet(Task& task, coll::Decision& decision, bool counts) noexcept {
  Group& group = *task.group;
  if (task.phase == kStart) {
    begin_round(task);
    task.phase = kTell;
  }
  if (task.phase == kTell) {
    if (!group.room(task.round, kLineRing)) return Trial::meeting;
    const Said mine{decision.mine_ns, counts};
    Line& line = group.line(group.index(), task.round);
    std::memcpy(line.payload, &mine, sizeof mine);
    publish(line, task.round, sizeof mine);
    task.phase = kMeet;
  }
  if (!all_arrived(task, sizeof(Said))) return Trial::meeting;
  const bool all_count = note_all(task, decision);
  decision.mine_ns = 0;
  group.complete(task.round);
  start_over(task);
  if (decision.is_settled()) return Trial::decided;
  if (!all_count) return Trial::untimed;
  decision.mine_ns = std::numeric_limits<double>::infinity();
  task.own[kBegan] = task.looked_ns = now_ns();
  task.away_ns = 0;
  return Trial::begun;
}

Step try_out(Task& task, const Algorithm& algorithm, coll::Decision& decision) {
  const std::uint64_t began = task.own[kBegan];
  const Algorithm* const self = task.algorithm;
  const bool is_driven = task.polls == 1;
  if (is_driven) task.away_ns = std::max(task.away_ns, now_ns() - task.looked_ns);
  const Step step = algorithm.step(task);
  if (is_driven) task.looked_ns = now_ns();
  // If the algorithm found memory that is not open, it has switched to the other one: then the time stays infinite.
  if (step != Step::done || task.algorithm != self) return step;
  const std::uint64_t took = std::max<std::uint64_t>(1, now_ns() - began);
  decision.mine_ns =
      is_driven && !was_watched(took, task.away_ns)
          ? kLeftAlone
          : static_cast<double>(took) * 1024 / static_cast<double>(std::max<std::size_t>(task.operation->bytes, 1));
  return step;
}

}  // namespace sumac::shm
