// A team's messages: which way each takes, their limits, and what people read of those that wait.
#include <fmt/format.h>

#include <algorithm>

#include "bindings/python/core/team.hpp"
#include "bindings/python/core/worker.hpp"
#include "rank/words.hpp"

namespace sumac::python {

std::shared_ptr<p2p::Message> Team::refused_message(const std::shared_ptr<p2p::Message>& message, Error why) {
  message->end(std::move(why));
  return message;
}

/// True if nothing moves but a message with another host: then its arrival ends a sleep.
bool Team::only_waits_for(const Ticket& ticket) const {
  const auto* message = dynamic_cast<const p2p::Message*>(&ticket);
  if (!between_ || message == nullptr || queued_.load(std::memory_order_relaxed) > 0) return false;
  return message->asked == p2p::Message::kAnyone ? members_.here.size() == 1 : !is_here(message->asked);
}

std::shared_ptr<p2p::Message> Team::post_message(std::shared_ptr<p2p::Message> message, Duration limit) {
  ways().post(message);
  progress();
  if (message->is_done()) return message;
  {
    const std::lock_guard guard(queue_lock_);
    messages_.push_back({message, monotonic_now(), limit, false});
  }
  Worker::own().move(shared_from_this());
  return message;
}

std::shared_ptr<p2p::Message> Team::send(int to, std::uint32_t tag, const void* data, std::size_t bytes, Duration limit,
                                         std::function<void(const Error*)> then) {
  auto message = p2p::message_to(to, tag, data, bytes, std::move(then));
  if (auto usable = check_usable(); !usable) return refused_message(message, usable.error());
  if (to < 0 || to >= size() || !here_messages_)
    return refused_message(message,
                           {Errc::invalid, fmt::format("rank {}: send: there is no rank {} to send to", rank(), to)});
  return post_message(std::move(message), limit);
}

std::shared_ptr<p2p::Message> Team::receive(int from, std::uint32_t tag, void* data, std::size_t bytes, Duration limit,
                                            std::function<void(const Error*)> then) {
  auto message = p2p::message_from(from, tag, data, bytes, std::move(then));
  if (auto usable = check_usable(); !usable) return refused_message(message, usable.error());
  if (from < p2p::Message::kAnyone || from >= size() || !here_messages_)
    return refused_message(
        message, {Errc::invalid, fmt::format("rank {}: recv: there is no rank {} to receive from", rank(), from)});
  return post_message(std::move(message), limit);
}

void Team::withdraw(const std::shared_ptr<p2p::Message>& message) {
  if (here_messages_ && ways().take_out(message))
    matcher_.conclude(message, Error{Errc::interrupted, "the message was withdrawn"});
}

/// Looks about once a millisecond at the messages that wait: their limits, and whether their ranks are alive.
void Team::look_at_messages(Time now) {
  const std::int64_t count = now.time_since_epoch().count();
  std::int64_t last = messages_looked_.load(std::memory_order_relaxed);
  if (count - last < kLookEvery.count() || !messages_looked_.compare_exchange_strong(last, count)) return;
  std::vector<std::pair<std::shared_ptr<p2p::Message>, Error>> over;
  {
    const std::lock_guard guard(queue_lock_);
    std::erase_if(messages_, [](const auto& one) { return one.message->is_done(); });
    for (auto& one : messages_) {
      const Duration waited = now - one.began;
      const int peer = one.message->asked;
      const std::string other = peer == p2p::Message::kAnyone ? "any rank" : members_.name(peer);
      if (waited > one.limit)
        over.emplace_back(one.message, Error{Errc::timeout, fmt::format("rank {}: timed out after {}: message with {}",
                                                                        rank(), milliseconds(one.limit), other)});
      else if (waited >= settings_.slow_after && !std::exchange(one.has_said, true))
        say(fmt::format("{} has waited {} s for a message with {}", members_.name(rank()),
                        std::chrono::duration_cast<Seconds>(waited).count(), other));
      else if (is_here(peer)) {
        if (sumac_team_is_dead(team_, peer))
          over.emplace_back(one.message,
                            Error{Errc::lost, fmt::format("rank {}: {} (process {}) died", rank(), other,
                                                          members_.all[static_cast<std::size_t>(peer)].process.pid)});
      }
    }
  }
  for (auto& [message, why] : over)
    if (ways().take_out(message)) matcher_.conclude(message, std::move(why));
}

}  // namespace sumac::python
