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
  if (static_cast<std::size_t>(std::ranges::count_if(entries_, is_own)) >= kOfOneUser)
    entries_.erase(std::ranges::find_if(entries_, is_own));
  if (entries_.size() >= kOfAll) {
    const auto ordinary = std::ranges::find_if(entries_, [](const Entry& entry) { return !entry.viewer.everything; });
    entries_.erase(ordinary == entries_.end() ? entries_.begin() : ordinary);
  }
  entries_.push_back({*hash, who, viewer, now + kLife});
  return token;
}

std::optional<Viewer> Tokens::holder(std::string_view token, Time now) const {
  const auto hash = hash_of(token);
  if (!hash) return std::nullopt;
  const std::lock_guard lock(mutex_);
  std::optional<Viewer> found;
  for (const auto& entry : entries_)
    if (same_secret(entry.hash, *hash) && now < entry.ends) found = entry.viewer;
  return found;
}

std::size_t Tokens::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace sumac::page
