#pragma once
// A set of children of a node's group: 256 bits, held by value, cheap to compare.
#include <array>
#include <bit>
#include <cstdint>

namespace sumac::proto {

class ChildSet {
 public:
  static constexpr std::uint32_t kMax = 256;

  constexpr void add(std::uint32_t child) noexcept { words_[child / 64] |= 1ull << (child % 64); }
  constexpr void remove(std::uint32_t child) noexcept { words_[child / 64] &= ~(1ull << (child % 64)); }
  constexpr bool has(std::uint32_t child) const noexcept { return (words_[child / 64] >> (child % 64) & 1) != 0; }
  constexpr bool empty() const noexcept { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }
  constexpr std::uint32_t size() const noexcept {
    std::uint32_t total = 0;
    for (const auto word : words_) total += static_cast<std::uint32_t>(std::popcount(word));
    return total;
  }
  /// Returns whether every child of `other` is in this set.
  constexpr bool covers(const ChildSet& other) const noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if ((other.words_[i] & ~words_[i]) != 0) return false;
    return true;
  }
  constexpr ChildSet operator|(const ChildSet& other) const noexcept {
    ChildSet result;
    for (std::size_t i = 0; i < words_.size(); ++i) result.words_[i] = words_[i] | other.words_[i];
    return result;
  }
  friend constexpr bool operator==(const ChildSet&, const ChildSet&) = default;

 private:
  std::array<std::uint64_t, 4> words_{};
};

}  // namespace sumac::proto
