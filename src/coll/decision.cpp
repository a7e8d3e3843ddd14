#include "coll/decision.hpp"

#include <algorithm>

namespace sumac::coll {

void Decision::note(double ns, float margin) noexcept {
  if (is_settled()) return;
  skips_ = 0;
  const int run = trials_ / kRun, call = trials_ % kRun;
  if (call > 0) {
    const int at = (run < 2 ? 0 : kRun - 1) + call - 1;
    times_[static_cast<std::size_t>(way_of(trials_))][static_cast<std::size_t>(at)] = static_cast<float>(ns);
  }
  ++trials_;
  if (trials_ == kTrials)
    decide(kTimes, margin);
  else if (trials_ == kTrials / 2 && is_clear())
    decide(kTimes / 2, margin);
}

void Decision::skip() noexcept {
  if (is_settled() || ++skips_ < kSkipsMost) return;
  skips_ = 0;
  settle(better_);
}

bool Decision::is_clear() const noexcept {
  const auto of_way = [&](std::size_t way) {
    return std::minmax_element(times_[way].begin(), times_[way].begin() + kTimes / 2);
  };
  const auto first = of_way(0), second = of_way(1);
  return *first.first > kClear * *second.second || *second.first > kClear * *first.second;
}

void Decision::decide(int count, float margin) noexcept {
  trials_ = kTrials;
  const int median = (count - 1) / 2;  // The lower one: interruptions make times longer only.
  for (std::size_t way = 0; way < 2; ++way) {
    auto times = times_[way];
    std::nth_element(times.begin(), times.begin() + median, times.begin() + count);
    medians_[way] = times[static_cast<std::size_t>(median)];
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
