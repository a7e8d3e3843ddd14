// reduce_speed prints the GB/s of each kernel over 64 KiB vectors (one streaming chunk) that stay in the cache; the
// vector's length counts once. It is no test: run it when a kernel changes and put the numbers in the commit.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/clock.hpp"
#include "reduce/reduce.hpp"

int main() {
  using namespace sumac;
  constexpr std::size_t kBytes = 64 << 10;
  // Ones in every type's low bits give no NaN, no trap, and no dependence on values.
  std::vector<std::uint8_t> a(kBytes + 64, 1), b(kBytes + 64, 1);
  const auto measure = [&](const reduce::Kernel& kernel) {
    const std::size_t count = kBytes / kernel.element_bytes();
    double best = 0;
    for (int run = 0; run < 20; ++run) {
      constexpr int kRounds = 100;
      const Time start = monotonic_now();
      for (int i = 0; i < kRounds; ++i) kernel(a.data(), b.data(), count);
      const auto ns = static_cast<double>((monotonic_now() - start).count());
      best = std::max(best, kRounds * static_cast<double>(kBytes) / ns);
    }
    return best;
  };
  std::printf("GB/s over 64 KiB, best of 20 runs\n%-10s", "");
  for (unsigned o = 0; o < kOpCount; ++o) std::printf("%8s", std::string(to_string(static_cast<Op>(o))).c_str());
  for (unsigned d = 0; d < kDtypeCount; ++d) {
    std::printf("\n%-10s", std::string(to_string(static_cast<Dtype>(d))).c_str());
    for (unsigned o = 0; o < kOpCount; ++o) {
      const auto kernel = reduce::kernel_for(static_cast<Op>(o), static_cast<Dtype>(d), Dtype::int32);
      if (kernel)
        std::printf("%8.1f", measure(kernel));
      else
        std::printf("%8s", "-");
    }
  }
  std::printf("\n");
}
