#include "p2p/matcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sumac::p2p {

Error wrong_size(const Message& message, std::uint64_t bytes) {
  return {Errc::invalid, fmt::format("the message has {} B and the receiver's buffer {} B", bytes, message.bytes)};
}

std::optional<Error> give(Message& message, std::span<const std::byte> bytes) {
  if (message.bytes != bytes.size()) return wrong_size(message, bytes.size());
  if (!bytes.empty()) std::memcpy(message.data, bytes.data(), bytes.size());
  return std::nullopt;
}

std::optional<Matcher::Kept> Matcher::post(const std::shared_ptr<Message>& message) {
  const std::lock_guard guard(lock_);
  for (std::size_t from = 0; from < kept_.size(); ++from) {
    if (message->peer != Message::kAnyone && message->peer != static_cast<int>(from)) continue;
    const auto at = std::ranges::find(kept_[from], message->tag, &Kept::tag);
    if (at == kept_[from].end()) continue;
    message->peer = static_cast<int>(from);
    Kept found = std::move(*at);
    kept_[from].erase(at);
    return found;
  }
  wanted_.push_back(message);
  wanted_count_.store(wanted_.size(), std::memory_order_relaxed);  // A hint: the list is behind its lock.
  return std::nullopt;
}

std::shared_ptr<Message> Matcher::take(int from, std::uint32_t tag) {
  const auto at = std::ranges::find_if(wanted_, [&](const auto& message) {
    return message->tag == tag && (message->peer == from || message->peer == Message::kAnyone);
  });
  if (at == wanted_.end()) return nullptr;
  auto found = std::move(*at);
  wanted_.erase(at);
  wanted_count_.store(wanted_.size(), std::memory_order_relaxed);
  found->peer = from;
  return found;
}

std::shared_ptr<Message> Matcher::claim(int from, std::uint32_t tag) {
  const std::lock_guard guard(lock_);
  return take(from, tag);
}

std::shared_ptr<Message> Matcher::claim_or_keep(int from, Kept& unexpected) {
  const std::lock_guard guard(lock_);
  auto found = take(from, unexpected.tag);
  if (!found) kept_[static_cast<std::size_t>(from)].push_back(std::move(unexpected));
  return found;
}

bool Matcher::is_wanted(int from) const {
  if (wanted_count_.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard guard(lock_);
  return std::ranges::any_of(
      wanted_, [&](const auto& message) { return message->peer == from || message->peer == Message::kAnyone; });
}

bool Matcher::withdraw(const std::shared_ptr<Message>& message) {
  const std::lock_guard guard(lock_);
  const bool is_found = std::erase(wanted_, message) > 0;
  wanted_count_.store(wanted_.size(), std::memory_order_relaxed);
  return is_found;
}

void Matcher::fail(const std::function<bool(int)>& is_hit, const Error& why, Ended& ended) {
  const std::lock_guard guard(lock_);
  std::erase_if(wanted_, [&](auto& message) {
    if (!is_hit(message->peer)) return false;
    ended.emplace_back(std::move(message), why);
    return true;
  });
  wanted_count_.store(wanted_.size(), std::memory_order_relaxed);
}

void Matcher::forget_offers(int from) {
  const std::lock_guard guard(lock_);
  std::erase_if(kept_[static_cast<std::size_t>(from)], [](const Kept& kept) { return kept.offer.has_value(); });
}

void Matcher::conclude(Ended& ended) {
  for (auto& [message, why] : ended) conclude(message, std::move(why));
  ended.clear();
}

void Matcher::conclude(const std::shared_ptr<Message>& message, std::optional<Error> why) {
  open_.fetch_sub(1, std::memory_order_relaxed);
  message->end(std::move(why));
}

}  // namespace sumac::p2p
