#include "base/published_defaults.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace sumac {
namespace {

TEST(PublishedDefaults, HoldWhereTheEnvironmentAsksForThem) {
  EXPECT_EQ(published_default("SHARP_COLL_SAT_THRESHOLD"), std::nullopt);
  ::setenv("SUMAC_DEFAULTS", "2018", 1);
  EXPECT_EQ(published_default("SHARP_COLL_SAT_THRESHOLD"), "1024");
  EXPECT_EQ(published_default("SHARP_COLL_PIPELINE_DEPTH"), std::nullopt) << "it is the same as ours";
  ::setenv("SUMAC_DEFAULTS", "sumac", 1);
  EXPECT_EQ(published_default("SHARP_COLL_SAT_THRESHOLD"), std::nullopt);
  ::unsetenv("SUMAC_DEFAULTS");
}

}  // namespace
}  // namespace sumac
