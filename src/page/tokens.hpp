#pragma once
// The tokens of the page: each proves for some hours who its holder is. Only their hashes are kept, in memory, so they
// end with the manager. Any thread may call.
#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "page/viewer.hpp"

namespace sumac::page {

class Tokens {
 public:
  static constexpr Duration kLife = Seconds(12 * 3600);
  static constexpr std::size_t kOfOneUser = 8;  ///< A further one takes the place of that unused for longest.
  static constexpr std::size_t kOfAll = 1024;   ///< The same, among those of ordinary users first.

  /// Draws a token of 256 bits, as 64 hexadecimal digits. `who` names its user. Returns Errc::io without random numbers.
  Result<std::string> issue(const std::string& who, const Viewer& viewer, Time now);
  /// Returns the holder of a token; nothing if it is none, or has expired. The time does not depend on how much of a
  /// token is right.
  std::optional<Viewer> holder(std::string_view token, Time now);
  std::size_t size() const;

 private:
  using Hash = std::array<std::uint8_t, 32>;
  struct Entry {
    Hash hash{};
    std::string who;
    Viewer viewer;
    Time ends{};
    Time used{};  ///< The time of the last request with it, or of its issue.
  };
  bool drop_longest_unused(const std::function<bool(const Entry&)>& among);
  static std::optional<Hash> hash_of(std::string_view token);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace sumac::page
