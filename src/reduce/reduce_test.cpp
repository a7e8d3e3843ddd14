// Compares every kernel, for every instruction set of this processor, with the reference bit by bit.
#include "reduce/reduce.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "reduce/float_env.hpp"
#include "reduce/instruction_set.hpp"
#include "reduce/reference.hpp"

namespace sumac::reduce {
namespace {

struct Combination {
  Op op;
  Dtype dtype;
  Dtype tag;
};

std::vector<Combination> all_legal() {
  std::vector<Combination> result;
  for (unsigned o = 0; o < kOpCount; ++o)
    for (unsigned d = 0; d < kDtypeCount; ++d)
      for (unsigned t = 0; t <= kDtypeCount; ++t) {
        const Combination c{static_cast<Op>(o), static_cast<Dtype>(d), static_cast<Dtype>(t)};
        if (!is_pair(c.op) && c.tag != Dtype::null) continue;  // only pairs have a tag
        if (legal(c.dtype, c.op, c.tag)) result.push_back(c);
      }
  return result;
}

std::string name(const Combination& c) {
  return fmt::format("{} {} tag {}", to_string(c.op), to_string(c.dtype), to_string(c.tag));
}

/// Stores one value: mostly any bits, often small integers (for ties), zeros, infinities, NaN, subnormals, extremes.
void put_value(Random& random, Dtype dtype, char* to) {
  const std::size_t bytes = width(dtype);
  std::uint64_t bits = random.next();
  const unsigned mantissa = dtype == Dtype::float16    ? 10
                            : dtype == Dtype::bfloat16 ? 7
                            : dtype == Dtype::float32  ? 23
                                                       : 52;
  const std::uint64_t sign = std::uint64_t{1} << (bytes * 8 - 1), fraction = (std::uint64_t{1} << mantissa) - 1;
  const std::uint64_t infinity = (sign - 1) & ~fraction;
  switch (random.below(8)) {
    case 0: bits = random.below(4); break;
    case 1: bits = (random.chance(0.5) ? sign : 0) | (is_float(dtype) ? 0 : random.below(2)); break;
    case 2:
      bits = is_float(dtype) ? infinity | (random.chance(0.5) ? sign : 0) | (random.chance(0.5) ? bits & fraction : 0)
                             : ~std::uint64_t{0};
      break;
    // Subnormal floats; extremes of integers
    case 3: bits = is_float(dtype) ? bits & (fraction | sign) : sign - random.below(2); break;
    // Around the largest finite float
    case 4: bits = is_float(dtype) ? (infinity - 1) | (bits & sign) : sign + random.below(2); break;
    case 5:
      if (is_float(dtype)) bits = ((infinity >> 1) & infinity) | (bits & (fraction | sign));
      break;  // floats of similar magnitudes, for rounding
    default: break;
  }
  std::memcpy(to, &bits, bytes);
}

std::vector<char> random_vector(Random& random, const Combination& c, std::size_t count) {
  const std::size_t element = element_bytes(c.dtype, c.op, c.tag);
  std::vector<char> data(count * element);
  for (std::size_t i = 0; i < count; ++i) {
    put_value(random, c.dtype, data.data() + i * element);
    for (std::size_t k = width(c.dtype); k < element; ++k) data[i * element + k] = static_cast<char>(random.next());
    if (is_pair(c.op) && random.chance(0.7))  // few different tags, so that values and tags both tie
      for (std::size_t k = width(c.dtype); k < element; ++k) data[i * element + k] = static_cast<char>(random.below(2));
  }
  return data;
}

/// A floating-point environment such as a host program may leave behind.
class HostileEnvironment {
 public:
  HostileEnvironment() {
#if defined(__x86_64__)
    saved_ = _mm_getcsr();
    _mm_setcsr(kHostile);
#else
    std::fegetenv(&saved_);
    std::fesetround(FE_TOWARDZERO);
#endif
  }
  /// Returns whether the environment still has every bit that it had before the reduction.
  bool untouched() const {
#if defined(__x86_64__)
    return _mm_getcsr() == kHostile;
#else
    return std::fegetround() == FE_TOWARDZERO;
#endif
  }
  ~HostileEnvironment() {
#if defined(__x86_64__)
    _mm_setcsr(saved_);
#else
    std::fesetenv(&saved_);
#endif
  }

