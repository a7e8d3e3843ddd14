#include "bindings/python/core/letters_between.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace sumac::python {
namespace {

/// Numbers of operations travel with 32 bits.
bool is_at_least(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) >= 0; }

}  // namespace

LettersBetween::LettersBetween(const Members& members, Inbox& inbox, const std::atomic<std::uint64_t>& numbers)
    : members_(members),
      inbox_(inbox),
      numbers_(numbers),
      begun_(static_cast<std::size_t>(members.size())),
      has_left_(static_cast<std::size_t>(members.size())),
      asks_(static_cast<std::size_t>(members.size())) {}

bool LettersBetween::is_elsewhere(int rank) const {
  return !std::binary_search(members_.here.begin(), members_.here.end(), rank);
}

Error LettersBetween::gone(int peer) const {
  return {Errc::lost, fmt::format("rank {}: {} has left the process group", members_.rank, members_.name(peer))};
}

Error LettersBetween::cut_off() const {
  return {failure_->code, fmt::format("rank {}: {}", members_.rank, failure_->context)};
}

// ---- the team's side

void LettersBetween::send(const std::shared_ptr<Letter>& letter) {
  {
    const std::lock_guard guard(hosts_->lock());
    under_way_.emplace(letter.get(), letter);
    const bool is_posted = letters().post(static_cast<std::uint32_t>(letter->peer), letter->tag,
                                          {letter->data, letter->bytes}, letter.get());
    if (!is_posted) {
      under_way_.erase(letter.get());
      ended_.emplace_back(letter, failure_ ? cut_off() : gone(letter->peer));
    }
  }
  conclude();
}

void LettersBetween::fetch(const std::shared_ptr<Letter>& letter, const Inbox::Kept& offer) {
  {
    const std::lock_guard guard(hosts_->lock());
    const auto peer = static_cast<std::uint32_t>(letter->peer);
    if (letter->bytes != offer.size) {
      letters().drop(peer, *offer.offer);
      ended_.emplace_back(letter, wrong_size(*letter, offer.size));
    } else if (letters().take(peer, *offer.offer, letter->data, letter.get())) {
      under_way_.emplace(letter.get(), letter);
    } else {
      ended_.emplace_back(letter, failure_ ? cut_off() : gone(letter->peer));
    }
  }
  conclude();
}

void LettersBetween::release(int from) {
  const std::lock_guard guard(hosts_->lock());
  letters().release(static_cast<std::uint32_t>(from));
}

/// The receive waits in the inbox before it looks here, and those that leave are noted here before the inbox is cleared
/// of receives: so none is forgotten.
void LettersBetween::check(const std::shared_ptr<Letter>& letter) {
  const int peer = letter->asked;
  const bool is_gone = peer != Letter::kAnyone && has_left_[static_cast<std::size_t>(peer)].load();
  const bool is_cut_off = has_failed_.load() && (peer == Letter::kAnyone || is_elsewhere(peer));
  if ((!is_gone && !is_cut_off) || !inbox_.withdraw(letter)) return;
  const std::unique_lock guard(hosts_->lock());
  ended_.emplace_back(letter, is_gone ? gone(peer) : cut_off());
}

bool LettersBetween::step() {
  const std::unique_lock guard(hosts_->lock(), std::try_to_lock);
  if (!guard) return false;  // Another thread moves it.
  const bool has_moved = hosts_->everyone().move() > 0;
  for (int peer = 0; peer < members_.size(); ++peer)
    // Behind the letters that fill its window may come the one that somebody waits for.
    if (letters().is_stuck(static_cast<std::uint32_t>(peer)) && inbox_.is_wanted(peer))
      letters().extend(static_cast<std::uint32_t>(peer));
  if (has_asks_) answer_asks();
  return has_moved || !ended_.empty();
}

void LettersBetween::conclude() {
  Inbox::Ended ended;
  {
    const std::unique_lock guard(hosts_->lock(), std::try_to_lock);
    if (!guard) return;  // The next one does it.
    ended.swap(ended_);
  }
  inbox_.conclude(ended);
}

bool LettersBetween::doze(Duration at_most) {
  const std::unique_lock guard(hosts_->lock(), std::try_to_lock);
  if (!guard || !ended_.empty()) return false;
  const auto us = std::chrono::duration_cast<Micros>(at_most).count();
  return hosts_->everyone().doze(static_cast<int>(us)) != coll::Across::Sleep::impossible;
}

bool LettersBetween::withdraw(const std::shared_ptr<Letter>& letter) {
  const std::lock_guard guard(hosts_->lock());
  if (under_way_.erase(letter.get()) == 0) return false;
  (void)letters().withdraw(letter.get());  // After a failure it has none.
  return true;
}

