#include "coll/decision.hpp"

#include <algorithm>

namespace sumac::coll {

void Decision::note(double ns, float margin) noexcept {
  if (is_settled()) return;
  const int run = trials_ / kRun, call = trials_ % kRun;
  if (call > 0) {
    const int at = (run < 2 ? 0 : kRun - 1) + call - 1;
    times_[static_cast<std::size_t>(way_of(trials_))][static_cast<std::size_t>(at)] = static_cast<float>(ns);
  }
  if (++trials_ == kTrials) decide(margin);
}

void Decision::decide(float margin) noexcept {
  constexpr std::size_t kMedian = (kTimes - 1) / 2;  // The lower one: interruptions make times longer only.
  for (std::size_t way = 0; way < 2; ++way) {
    auto times = times_[way];
    std::nth_element(times.begin(), times.begin() + kMedian, times.end());
    medians_[way] = times[kMedian];
  }
  const auto now = static_cast<std::size_t>(better_);
  const bool was_wrong = medians_[1 - now] <= margin * medians_[now];
  if (was_wrong) better_ = static_cast<Way>(1 - now);
  left_ = look_ = was_wrong ? kFirstLook : std::min(look_, kLastLook);
  look_ = std::min(4 * look_, kLastLook);
}

void Decision::settle(Way way) noexcept {
  better_ = way;
  trials_ = kTrials;
  left_ = look_ = kFirstLook;
}

}  // namespace sumac::coll
