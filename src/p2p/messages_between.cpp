#include "p2p/messages_between.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace sumac::p2p {
namespace {

/// Numbers of operations travel with 32 bits.
bool is_at_least(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) >= 0; }

}  // namespace

MessagesBetween::MessagesBetween(const Ranks& ranks, Matcher& matcher, MessagesHere& here,
                                 const std::atomic<std::uint64_t>& numbers)
    : ranks_(ranks),
      matcher_(matcher),
      here_(here),
      numbers_(numbers),
      begun_(static_cast<std::size_t>(ranks.size())),
      has_left_(static_cast<std::size_t>(ranks.size())),
      asks_(static_cast<std::size_t>(ranks.size())) {}

Error MessagesBetween::gone(int peer) const {
  return {Errc::lost, fmt::format("rank {}: {} has left the process group", ranks_.rank, ranks_.name(peer))};
}

Error MessagesBetween::cut_off() const {
  return {failure_->code, fmt::format("rank {}: {}", ranks_.rank, failure_->context)};
}

// ---- the team's side

void MessagesBetween::send(const std::shared_ptr<Message>& message) {
  {
    const std::lock_guard guard(groups_->lock());
    under_way_.emplace(message.get(), message);
    const bool is_posted = messages().post(static_cast<std::uint32_t>(message->peer), message->tag,
                                           {message->data, message->bytes}, message.get());
    if (!is_posted) {
      under_way_.erase(message.get());
      ended_.emplace_back(message, failure_ ? cut_off() : gone(message->peer));
    }
  }
  conclude();
}

void MessagesBetween::fetch(const std::shared_ptr<Message>& message, const Matcher::Kept& offer) {
  {
    const std::lock_guard guard(groups_->lock());
    const auto peer = static_cast<std::uint32_t>(message->peer);
    if (message->bytes != offer.size) {
      messages().drop(peer, *offer.offer);
      ended_.emplace_back(message, wrong_size(*message, offer.size));
    } else if (messages().take(peer, *offer.offer, message->data, message.get())) {
      under_way_.emplace(message.get(), message);
    } else {
      ended_.emplace_back(message, failure_ ? cut_off() : gone(message->peer));
    }
  }
  conclude();
}

void MessagesBetween::release(int from) {
  const std::lock_guard guard(groups_->lock());
  messages().release(static_cast<std::uint32_t>(from));
}

/// The receive waits in the matcher before it looks here, and those that leave are noted here before the matcher is cleared
/// of receives: so none is forgotten.
void MessagesBetween::check(const std::shared_ptr<Message>& message) {
  const int peer = message->asked;
  const bool is_gone = peer != Message::kAnyone && has_left_[static_cast<std::size_t>(peer)].load();
  const bool is_cut_off = has_failed_.load() && (peer == Message::kAnyone || !ranks_.is_here(peer));
  if (is_gone && ranks_.is_here(peer)) {
    const std::lock_guard guard(groups_->lock());
    here_.drain(peer, ended_);
  }
  if ((!is_gone && !is_cut_off) || !matcher_.withdraw(message)) return;
  const std::unique_lock guard(groups_->lock());
  ended_.emplace_back(message, is_gone ? gone(peer) : cut_off());
}

bool MessagesBetween::step() {
  const std::unique_lock guard(groups_->lock(), std::try_to_lock);
  if (!guard) return false;  // Another thread moves it.
  const bool has_moved = groups_->everyone().move() > 0;
  for (int peer = 0; peer < ranks_.size(); ++peer)
    // Behind the messages that fill its window may come the one that somebody waits for.
    if (messages().is_stuck(static_cast<std::uint32_t>(peer)) && matcher_.is_wanted(peer))
      messages().extend(static_cast<std::uint32_t>(peer));
  if (has_asks_) answer_asks();
  return has_moved || !ended_.empty();
}

void MessagesBetween::conclude() {
  Matcher::Ended ended;
  {
    const std::unique_lock guard(groups_->lock(), std::try_to_lock);
    if (!guard) return;  // The next one does it.
    ended.swap(ended_);
  }
  matcher_.conclude(ended);
}

bool MessagesBetween::await_message(Duration at_most) {
  const std::unique_lock guard(groups_->lock(), std::try_to_lock);
  if (!guard || !ended_.empty()) return false;
  const auto us = std::chrono::duration_cast<Micros>(at_most).count();
  return groups_->everyone().await_message(static_cast<int>(us)) != coll::Across::Sleep::impossible;
}

bool MessagesBetween::withdraw(const std::shared_ptr<Message>& message) {
  const std::lock_guard guard(groups_->lock());
  if (under_way_.erase(message.get()) == 0) return false;
  (void)messages().withdraw(message.get());  // After a failure it has none.
  return true;
}

void MessagesBetween::close(const Error& why) {
  if (groups_ == nullptr) return;  // The team was not made.
  Matcher::Ended ended;
  {
    const std::lock_guard guard(groups_->lock());
    messages().close();
    ended.swap(ended_);
    for (auto& [cookie, message] : under_way_) ended.emplace_back(message, why);
    under_way_.clear();
  }
  matcher_.conclude(ended);
}

