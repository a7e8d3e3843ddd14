#include "shm/operation.hpp"

#include "shm/rounds.hpp"

namespace sumac::shm {

namespace {

/// advance() asks whether everybody lives once in so many fruitless steps.
constexpr std::uint32_t kIdleStepsPerLook = 256;

void prepare_for(Group& group, const Call& call, Operation& op, std::uint32_t polls) noexcept {
  op.group = &group;
  op.call = &call;
  op.algorithm = group.tuning().pick(call.coll, selection_bytes(call, group.size()));
  op.polls = polls;
  op.idle = 0;
  op.has_moved = false;
  op.is_elsewhere = false;
  start_over(op);
}

}  // namespace

void prepare(Group& group, const Call& call, Operation& op) noexcept { prepare_for(group, call, op, 1); }

Step advance(Operation& op) noexcept {
  if (op.phase == kPhaseDone) return Step::done;
  if (op.group->broken() != Errc::ok) [[unlikely]]
    return Step::failed;
  op.has_moved = false;
  const Step step = op.algorithm->step(op);
  if (step != Step::waiting || op.has_moved) return step;
  if (++op.idle % kIdleStepsPerLook == 0 && op.group->look_for_dead_now_and_then() != Errc::ok) return Step::failed;
  return Step::waiting;
}

namespace {

/// Calls in which everybody waits for everybody: afterwards all that members have said of themselves is new.
constexpr bool meets_all(Coll coll) noexcept { return coll != Coll::bcast && coll != Coll::reduce; }

/// For a rank among too many: true if its core is of no use to anybody else just now, and it has looked on a little.
bool looked_on(const Operation& op, std::uint32_t& looks) noexcept {
  if (!op.is_elsewhere || ++looks % kLooksElsewhere == 0) return false;
  cpu_relax();
  return true;
}

[[gnu::noinline]] Errc wait_out(Operation& op) noexcept {
  Group& group = *op.group;
  op.polls = group.waiting().crowded() ? kPollsCrowded : kPollsAlone;
  Patience patience(group.waiting());
  for (std::uint32_t looks = 0;;) {
    bool look = false;
    if (!looked_on(op, looks)) {
      if (group.waiting().crowded()) group.crowd().note_here();
      look = patience.pause();
    }
    // Progress may have called back into this very operation, or found out that the group is broken.
    if (op.phase == kPhaseDone) return Errc::ok;
    if (group.broken() != Errc::ok) return group.broken();
    op.is_elsewhere = false;
    const Step step = op.algorithm->step(op);
    if (step == Step::done) {
      if (meets_all(op.call->coll)) group.crowd().spread_now_and_then();
      return Errc::ok;
    }
    if (step == Step::failed) return group.broken();
    if (look && group.look_for_dead() != Errc::ok) {
      // It may have come this far before it died: what is complete is complete.
      return op.algorithm->step(op) == Step::done ? Errc::ok : group.broken();
    }
  }
}

}  // namespace

Errc wait(Operation& op) noexcept {
  if (op.phase == kPhaseDone) return Errc::ok;
  if (op.group->broken() != Errc::ok) [[unlikely]]
    return op.group->broken();
  op.polls = op.group->polls();
  if (op.algorithm->step(op) == Step::done) [[likely]]
    return Errc::ok;
  return wait_out(op);
}

Errc run(Group& group, const Call& call) noexcept {
  if (group.broken() != Errc::ok) [[unlikely]]
    return group.broken();
  Operation op;
  prepare_for(group, call, op, group.polls());
  if (op.algorithm->step(op) == Step::done) [[likely]]
    return Errc::ok;
  return wait_out(op);
}

}  // namespace sumac::shm
