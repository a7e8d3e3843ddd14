// A team's messages: which way each takes, their limits, and what people read of those that wait.
#include <fmt/format.h>

#include <algorithm>

#include "bindings/python/core/life.hpp"
#include "bindings/python/core/limits.hpp"
#include "bindings/python/core/team.hpp"
#include "bindings/python/core/worker.hpp"

namespace sumac::python {

std::shared_ptr<Letter> Team::refused_letter(const std::shared_ptr<Letter>& letter, Error why) {
  letter->end(std::move(why));
  return letter;
}

/// True if nothing moves but a letter with another host: then its arrival ends a sleep.
bool Team::only_waits_for(const Ticket& ticket) const {
  const auto* letter = dynamic_cast<const Letter*>(&ticket);
  if (!between_ || letter == nullptr || queued_.load(std::memory_order_relaxed) > 0) return false;
  return letter->asked == Letter::kAnyone ? members_.here.size() == 1 : !is_here(letter->asked);
}

std::shared_ptr<Letter> Team::post_letter(std::shared_ptr<Letter> letter, Duration limit) {
  letter->peer = letter->asked;
  inbox_.begin();
  if (letter->sends) {
    is_here(letter->asked) ? mail_->send(letter) : between_->send(letter);
  } else if (const auto kept = inbox_.post(letter); !kept) {
    if (between_) between_->check(letter);
  } else if (kept->offer) {
    between_->fetch(letter, *kept);
  } else {
    if (!is_here(letter->peer)) between_->release(letter->peer);
    inbox_.conclude(letter, give(*letter, kept->bytes));
  }
  progress();
  if (letter->is_done()) return letter;
  {
    const std::lock_guard guard(queue_lock_);
    letters_.push_back({letter, monotonic_now(), limit, false});
  }
  Worker::own().move(shared_from_this());
  return letter;
}

std::shared_ptr<Letter> Team::send(int to, std::uint32_t tag, const void* data, std::size_t bytes, Duration limit,
                                   std::function<void(const Error*)> then) {
  auto letter = std::make_shared<Letter>();
  letter->then = std::move(then);
  if (auto usable = check_usable(); !usable) return refused_letter(letter, usable.error());
  if (to < 0 || to >= size() || !mail_)
    return refused_letter(letter,
                          {Errc::invalid, fmt::format("rank {}: send: there is no rank {} to send to", rank(), to)});
  letter->asked = to;
  letter->tag = tag;
  letter->data = static_cast<std::byte*>(const_cast<void*>(data));  // A letter that is sent is only read.
  letter->bytes = bytes;
  letter->sends = true;
  return post_letter(std::move(letter), limit);
}

std::shared_ptr<Letter> Team::receive(int from, std::uint32_t tag, void* data, std::size_t bytes, Duration limit,
                                      std::function<void(const Error*)> then) {
  auto letter = std::make_shared<Letter>();
  letter->then = std::move(then);
  if (auto usable = check_usable(); !usable) return refused_letter(letter, usable.error());
  if (from < Letter::kAnyone || from >= size() || !mail_)
    return refused_letter(
        letter, {Errc::invalid, fmt::format("rank {}: recv: there is no rank {} to receive from", rank(), from)});
  letter->asked = from;
  letter->tag = tag;
  letter->data = static_cast<std::byte*>(data);
  letter->bytes = bytes;
  return post_letter(std::move(letter), limit);
}

/// A receive leaves the inbox only for the mail or for letters_between, so this order misses none.
bool Team::take_out(const std::shared_ptr<Letter>& letter) {
  return inbox_.withdraw(letter) || mail_->withdraw(letter) || (between_ && between_->withdraw(letter));
}

void Team::withdraw(const std::shared_ptr<Letter>& letter) {
  if (mail_ && take_out(letter)) inbox_.conclude(letter, Error{Errc::interrupted, "the message was withdrawn"});
}

/// Looks about once a millisecond at the letters that wait: their limits, and whether their ranks are alive.
void Team::look_at_letters(Time now) {
  const std::int64_t count = now.time_since_epoch().count();
  std::int64_t last = letters_looked_.load(std::memory_order_relaxed);
  if (count - last < kLookEvery.count() || !letters_looked_.compare_exchange_strong(last, count)) return;
  std::vector<std::pair<std::shared_ptr<Letter>, Error>> over;
  {
    const std::lock_guard guard(queue_lock_);
    std::erase_if(letters_, [](const auto& one) { return one.letter->is_done(); });
    for (auto& one : letters_) {
      const Duration waited = now - one.began;
      const int peer = one.letter->asked;
      const std::string other = peer == Letter::kAnyone ? "any rank" : members_.name(peer);
      if (waited > one.limit)
        over.emplace_back(one.letter, Error{Errc::timeout, fmt::format("rank {}: timed out after {}: message with {}",
                                                                       rank(), milliseconds(one.limit), other)});
      else if (waited >= settings_.slow_after && !std::exchange(one.has_said, true))
        say(fmt::format("{} has waited {} s for a message with {}", members_.name(rank()),
                        std::chrono::duration_cast<Seconds>(waited).count(), other));
      else if (is_here(peer)) {
        const Member& member = members_.all[static_cast<std::size_t>(peer)];
        if (has_ended(member.pid))
          over.emplace_back(one.letter,
                            Error{Errc::lost, fmt::format("rank {}: {} (process {}) died", rank(), other, member.pid)});
      }
    }
  }
  for (auto& [letter, why] : over)
    if (take_out(letter)) inbox_.conclude(letter, std::move(why));
}

}  // namespace sumac::python