// ---- operations

void MessagesBetween::ask(std::uint64_t number) {
  const std::lock_guard guard(groups_->lock());
  for (int peer = 0; peer < ranks_.size(); ++peer)
    if (!ranks_.is_here(peer))
      messages().note(static_cast<std::uint32_t>(peer), kAsks, static_cast<std::uint32_t>(number));
}

bool MessagesBetween::has_come(int rank, std::uint64_t number) const noexcept {
  // Relaxed: the number stands for itself.
  return is_at_least(begun_[static_cast<std::size_t>(rank)].load(std::memory_order_relaxed),
                     static_cast<std::uint32_t>(number));
}

void MessagesBetween::answer_asks() {
  const auto own = static_cast<std::uint32_t>(numbers_.load(std::memory_order_relaxed));
  has_asks_ = false;
  for (std::uint32_t peer = 0; peer < asks_.size(); ++peer) {
    if (!asks_[peer]) continue;
    if (is_at_least(own, *asks_[peer])) {
      asks_[peer].reset();
      messages().note(peer, kHasBegun, own);
    } else {
      has_asks_ = true;
    }
  }
}

void MessagesBetween::break_because(const Error& why) {
  const std::lock_guard guard(groups_->lock());
  groups_->break_because(why);
}

std::optional<Error> MessagesBetween::failure() const {
  if (!has_failed()) return std::nullopt;
  const std::lock_guard guard(groups_->lock());
  return failure_;
}

std::optional<Error> MessagesBetween::await_failure(Duration at_most) {
  const Time until = monotonic_now() + at_most;
  for (;;) {
    (void)step();
    if (auto why = failure()) return why;
    const Duration left = until - monotonic_now();
    if (left <= Duration{0}) return std::nullopt;
    if (!await_message(std::min<Duration>(left, Millis{5}))) std::this_thread::sleep_for(Millis{1});
  }
}

// ---- the group's side; the lock is held

bool MessagesBetween::on_arrived(std::uint32_t peer, std::uint32_t tag, std::span<const std::byte> bytes) {
  const auto from = static_cast<int>(peer);
  auto message = matcher_.claim(from, tag);
  if (!message) {
    Matcher::Kept unexpected{tag, bytes.size(), {bytes.begin(), bytes.end()}, std::nullopt};
    message = matcher_.claim_or_keep(from, unexpected);
  }
  if (!message) return false;
  auto why = give(*message, bytes);
  ended_.emplace_back(std::move(message), std::move(why));
  return true;
}

MessageEvents::Answer MessagesBetween::on_offer(std::uint32_t peer, std::uint32_t number, std::uint32_t tag,
                                                std::uint64_t bytes) {
  Matcher::Kept unexpected{tag, bytes, {}, number};
  auto message = matcher_.claim_or_keep(static_cast<int>(peer), unexpected);
  if (!message) return {};
  if (message->bytes != bytes) {
    ended_.emplace_back(message, wrong_size(*message, bytes));
    return {.what = Answer::What::drop};
  }
  under_way_.emplace(message.get(), message);
  return {Answer::What::take, message->data, message.get()};
}

void MessagesBetween::over(void* cookie) {
  auto node = under_way_.extract(cookie);
  if (!node.empty()) ended_.emplace_back(std::move(node.mapped()), std::nullopt);
}

void MessagesBetween::on_note(std::uint32_t peer, std::uint32_t word, std::uint32_t number) {
  // Relaxed: see has_come().
  if (is_at_least(number, begun_[peer].load(std::memory_order_relaxed)))
    begun_[peer].store(number, std::memory_order_relaxed);
  if (word != kAsks) return;
  asks_[peer] = number;
  has_asks_ = true;
}

void MessagesBetween::end_with(int peer, const Error& why) {
  std::erase_if(under_way_, [&](auto& one) {
    if (one.second->peer != peer) return false;
    ended_.emplace_back(std::move(one.second), why);
    return true;
  });
  matcher_.forget_offers(peer);
}

void MessagesBetween::on_left(std::uint32_t peer) {
  const auto rank = static_cast<int>(peer);
  has_left_[peer].store(true);
  end_with(rank, gone(rank));
  // The goodbye came by the connection; its last messages may lie in the pipe.
  if (ranks_.is_here(rank)) here_.drain(rank, ended_);
  matcher_.fail([&](int from) { return from == rank; }, gone(rank), ended_);
}

void MessagesBetween::on_failed(const Error& why) {
  failure_ = why;
  has_failed_.store(true);
  for (int peer = 0; peer < ranks_.size(); ++peer)
    if (!ranks_.is_here(peer)) end_with(peer, cut_off());
  matcher_.fail([&](int from) { return from == Message::kAnyone || !ranks_.is_here(from); }, cut_off(), ended_);
}

}  // namespace sumac::p2p