 private:
#if defined(__x86_64__)
  static constexpr unsigned kHostile =
      0x8000 | 0x0040 | 0x6000 | 0x1000;  // FTZ, DAZ, toward zero, all but inexact trap
  unsigned saved_;
#else
  std::fenv_t saved_;
#endif
};

/// Runs a test once for each instruction set.
template <class F>
void on_each_target(F&& test) {
  using detail::InstructionSet;
  const auto best = detail::best_instruction_set();
  for (const auto set :
       {InstructionSet::baseline, InstructionSet::sse4, InstructionSet::avx2, InstructionSet::avx512}) {
    if (set > best) break;
    detail::choose_instruction_set(set);
    SCOPED_TRACE(static_cast<int>(set));
    test();
    if (testing::Test::HasFatalFailure()) break;
  }
  detail::choose_instruction_set(best);
}

TEST(Reduce, TheProcessorsInstructionSetsAreFound) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "only x86 has several";  // An emulator may show another processor's /proc/cpuinfo.
#endif
  // The kernel prints the same features that the compiler's runtime asks for.
  std::ifstream file("/proc/cpuinfo");
  std::string word;
  std::set<std::string> has;
  while (file >> word && word != "bugs") has.insert(word);
  if (!has.contains("flags")) GTEST_SKIP() << "no x86 processor, or no /proc/cpuinfo";
  const bool sse4 = has.contains("sse4_2") && has.contains("pclmulqdq") && has.contains("aes");
  const bool avx2 = sse4 && has.contains("avx2") && has.contains("fma") && has.contains("bmi2");
  const bool avx512 = avx2 && has.contains("avx512f") && has.contains("avx512vl") && has.contains("avx512dq") &&
                      has.contains("avx512bw") && has.contains("avx512cd");
  EXPECT_EQ(detail::best_instruction_set(), avx512 ? detail::InstructionSet::avx512
                                            : avx2 ? detail::InstructionSet::avx2
                                            : sse4 ? detail::InstructionSet::sse4
                                                   : detail::InstructionSet::baseline);
}

TEST(Reduce, EveryKernelGivesTheReferencesBits) {
  const std::size_t counts[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 64, 1000};
  on_each_target([&] {
    Random random(20260101);
    for (const auto& c : all_legal()) {
      const Kernel kernel = kernel_for(c.op, c.dtype, c.tag);
      ASSERT_TRUE(kernel) << name(c);
      const std::size_t element = kernel.element_bytes();
      ASSERT_EQ(element, element_bytes(c.dtype, c.op, c.tag));
      for (const std::size_t count : counts) {
        const auto a = random_vector(random, c, count), b = random_vector(random, c, count);
        auto expected = a;
        reference_reduce(c.op, c.dtype, c.tag, expected.data(), b.data(), count);
        const std::size_t shift_a = random.below(64), shift_b = random.below(64);
        // The buffer on the heap is exactly as large as needed, so that the sanitizer notices one byte too many; guard
        // bytes inside cover the rest.
        std::vector<char> to(shift_a + a.size() + 64, char{0x5a}), from(shift_b + b.size());
        if (!a.empty()) std::memcpy(to.data() + shift_a, a.data(), a.size());
        if (!b.empty()) std::memcpy(from.data() + shift_b, b.data(), b.size());
        bool untouched;
        {
          const HostileEnvironment host;
          kernel(to.data() + shift_a, from.data() + shift_b, count);
          untouched = host.untouched();
        }
        ASSERT_TRUE(untouched) << name(c) << ": the host's floating-point environment was changed";
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(std::memcmp(to.data() + shift_a + i * element, expected.data() + i * element, element), 0)
              << name(c) << " count " << count << " element " << i;
        for (std::size_t i = 0; i < shift_a; ++i) ASSERT_EQ(to[i], 0x5a) << name(c) << " wrote before its vector";
        for (std::size_t i = shift_a + a.size(); i < to.size(); ++i)
          ASSERT_EQ(to[i], 0x5a) << name(c) << " wrote behind its vector";
      }
    }
  });
}

TEST(Reduce, CombineIntoAThirdBufferOrEitherOperand) {
  Random random(3);
  for (const auto& c : all_legal()) {
    SCOPED_TRACE(name(c));
    const std::size_t count = 37;
    const auto a = random_vector(random, c, count), b = random_vector(random, c, count);
    const Kernel kernel = kernel_for(c.op, c.dtype, c.tag);
    std::vector<char> out(a.size()), in_a = a, in_b = b;
    kernel.combine(out.data(), a.data(), b.data(), count);
    kernel.combine(in_a.data(), in_a.data(), b.data(), count);
    kernel.combine(in_b.data(), a.data(), in_b.data(), count);
    EXPECT_EQ(out, in_a);
    EXPECT_EQ(out, in_b);
    EXPECT_EQ(Errc::ok, reduce(c.op, c.dtype, c.tag, std::vector<char>(a).data(), b.data(), count));
  }
}

TEST(Reduce, OrderDoesNotMatterButForFloatingSumsAndProducts) {
  Random random(5);
  for (const auto& c : all_legal()) {
    SCOPED_TRACE(name(c));
    const std::size_t count = 200;
    const Kernel kernel = kernel_for(c.op, c.dtype, c.tag);
    std::vector<std::vector<char>> inputs;
    for (int i = 0; i < 4; ++i) inputs.push_back(random_vector(random, c, count));
    const auto in_order = [&] {
      auto sum = inputs[0];
      for (std::size_t i = 1; i < inputs.size(); ++i) kernel(sum.data(), inputs[i].data(), count);
      return sum;
    };
    // The two operands may always be exchanged.
    auto ab = inputs[0], ba = inputs[1];
    kernel(ab.data(), inputs[1].data(), count);
    kernel(ba.data(), inputs[0].data(), count);
    EXPECT_EQ(ab, ba);
    if (is_float(c.dtype) && (c.op == Op::sum || c.op == Op::prod)) continue;
    const auto first = in_order();
    for (int round = 0; round < 5; ++round) {
      random.shuffle(std::span(inputs));
      ASSERT_EQ(in_order(), first);
    }
  }
}

/// Tests all 65536 bit patterns against a selection of others, for the types where that is possible.
TEST(Reduce, SixteenBitFloatsThroughAllTheirValues) {
  std::vector<std::uint16_t> all(65536);
  for (unsigned i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  const std::uint16_t others[] = {0x0000, 0x0001, 0x8001, 0x03ff, 0x3c00, 0x3c01,
                                  0x7bff, 0x3f80, 0x0080, 0x7f7f, 0x7c00, 0x7f80};
  on_each_target([&] {
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16})
      for (const Op op : {Op::sum, Op::prod, Op::min, Op::max})
        for (const std::uint16_t other : others) {
          const std::vector<std::uint16_t> b(all.size(), other);
          auto got = all, expected = all;
          ASSERT_EQ(reduce(op, dtype, Dtype::null, got.data(), b.data(), all.size()), Errc::ok);
          reference_reduce(op, dtype, Dtype::null, expected.data(), b.data(), all.size());
          for (std::size_t i = 0; i < all.size(); ++i)
            ASSERT_EQ(got[i], expected[i])
                << fmt::format("{} {} {:#06x} {:#06x}", to_string(op), to_string(dtype), i, other);
        }
  });
}

TEST(Reduce, WhatIsNotLegalHasNoKernel) {
  float x = 1, y = 2;
  EXPECT_FALSE(kernel_for(Op::band, Dtype::float32));
  EXPECT_FALSE(kernel_for(Op::minloc, Dtype::int8, Dtype::float32));
  EXPECT_FALSE(kernel_for(Op::null, Dtype::int32));
  EXPECT_FALSE(kernel_for(Op::sum, Dtype::null));
  EXPECT_FALSE(kernel_for(static_cast<Op>(77), static_cast<Dtype>(99)));
  EXPECT_EQ(reduce(Op::lxor, Dtype::float32, Dtype::null, &x, &y, 1), Errc::unsupported);
  EXPECT_EQ(x, 1);
}

}  // namespace
}  // namespace sumac::reduce
