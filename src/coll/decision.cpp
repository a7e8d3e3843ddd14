#include "coll/decision.hpp"

#include <algorithm>

namespace sumac::coll {

void Decision::note(double ns, float margin) noexcept {
  if (is_settled()) return;
  const auto of_way = static_cast<std::size_t>(way_of(trials_));
  // Each way comes once in the first two trials, and once in every two that follow.
  if (trials_ >= 2) times_[of_way][static_cast<std::size_t>(trials_ / 2 - 1)] = static_cast<float>(ns);
  if (++trials_ == kTrials) decide(margin);
}

void Decision::decide(float margin) noexcept {
  for (std::size_t way = 0; way < 2; ++way) {
    auto times = times_[way];
    std::nth_element(times.begin(), times.begin() + kTimes / 2, times.end());
    medians_[way] = times[kTimes / 2];
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
