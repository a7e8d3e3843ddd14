#include "shm/stores.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "shm/rounds.hpp"
#include "shm/single/timed.hpp"
#include "shm/trial.hpp"

namespace sumac::shm {

using coll::Decision;

// All members make the same calls in the same order, and know the same times: so they come to the same answers here.
bool Stores::tries_next(coll::Kind kind, std::size_t bytes) noexcept {
  if (decision_.is_settled() && decision_.count()) [[likely]]
    return false;
  const bool goes_on = is_trying_ && is_alike(kind, bytes);
  if (!goes_on && is_trying_ && ++others_ <= kPatience) return false;
  if (!goes_on) {
    decision_.begin_again();
    decision_.mine_ns = 0;
    is_trying_ = true;
    kind_ = kind, size_class_ = static_cast<std::size_t>(std::bit_width(bytes));
  }
  others_ = 0;
  return true;
}

void Stores::settle() noexcept {
  if (!decision_.is_settled()) decision_.settle(decision_.better());
  is_trying_ = false;
  now_ = better();
}

std::uint64_t Stores::begin_alone() noexcept {
  if (alone_.is_settled()) static_cast<void>(alone_.count());
  now_ = alone_.way();
  written_ = 0;
  return alone_.is_settled() ? 0 : static_cast<std::uint64_t>(monotonic_now().time_since_epoch().count());
}

void Stores::end_alone(std::uint64_t began) noexcept {
  now_ = better();
  if (began == 0 || written_ < kAloneLeast) return;
  const auto ns = static_cast<std::uint64_t>(monotonic_now().time_since_epoch().count()) - began;
  // Whichever way is taken now, going past the caches must take half of the time.
  alone_.note(std::max(1.0, static_cast<double>(ns)) * 1024 / static_cast<double>(written_),
              alone_.better() == kPast ? 1 / kAloneMargin : kAloneMargin);
  now_ = better();
}

namespace {

Step hand_over(Task& task, const Algorithm& algorithm) {
  task.algorithm = &algorithm;
  return algorithm.step(task);
}

}  // namespace

Step choose_stores(Task& task) {
  Group& group = *task.group;
  Stores& stores = group.stores;
  const coll::Operation& operation = *task.operation;
  const Algorithm& picked = *group.tuning().pick(operation.kind, operation.bytes);
  const Algorithm* const tried = through_memory(picked);
  const auto try_it = [&] {
    const Step step = try_out(task, *tried, stores.decision_);
    if (step == Step::done) {
      stores.is_on_trial_ = false;
      stores.now_ = stores.better();
    }
    return step;
  };
  if (is_on_trial(task)) return try_it();
  if (task.phase == 0 && (tried == nullptr || !stores.tries_next(operation.kind, operation.bytes)))
    return hand_over(task, picked);
  const auto before = stores.decision_.better();
  switch (meet(task, stores.decision_, true)) {
    case Trial::meeting: return Step::waiting;
    case Trial::begun:
      stores.is_on_trial_ = true;
      stores.now_ = stores.decision_.way();
      return try_it();
    case Trial::untimed:
    case Trial::decided: break;
  }
  stores.settle();
  // Another way may be faster than single copy, or slower: that is decided again.
  if (stores.decision_.better() != before && group.decisions != nullptr) group.decisions->look_again();
  return hand_over(task, picked);
}

std::string about_stores(const Group& group) {
  const Decision& decision = group.stores.decision();
  const std::string_view way = group.stores.go_past() ? "past the caches" : "through the caches";
  if (!kCanCopyPastCaches) return fmt::format("{}: there is no other way here", way);
  if (!group.stores.is_allowed()) return fmt::format("{}: the ranks share processors", way);
  const Decision& alone = group.stores.alone();
  if (decision.median_ns(Stores::kPast) == 0 && alone.median_ns(Stores::kPast) != 0)
    return fmt::format("{}: writing 1 KiB took this rank {:.1f} ns through them and {:.1f} ns past them", way,
                       alone.median_ns(Stores::kThrough), alone.median_ns(Stores::kPast));
  if (decision.median_ns(Stores::kPast) == 0)
    return fmt::format("{} at first: some calls of {} B and more go past them too, and the times decide", way,
                       Stores::kLeastBytes);
  return fmt::format("{}: 1 KiB took {:.1f} ns through them and {:.1f} ns past them", way,
                     decision.median_ns(Stores::kThrough), decision.median_ns(Stores::kPast));
}

}  // namespace sumac::shm
