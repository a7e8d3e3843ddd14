#include "team/comparison.hpp"

#include <algorithm>
#include <limits>

#include "reduce/reduce.hpp"
#include "shm/algorithms.hpp"
#include "shm/single/timed.hpp"
#include "shm/task.hpp"

namespace sumac::team {
namespace {

using Way = coll::Decision::Way;
constexpr Way kTeam = Way::first;
/// A program must not lose by our presence, so a small gain is enough to step aside.
constexpr float kMargin = 0.98F;

/// Shared memory may still be choosing between ways of its own: their times do not count yet.
bool is_undecided_itself(const shm::Group& group, const coll::Operation& operation) {
  const auto* algorithm = group.tuning().pick(operation.kind, operation.bytes);
  if (shm::through_memory(*algorithm) != nullptr && group.stores.is_open(operation.kind, operation.bytes)) return true;
  return algorithm->name == shm::kTimed && shm::decided(group, operation.kind, operation.bytes) == nullptr;
}

const coll::Fold& largest_double() {
  static const coll::Fold fold{.element_bytes = sizeof(double),
                               .kernel = reduce::kernel_for(Op::max, Dtype::float64),
                               .dtype = Dtype::float64,
                               .op = Op::max};
  return fold;
}

}  // namespace

bool Comparison::takes(shm::Group& group, const coll::Operation& operation) {
  on_trial_ = nullptr;
  if (comes_in_rows(operation.kind, operation.bytes) && last_ == Call::at(group, operation.kind)) return true;
  const bool is_ours = decide(group, operation);
  if (!is_ours) last_ = Call::at(group, operation.kind);
  return is_ours;
}

bool Comparison::decide(shm::Group& group, const coll::Operation& operation) {
  coll::Decision& decision = all_[index_of(operation.kind)][class_of(operation.bytes)];
  if (decision.is_settled() && decision.count()) return decision.way() == kTeam;
  if (is_undecided_itself(group, operation)) return true;
  if (!has_areas_) shm::touch_own_area(group);
  if (!learn(group, decision)) return true;  // The call itself finds that the group is broken.
  // Without this the first calls would have the time of page faults, and a second series of trials those of other pages.
  if (!has_areas_) shm::map_areas(group);
  has_areas_ = true;
  if (decision.is_settled()) return decision.way() == kTeam;
  // A call that fails leaves this time.
  decision.mine_ns = std::numeric_limits<double>::infinity();
  on_trial_ = &decision;
  bytes_ = operation.bytes;
  began_ = clock_();
  return decision.way() == kTeam;
}

void Comparison::done() noexcept {
  if (on_trial_ == nullptr) return;
  const double ns = static_cast<double>((clock_() - began_).count());
  on_trial_->mine_ns = std::max(1.0, ns) * 1024 / static_cast<double>(bytes_);
  on_trial_ = nullptr;
}

/// All members tell the time of the last trial; the slowest one's counts. All of them leave at about the same time, so
/// the trial measures the call and not a member's delay.
bool Comparison::learn(shm::Group& group, coll::Decision& decision) {
  double slowest = decision.mine_ns;
  const coll::Operation meeting{
      .kind = coll::Kind::allreduce, .out = &slowest, .bytes = sizeof slowest, .fold = &largest_double()};
  if (shm::run(group, meeting) != Errc::ok) return false;
  if (slowest > 0) decision.note(slowest, kMargin);
  decision.mine_ns = 0;
  return true;
}

}  // namespace sumac::team
