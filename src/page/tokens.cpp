#include "page/tokens.hpp"

#include <openssl/evp.h>

#include <algorithm>

#include "base/secret.hpp"

namespace sumac::page {

std::optional<Tokens::Hash> Tokens::hash_of(std::string_view token) {
  Hash hash{};
  unsigned length = 0;
  if (EVP_Digest(token.data(), token.size(), hash.data(), &length, EVP_sha256(), nullptr) != 1 || length != hash.size())
    return std::nullopt;
  return hash;
}

Result<std::string> Tokens::issue(const std::string& who, const Viewer& viewer, Time now) {
  std::string token;
  for (int half = 0; half < 2; ++half) {
    auto bytes = draw_secret();
    if (!bytes) return tl::unexpected(bytes.error());
    for (const auto byte : *bytes) token += fmt::format("{:02x}", byte);
    wipe(*bytes);
  }
  const auto hash = hash_of(token);
  if (!hash) return fail(Errc::internal, "OpenSSL makes no hash of a token");
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.ends <= now; });
  const auto is_own = [&](const Entry& entry) { return entry.who == who; };
  const auto is_ordinary = [](const Entry& entry) { return !entry.viewer.everything; };
  if (static_cast<std::size_t>(std::ranges::count_if(entries_, is_own)) >= kOfOneUser) drop_longest_unused(is_own);
  if (entries_.size() >= kOfAll && !drop_longest_unused(is_ordinary))
    drop_longest_unused([](const Entry&) { return true; });
  entries_.push_back({*hash, who, viewer, now + kLife, now});
  return token;
}

/// Returns false if there is no such token.
bool Tokens::drop_longest_unused(const std::function<bool(const Entry&)>& among) {
  auto longest = entries_.end();
  for (auto at = entries_.begin(); at != entries_.end(); ++at)
    if (among(*at) && (longest == entries_.end() || at->used < longest->used)) longest = at;
  if (longest == entries_.end()) return false;
  entries_.erase(longest);
  return true;
}

std::optional<Viewer> Tokens::holder(std::string_view token, Time now) {
  const auto hash = hash_of(token);
  if (!hash) return std::nullopt;
  const std::lock_guard lock(mutex_);
  std::optional<Viewer> found;
  for (auto& entry : entries_) {
    if (!same_secret(entry.hash, *hash) || now >= entry.ends) continue;
    found = entry.viewer;
    entry.used = now;
  }
  return found;
}

std::size_t Tokens::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace sumac::page
