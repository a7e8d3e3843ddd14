// A team's messages: which way each takes, their limits, and what people read of those that wait.
#include <fmt/format.h>

#include <algorithm>

#include "bindings/python/core/team.hpp"
#include "bindings/python/core/worker.hpp"
#include "rank/words.hpp"

namespace sumac::python {
namespace {

std::shared_ptr<p2p::Message> refused(std::function<void(const Error*)> then, Error why) {
  auto message = std::make_shared<p2p::Message>();
  message->then = std::move(then);
  message->end(std::move(why));
  return message;
}

}  // namespace

/// True if nothing moves but a message with another host: then its arrival ends a sleep.
bool Team::only_waits_for(const Ticket& ticket) const {
  const auto* message = dynamic_cast<const p2p::Message*>(&ticket);
  if (!between_ || message == nullptr || queued_.load(std::memory_order_relaxed) > 0) return false;
  return message->asked == p2p::Message::kAnyone ? members_.here.size() == 1 : !members_.is_here(message->asked);
}

/// `message` is posted. It has this limit.
std::shared_ptr<p2p::Message> Team::move_message(std::shared_ptr<p2p::Message> message, Duration limit) {
  progress();
  if (message->is_done()) return message;
  {
    const std::lock_guard guard(queue_lock_);
    messages_.push_back({message, monotonic_now(), limit, false});
  }
  Worker::own().move(shared_from_this());
  return message;
}

/// A team of one has nobody to send to, and itself neither.
bool Team::is_peer(int other, int least) const { return other >= least && other < size() && size() > 1; }

std::shared_ptr<p2p::Message> Team::send(int to, std::uint32_t tag, const void* data, std::size_t bytes, Duration limit,
                                         std::function<void(const Error*)> then) {
  auto usable = check_usable();
  if (usable && !is_peer(to, 0))
    usable = fail(Errc::invalid, "rank {}: send: there is no rank {} to send to", rank(), to);
  if (!usable) return refused(std::move(then), usable.error());
  return move_message(peers_.send(to, tag, data, bytes, std::move(then)), limit);
}

std::shared_ptr<p2p::Message> Team::receive(int from, std::uint32_t tag, void* data, std::size_t bytes, Duration limit,
                                            std::function<void(const Error*)> then) {
  auto usable = check_usable();
  if (usable && !is_peer(from, p2p::Message::kAnyone))
    usable = fail(Errc::invalid, "rank {}: recv: there is no rank {} to receive from", rank(), from);
  if (!usable) return refused(std::move(then), usable.error());
  return move_message(peers_.receive(from, tag, data, bytes, std::move(then)), limit);
}

void Team::withdraw(const std::shared_ptr<p2p::Message>& message) {
  peers_.withdraw(message, Error{Errc::interrupted, "the message was withdrawn"});
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
      else if (members_.is_here(peer)) {
        if (sumac_team_is_dead(team_, peer))
          over.emplace_back(one.message,
                            Error{Errc::lost, fmt::format("rank {}: {} (process {}) died", rank(), other,
                                                          members_.all[static_cast<std::size_t>(peer)].process.pid)});
      }
    }
  }
  for (auto& [message, why] : over) peers_.withdraw(message, std::move(why));
}

}  // namespace sumac::python
