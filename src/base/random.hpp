#pragma once
// Random numbers that are the same on every machine for the same seed, which std::uniform_int_distribution does not
// promise: a failing seed of the simulator must fail again on the reader's machine. They are not fit for secrets.
#include <cassert>
#include <cstdint>
#include <span>
#include <utility>

namespace sumac {

/// splitmix64 by Steele, Lea and Flood. It spreads a small seed over 64 bits; every seed is good, 0 included.
class SplitMix64 {
 public:
  explicit constexpr SplitMix64(std::uint64_t seed) noexcept : state_(seed) {}
  constexpr std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// xoshiro256** by Blackman and Vigna, seeded as they advise. It fits std::shuffle and the like, but prefer the members
/// below.
class Random {
 public:
  using result_type = std::uint64_t;
  explicit constexpr Random(std::uint64_t seed) noexcept {
    SplitMix64 mix(seed);
    for (auto& word : state_) word = mix.next();
  }
  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return ~result_type{0}; }
  constexpr result_type operator()() noexcept { return next(); }

  constexpr std::uint64_t next() noexcept {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  /// Returns a uniform number in [0, n); n > 0. Rejects the few values that would favour small results.
  constexpr std::uint64_t below(std::uint64_t n) noexcept {
    assert(n > 0);
    const std::uint64_t reject_under = (0 - n) % n;
    for (;;) {
      if (const std::uint64_t x = next(); x >= reject_under) return x % n;
    }
  }

  /// Returns a uniform number in [low, high], both ends included.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) noexcept {
    assert(low <= high);
    const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    const std::uint64_t step = span == 0 ? next() : below(span);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + step);
  }

  /// Returns a uniform number in [0, 1) with 53 bits.
  constexpr double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  constexpr bool chance(double probability) noexcept { return unit() < probability; }

  template <class T>
  constexpr void shuffle(std::span<T> items) noexcept {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

  /// Returns an independent stream, so that one more draw from this one does not change the other.
  constexpr Random fork() noexcept { return Random(next()); }

 private:
  static constexpr std::uint64_t rotate(std::uint64_t x, int by) noexcept { return (x << by) | (x >> (64 - by)); }
  std::uint64_t state_[4];
};

}  // namespace sumac
