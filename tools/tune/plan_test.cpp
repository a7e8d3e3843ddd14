#include <gtest/gtest.h>

#include "tools/tune/plan.hpp"

namespace sumac::tools {
namespace {

/// Two algorithms over five sizes; the built-in choice changes from the first to the second after the third size.
Curves two(std::vector<double> flat, std::vector<double> blocks) {
  return {{8, 64, 512, 4096, 32768}, {{"flat", std::move(flat)}, {"blocks", std::move(blocks)}}, {0, 0, 0, 1, 1}};
}

TEST(Tune, WhatIsAsGoodAsBuiltInStaysBuiltIn) {
  for (const auto& measured : {two({100, 110, 200, 500, 4000}, {120, 130, 210, 400, 2000}),
                               two({100, 110, 200, 390, 4000}, {120, 130, 195, 400, 2000})}) {
    const auto chosen = choose(measured, 6);
    EXPECT_EQ(chosen, measured.built_in);
    EXPECT_TRUE(steps_of(measured, chosen).empty());
    EXPECT_TRUE(changes_of(measured, chosen).empty());
  }
}

TEST(Tune, AThresholdMovesWhereItPays) {
  const auto measured = two({100, 110, 200, 500, 4000}, {120, 80, 100, 250, 2000});
  const auto chosen = choose(measured, 6);
  EXPECT_EQ(chosen, (std::vector<std::size_t>{0, 1, 1, 1, 1}));
  EXPECT_EQ(steps_of(measured, chosen), (std::vector<Step>{{0, "flat"}, {9, "blocks"}}));
  const auto changes = changes_of(measured, chosen);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].first_bytes, 64u);
  EXPECT_EQ(changes[0].last_bytes, 512u);
  EXPECT_EQ(changes[0].from + " " + changes[0].to, "flat blocks");
  EXPECT_NEAR(changes[0].faster, 1.658, 0.001);
}

TEST(Tune, NoMoreStepsThanATableHolds) {
  Curves measured{{}, {{"a", {}}, {"b", {}}}, {}};
  for (std::size_t i = 0; i < 12; ++i) {
    measured.bytes.push_back(std::size_t{8} << i);
    measured.curves[0].ns.push_back(i % 2 == 0 ? 100 : 300);
    measured.curves[1].ns.push_back(i % 2 == 0 ? 300 : 100);
    measured.built_in.push_back(0);
  }
  EXPECT_EQ(steps_of(measured, choose(measured, 12)).size(), 12u);
  EXPECT_LE(steps_of(measured, choose(measured, 4)).size(), 4u);
  EXPECT_EQ(choose(measured, 1), measured.built_in);
}

TEST(Tune, WhatCannotBeHadIsNotChosen) {
  const auto measured = two({100, 110, 200, 0, 0}, {0, 0, 50, 400, 2000});
  EXPECT_EQ(choose(measured, 6), (std::vector<std::size_t>{0, 0, 1, 1, 1}));
}

TEST(Tune, CliffsOnBothSidesOfTheTolerance) {
  const auto found = [](std::vector<std::size_t> chosen, double second) {
    const Curves measured{{1024, 2048}, {{"flat", {100, second}}, {"blocks", {100, second}}}, {0, 0}};
    return cliffs_of(measured, chosen).size();
  };
  EXPECT_EQ(found({0, 0}, 84), 0u);  // A little faster than a smaller one.
  EXPECT_EQ(found({0, 0}, 82), 1u);  // Too much faster.
  EXPECT_EQ(found({0, 1}, 239), 0u);
  EXPECT_EQ(found({0, 1}, 241), 1u);  // More than 2.4 times the time for twice the size, at a change of algorithm.
  EXPECT_EQ(found({0, 0}, 300), 0u);  // Within one algorithm it is an effect of caches.
}

}  // namespace
}  // namespace sumac::tools
