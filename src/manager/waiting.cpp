#include "manager/waiting.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sumac::manager {

HeldBegin fresh(StreamId stream, const JobBegin& begin, Time now, const Rules& rules) {
  const auto patience = std::max<Duration>(rules.grant_timeout, Seconds(begin.queue_seconds));
  return {stream, begin, deadline_after(now, patience), now};
}

std::string Waiting::hold(Step& step, const HeldBegin& held, const Error& why, const std::string& leaving) {
  const auto& begin = held.begin;
  const bool queues = begin.queue_seconds != 0;
  if (why.code != Errc::exhausted || (leaving.empty() && !queues)) return why.context;
  if (queues && of_user(begin.uid) >= kOfUserMax)
    return fmt::format("{} jobs of user {} wait already: begin fewer at once", kOfUserMax, begin.uid);
  if (step.now >= held.until)
    return why.context + leaving +
           (queues ? fmt::format("; it has waited {} s for its turn", begin.queue_seconds) : std::string());
  if (queues && held.since == step.now)
    step.say(LogLevel::info, "JOBS",
             fmt::format("job_id_external: {} waits up to {} s for its turn: {}", begin.job_id, begin.queue_seconds,
                         why.context),
             fmt::format("waits {}", begin.uid));
  add(held);
  return {};
}

void Waiting::add(HeldBegin held) {
  if (held.begin.queue_seconds != 0) ++of_user_[held.begin.uid];
  held_.push_back(std::move(held));
}

void Waiting::stream_ended(StreamId stream) {
  for (auto& held : take())
    if (held.stream != stream) add(std::move(held));
}

void Waiting::job_ended(StreamId stream, std::uint64_t ticket) {
  for (auto& held : take())
    if (held.stream != stream || held.begin.ticket != ticket) add(std::move(held));
}

void Waiting::granted(std::uint32_t uid) { served_[uid] = ++grants_; }

std::size_t Waiting::of_user(std::uint32_t uid) const {
  const auto found = of_user_.find(uid);
  return found == of_user_.end() ? 0 : found->second;
}

std::vector<HeldBegin> Waiting::take() {
  of_user_.clear();
  if (held_.empty()) served_.clear();  // Among users who do not wait for each other nobody is next.
  auto all = std::exchange(held_, {});
  std::map<std::uint32_t, std::size_t> seen;
  std::vector<std::tuple<std::size_t, std::uint64_t, std::size_t>> order;  // Round, last grant, place in `all`.
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto uid = all[i].begin.uid;
    const auto served = served_.find(uid);
    order.emplace_back(seen[uid]++, served == served_.end() ? 0 : served->second, i);
  }
  std::ranges::sort(order);
  std::vector<HeldBegin> sorted;
  sorted.reserve(all.size());
  for (const auto& [round, last, i] : order) sorted.push_back(std::move(all[i]));
  return sorted;
}

}  // namespace sumac::manager
