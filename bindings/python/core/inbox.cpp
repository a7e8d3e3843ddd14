#include "bindings/python/core/inbox.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sumac::python {

Error wrong_size(const Letter& letter, std::uint64_t bytes) {
  return {Errc::invalid, fmt::format("the message has {} B and the receiver's buffer {} B", bytes, letter.bytes)};
}

std::optional<Error> give(Letter& letter, std::span<const std::byte> message) {
  if (letter.bytes != message.size()) return wrong_size(letter, message.size());
  if (!message.empty()) std::memcpy(letter.data, message.data(), message.size());
  return std::nullopt;
}

std::optional<Inbox::Kept> Inbox::post(const std::shared_ptr<Letter>& letter) {
  const std::lock_guard guard(lock_);
  for (std::size_t from = 0; from < kept_.size(); ++from) {
    if (letter->peer != Letter::kAnyone && letter->peer != static_cast<int>(from)) continue;
    const auto at = std::ranges::find(kept_[from], letter->tag, &Kept::tag);
    if (at == kept_[from].end()) continue;
    letter->peer = static_cast<int>(from);
    Kept found = std::move(*at);
    kept_[from].erase(at);
    return found;
  }
  wanted_.push_back(letter);
  wanted_count_.store(wanted_.size(), std::memory_order_relaxed);  // A hint: the list is behind its lock.
  return std::nullopt;
}

std::shared_ptr<Letter> Inbox::take(int from, std::uint32_t tag) {
  const auto at = std::ranges::find_if(wanted_, [&](const auto& letter) {
    return letter->tag == tag && (letter->peer == from || letter->peer == Letter::kAnyone);
  });
  if (at == wanted_.end()) return nullptr;
  auto found = std::move(*at);
  wanted_.erase(at);
  wanted_count_.store(wanted_.size(), std::memory_order_relaxed);
  found->peer = from;
  return found;
}

std::shared_ptr<Letter> Inbox::claim(int from, std::uint32_t tag) {
  const std::lock_guard guard(lock_);
  return take(from, tag);
}

std::shared_ptr<Letter> Inbox::claim_or_keep(int from, Kept& message) {
  const std::lock_guard guard(lock_);
  auto found = take(from, message.tag);
  if (!found) kept_[static_cast<std::size_t>(from)].push_back(std::move(message));
  return found;
}

bool Inbox::is_wanted(int from) const {
  if (wanted_count_.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard guard(lock_);
  return std::ranges::any_of(
      wanted_, [&](const auto& letter) { return letter->peer == from || letter->peer == Letter::kAnyone; });
}

bool Inbox::withdraw(const std::shared_ptr<Letter>& letter) {
  const std::lock_guard guard(lock_);
  const bool is_found = std::erase(wanted_, letter) > 0;
  wanted_count_.store(wanted_.size(), std::memory_order_relaxed);
  return is_found;
}

void Inbox::fail(const std::function<bool(int)>& is_hit, const Error& why, Ended& ended) {
  const std::lock_guard guard(lock_);
  std::erase_if(wanted_, [&](auto& letter) {
    if (!is_hit(letter->peer)) return false;
    ended.emplace_back(std::move(letter), why);
    return true;
  });
  wanted_count_.store(wanted_.size(), std::memory_order_relaxed);
}

void Inbox::forget_offers(int from) {
  const std::lock_guard guard(lock_);
  std::erase_if(kept_[static_cast<std::size_t>(from)], [](const Kept& kept) { return kept.offer.has_value(); });
}

void Inbox::conclude(Ended& ended) {
  for (auto& [letter, why] : ended) conclude(letter, std::move(why));
  ended.clear();
}

void Inbox::conclude(const std::shared_ptr<Letter>& letter, std::optional<Error> why) {
  open_.fetch_sub(1, std::memory_order_relaxed);
  letter->end(std::move(why));
}

}  // namespace sumac::python
