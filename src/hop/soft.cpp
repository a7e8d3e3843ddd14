// hop-soft [SECONDS] compares the sums of hop_combine() with those of src/reduce: each pair of half and of bfloat16, and 10^9 pairs
// of float and of double that are drawn where a sum is difficult. With SECONDS it draws pairs of all four for that long.
#include <fmt/core.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <tuple>

#include "hop/element.h"
#include "hop/test_pairs.hpp"

namespace {

using namespace sumac;

constexpr std::size_t kWords = 4096;
using Block = std::array<std::uint64_t, kWords>;

/// Returns how many sums of the block's words differ. The first ones are printed.
std::uint64_t differences(Dtype dtype, const Block& a, const Block& b) {
  static std::uint64_t printed = 0;
  Block right;
  reduce::kernel_for(Op::sum, dtype).combine(right.data(), a.data(), b.data(), kWords * 8 / width(dtype));
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint64_t ours = hop_combine(static_cast<unsigned>(Op::sum), static_cast<unsigned>(dtype), a[i], b[i]);
    if (ours == right[i] || test::with_one_nan(dtype, ours) == test::with_one_nan(dtype, right[i])) continue;
    if (++found, ++printed <= 5)
      fmt::print("{}: {:016x} + {:016x} is {:016x}, not {:016x}\n", to_string(dtype), a[i], b[i], right[i], ours);
  }
  return found;
}

std::uint64_t try_every_pair(Dtype dtype) {
  std::uint64_t found = 0;
  Block a, b;
  for (std::uint64_t first = 0; first < 65536; ++first) {
    a.fill(first * 0x0001'0001'0001'0001);
    for (std::uint64_t second = 0; second < 65536; second += 4 * kWords) {
      for (std::uint64_t i = 0; i < kWords; ++i)
        b[i] = (second + 4 * i) * 0x0001'0001'0001'0001 + 0x0003'0002'0001'0000;
      found += differences(dtype, a, b);
    }
  }
  return found;
}

std::uint64_t try_drawn_pairs(Dtype dtype, Random& random, std::uint64_t blocks) {
  std::uint64_t found = 0;
  Block a, b;
  for (; blocks > 0; --blocks) {
    for (std::size_t i = 0; i < kWords; ++i) std::tie(a[i], b[i]) = test::draw_words(random, dtype);
    found += differences(dtype, a, b);
  }
  return found;
}

bool report(Dtype dtype, std::uint64_t pairs, std::uint64_t found) {
  fmt::print("{}: {} pairs, {} differ\n", to_string(dtype), pairs, found);
  std::fflush(stdout);
  return found == 0;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::array kTypes{Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};
  Random random(41);
  bool all_equal = true;
  if (argc > 1) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(std::atof(argv[1]));
    std::array<std::uint64_t, kTypes.size()> found{};
    std::uint64_t blocks = 0;
    for (; blocks < 20 || Clock::now() < end; ++blocks)
      for (std::size_t i = 0; i < kTypes.size(); ++i) found[i] += try_drawn_pairs(kTypes[i], random, 1);
    for (std::size_t i = 0; i < kTypes.size(); ++i)
      all_equal = report(kTypes[i], blocks * kWords * 8 / width(kTypes[i]), found[i]) && all_equal;
    return all_equal ? 0 : 1;
  }
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16})
    all_equal = report(dtype, std::uint64_t{1} << 32, try_every_pair(dtype)) && all_equal;
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    const std::uint64_t blocks = 1'000'000'000 * width(dtype) / 8 / kWords + 1;
    all_equal = report(dtype, blocks * kWords * 8 / width(dtype), try_drawn_pairs(dtype, random, blocks)) && all_equal;
  }
  return all_equal ? 0 : 1;
}
