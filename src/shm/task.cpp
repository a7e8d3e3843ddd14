#include "shm/task.hpp"

#include "shm/rounds.hpp"
#include "shm/stores.hpp"

namespace sumac::shm {

namespace {

/// advance() checks for dead members once in so many steps without progress.
constexpr std::uint32_t kIdleStepsPerLook = 256;

/// Stands in front of the operation's algorithm. It asks at the operation's first step, since all members take those in
/// the same order, and not here: they may prepare an operation before or after an older one has decided something.
constexpr Algorithm kChooseStores{coll::Kind::barrier, "", "", choose_stores};

void prepare_for(Group& group, const coll::Operation& operation, Task& task, std::uint32_t polls) noexcept {
  task.group = &group;
  task.operation = &operation;
  const std::size_t bytes = selection_bytes(operation, group.size());
  task.algorithm = bytes >= Stores::kLeastBytes && group.stores.tries(operation.kind)
                       ? &kChooseStores
                       : group.tuning().pick(operation.kind, bytes);
  task.polls = polls;
  task.idle = 0;
  task.has_moved = false;
  task.is_elsewhere = false;
  start_over(task);
}

/// The group is broken. The dead member may have contributed everything before it died, or another one may have ended this
/// operation before it found the failure of the next one, and then the operation still completes.
Step last_step(Task& task) noexcept { return task.algorithm->step(task) == Step::done ? Step::done : Step::failed; }

}  // namespace

void prepare(Group& group, const coll::Operation& operation, Task& task) noexcept {
  prepare_for(group, operation, task, 1);
}

Step advance(Task& task, WhenBroken when_broken) noexcept {
  if (task.phase == kPhaseDone) return Step::done;
  if (task.group->broken() != Errc::ok) [[unlikely]]
    return when_broken == WhenBroken::takes_results ? last_step(task) : Step::failed;
  task.has_moved = false;
  const Step step = task.algorithm->step(task);
  if (step != Step::waiting || task.has_moved) return step;
  if (++task.idle % kIdleStepsPerLook != 0 || task.group->look_for_dead_now_and_then() == Errc::ok)
    return Step::waiting;
  return last_step(task);
}

namespace {

/// For a rank that yields: returns true if no other rank could use its core now and it has polled again.
bool looked_on(const Task& task, std::uint32_t& looks) noexcept {
  if (!task.is_elsewhere || ++looks % waits::kLooksElsewhere == 0) return false;
  cpu_relax();
  return true;
}

[[gnu::noinline]] Errc wait_out(Task& task) noexcept {
  Group& group = *task.group;
  task.polls = group.polls();
  RankWait waiting(group.waiting());
  for (std::uint32_t looks = 0;;) {
    bool look = false;
    if (!looked_on(task, looks)) {
      if (waiting.yields_first()) group.crowd().note_here();
      look = waiting.pause();
    }
    // The progress callback may have completed this very operation, or found that the group is broken.
    if (task.phase == kPhaseDone) return Errc::ok;
    if (group.broken() != Errc::ok) return last_step(task) == Step::done ? Errc::ok : group.broken();
    task.is_elsewhere = task.has_moved = false;
    const Step step = task.algorithm->step(task);
    if (task.has_moved) waiting.moved();
    if (step == Step::done) {
      if (coll::collective(task.operation->kind).waits_for_all) group.crowd().spread_now_and_then();
      return Errc::ok;
    }
    if (step == Step::failed) return group.broken();
    if (look && group.look_for_dead() != Errc::ok) return last_step(task) == Step::done ? Errc::ok : group.broken();
  }
}

}  // namespace

Errc wait(Task& task) noexcept {
  if (task.phase == kPhaseDone) return Errc::ok;
  if (task.group->broken() != Errc::ok) [[unlikely]]
    return task.group->broken();
  task.polls = task.group->polls();
  if (task.algorithm->step(task) == Step::done) [[likely]]
    return Errc::ok;
  return wait_out(task);
}

Errc run(Group& group, const coll::Operation& operation) noexcept {
  if (group.broken() != Errc::ok) [[unlikely]]
    return group.broken();
  Task task;
  prepare_for(group, operation, task, group.polls());
  if (task.algorithm->step(task) == Step::done) [[likely]]
    return Errc::ok;
  return wait_out(task);
}

}  // namespace sumac::shm