void LettersBetween::close(const Error& why) {
  if (hosts_ == nullptr) return;  // The team was not made.
  Inbox::Ended ended;
  {
    const std::lock_guard guard(hosts_->lock());
    letters().close();
    ended.swap(ended_);
    for (auto& [cookie, letter] : under_way_) ended.emplace_back(letter, why);
    under_way_.clear();
  }
  inbox_.conclude(ended);
}

// ---- operations

void LettersBetween::ask(std::uint64_t number) {
  const std::lock_guard guard(hosts_->lock());
  for (int peer = 0; peer < members_.size(); ++peer)
    if (is_elsewhere(peer)) letters().note(static_cast<std::uint32_t>(peer), kAsks, static_cast<std::uint32_t>(number));
}

bool LettersBetween::has_come(int rank, std::uint64_t number) const noexcept {
  // Relaxed: the number stands for itself.
  return is_at_least(begun_[static_cast<std::size_t>(rank)].load(std::memory_order_relaxed),
                     static_cast<std::uint32_t>(number));
}

void LettersBetween::answer_asks() {
  const auto own = static_cast<std::uint32_t>(numbers_.load(std::memory_order_relaxed));
  has_asks_ = false;
  for (std::uint32_t peer = 0; peer < asks_.size(); ++peer) {
    if (!asks_[peer]) continue;
    if (is_at_least(own, *asks_[peer])) {
      asks_[peer].reset();
      letters().note(peer, kHasBegun, own);
    } else {
      has_asks_ = true;
    }
  }
}

void LettersBetween::break_because(const Error& why) {
  const std::lock_guard guard(hosts_->lock());
  hosts_->break_because(why);
}

std::optional<Error> LettersBetween::failure() const {
  if (!has_failed_.load()) return std::nullopt;
  const std::lock_guard guard(hosts_->lock());
  return failure_;
}

std::optional<Error> LettersBetween::await_failure(Duration at_most) {
  const Time until = monotonic_now() + at_most;
  for (;;) {
    (void)step();
    if (auto why = failure()) return why;
    const Duration left = until - monotonic_now();
    if (left <= Duration{0}) return std::nullopt;
    if (!doze(std::min<Duration>(left, Millis{5}))) std::this_thread::sleep_for(Millis{1});
  }
}

// ---- the group's side; the lock is held

bool LettersBetween::on_letter(std::uint32_t peer, std::uint32_t tag, std::span<const std::byte> bytes) {
  const auto from = static_cast<int>(peer);
  auto letter = inbox_.claim(from, tag);
  if (!letter) {
    Inbox::Kept message{tag, bytes.size(), {bytes.begin(), bytes.end()}, std::nullopt};
    letter = inbox_.claim_or_keep(from, message);
  }
  if (!letter) return false;
  auto why = give(*letter, bytes);
  ended_.emplace_back(std::move(letter), std::move(why));
  return true;
}

p2p::LetterEvents::Answer LettersBetween::on_offer(std::uint32_t peer, std::uint32_t number, std::uint32_t tag,
                                                   std::uint64_t bytes) {
  Inbox::Kept message{tag, bytes, {}, number};
  auto letter = inbox_.claim_or_keep(static_cast<int>(peer), message);
  if (!letter) return {};
  if (letter->bytes != bytes) {
    ended_.emplace_back(letter, wrong_size(*letter, bytes));
    return {.what = Answer::What::drop};
  }
  under_way_.emplace(letter.get(), letter);
  return {Answer::What::take, letter->data, letter.get()};
}

void LettersBetween::over(void* cookie) {
  auto node = under_way_.extract(cookie);
  if (!node.empty()) ended_.emplace_back(std::move(node.mapped()), std::nullopt);
}

void LettersBetween::on_note(std::uint32_t peer, std::uint32_t word, std::uint32_t number) {
  // Relaxed: see has_come().
  if (is_at_least(number, begun_[peer].load(std::memory_order_relaxed)))
    begun_[peer].store(number, std::memory_order_relaxed);
  if (word != kAsks) return;
  asks_[peer] = number;
  has_asks_ = true;
}

void LettersBetween::end_with(int peer, const Error& why) {
  std::erase_if(under_way_, [&](auto& one) {
    if (one.second->peer != peer) return false;
    ended_.emplace_back(std::move(one.second), why);
    return true;
  });
  inbox_.forget_offers(peer);
}

void LettersBetween::on_left(std::uint32_t peer) {
  const auto rank = static_cast<int>(peer);
  has_left_[peer].store(true);
  end_with(rank, gone(rank));
  inbox_.fail([&](int from) { return from == rank; }, gone(rank), ended_);
}

void LettersBetween::on_failed(const Error& why) {
  failure_ = why;
  has_failed_.store(true);
  for (int peer = 0; peer < members_.size(); ++peer)
    if (is_elsewhere(peer)) end_with(peer, cut_off());
  inbox_.fail([&](int from) { return from == Letter::kAnyone || is_elsewhere(from); }, cut_off(), ended_);
}

}  // namespace sumac::python
