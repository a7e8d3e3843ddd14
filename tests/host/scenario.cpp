#include "tests/host/scenario.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "tests/host/values.hpp"

namespace sumac::tests {
namespace {

/// Sizes in bytes at which a program may change its algorithm: cache lines and the most that fits into one beside a
/// number, pages, powers of two, and measured values in between (96, 192, 448 KiB). Elements around them are drawn.
constexpr std::size_t kThresholds[] = {8,     16,    32,    40,     48,     56,     64,     96,     112,    128,
                                       192,   256,   512,   1024,   2048,   4096,   8192,   12288,  16384,  32768,
                                       49152, 65536, 98304, 131072, 196608, 262144, 458752, 524288, 1048576};
constexpr std::size_t kSmallThresholds = 22;  // the first 22 thresholds are at most 64 KiB
static_assert(kThresholds[kSmallThresholds - 1] == 64 * 1024);
constexpr std::size_t kCaseBytesMax = 2U << 20;  ///< The most bytes in all blocks of a rank.

bool reduces(Coll coll) { return coll::collective(coll).reduces; }
/// True if a rank, or the root alone, has blocks of several others in its buffers.
bool has_blocks(Coll coll) {
  return coll != Coll::barrier && (coll::collective(coll).gives != coll::Share::vector || coll == Coll::reduce_scatter);
}

std::size_t draw_count(Random& random, Coll coll, std::size_t width, std::size_t ranks) {
  const std::size_t blocks = has_blocks(coll) ? ranks : 1;
  std::size_t count = 0;
  switch (random.below(20)) {
    case 0: count = 0; break;
    case 1:
    case 2: count = 1; break;
    case 3:
    case 4:
    case 5: count = 1 + 2 * random.below(16); break;
    default: {
      // One case in eight is larger than 64 KiB: such cases take a hundred times as long.
      const std::size_t last = random.below(8) == 0 ? std::size(kThresholds) : kSmallThresholds;
      std::size_t bytes = kThresholds[random.below(last)];
      if (random.below(3) == 0) bytes /= blocks;  // a threshold may apply to the whole, or to one block
      const std::size_t at = bytes / width;
      count = at + random.below(3);
      count -= std::min<std::size_t>(count, 1);
    }
  }
  return std::min(count, kCaseBytesMax / (width * blocks));
}

Step draw_step(Random& random, std::size_t ranks, const std::vector<Coll>& only) {
  Step step;
  // Barrier has no sizes to try, so it gets one case in twenty.
  step.coll = random.below(20) == 0 ? Coll::barrier : static_cast<Coll>(1 + random.below(kColls - 1));
  if (!only.empty()) step.coll = only[random.below(only.size())];
  step.form = static_cast<Form>(std::max<int>(0, static_cast<int>(random.below(5)) - 2));
  step.key = random.next();
  step.root_draw = static_cast<std::uint32_t>(random.next() >> 40);
  // Half of the drawn types are the three that programs use.
  step.type = random.below(2) == 0 ? random.below(3) : random.below(type_count());
  if (reduces(step.coll)) {
    // One reduction in twenty has the operation that does not commute: its type is the last of the table.
    if (random.below(20) == 0) step.type = type_count() - 1;
    while (type(step.type).is_moved_only) step.type = random.below(type_count());
    do step.operation = random.below(operation_count());
    while (!is_legal(type(step.type), operation(step.operation)));
  }
  step.count = draw_count(random, step.coll, extent(type(step.type).kind), ranks);
  step.in_place = step.coll != Coll::bcast && step.coll != Coll::barrier && random.below(4) == 0;
  const Kind kind = type(step.type).kind;  // types without padding, whose bits are undefined
  step.is_rough = reduces(step.coll) && random.below(2) == 0 && operation(step.operation).fold == Fold::sum &&
                  (kind == Kind::f32 || kind == Kind::f64);
  step.has_own_types =
      reduces(step.coll) ? operation(step.operation).is_user && mix(step.key, 41) % 2 == 0 : random.below(2) == 0;
  step.starts = step.form == Form::persistent ? 1 + static_cast<int>(random.below(3)) : 1;
  return step;
}

}  // namespace

std::uint64_t mix(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  SplitMix64 first(a ^ (b * 0x9e3779b97f4a7c15U));
  SplitMix64 second(first.next() ^ (c * 0xd6e8feb86659fd93U));
  return second.next() ^ (d * 0xa0761d6478bd642fU);
}

Scenario draw_scenario(std::uint64_t seed, int ranks, bool is_tame, const std::vector<Coll>& only) {
  Random random{seed};
  Scenario scenario;
  scenario.seed = seed;
  // The world serves half of the cases.
  scenario.where = random.below(2) == 0 ? Where::world : static_cast<Where>(random.below(kPlaces));
  scenario.is_skewed = random.below(8) == 0;
  const std::uint64_t steps = random.below(3) == 0 ? 2 + random.below(3) : 1;
  for (std::uint64_t i = 0; i < steps; ++i)
    scenario.steps.push_back(draw_step(random, static_cast<std::size_t>(ranks), only));
  if (is_tame) {
    for (auto& step : scenario.steps) {
      step.has_own_types = false;
      step.form = Form::blocking;
      step.starts = 1;
    }
  }
  return scenario;
}

std::string to_string(Form form) {
  constexpr const char* kNames[] = {"blocking", "nonblocking", "persistent"};
  return kNames[static_cast<int>(form)];
}
std::string to_string(Where where) {
  constexpr const char* kNames[] = {"world", "duplicate", "reversed", "odd_even", "halves_reversed", "single", "fresh"};
  return kNames[static_cast<int>(where)];
}

std::string describe(const Step& step) {
  std::string text = fmt::format("{} {}", to_string(step.form), to_string(step.coll));
  if (step.coll == Coll::barrier) return text;
  text += fmt::format(" {} x {}", step.count, type(step.type).name);
  if (reduces(step.coll)) text += fmt::format(" {}", operation(step.operation).name);
  if (coll::collective(step.coll).has_root) text += fmt::format(" root {}", step.root_draw);
  if (step.in_place) text += " in place";
  if (step.is_rough) text += " rough";
  if (step.has_own_types) text += " own types";
  return text;
}

}  // namespace sumac::tests
