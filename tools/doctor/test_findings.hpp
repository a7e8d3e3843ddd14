#pragma once
// Tests of findings ask here whether one fault is found, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/doctor/finding.hpp"

namespace sumac::tools::doctor {

/// Expects at least one finding that is not well, and that each such one is about `subject` with these words.
inline void expect_only(const Findings& findings, const char* subject, Health health, const char* found,
                        const char* remedy) {
  bool is_named = false;
  for (const auto& each : findings) {
    if (each.health == Health::well) continue;
    EXPECT_EQ(each.subject, subject) << each.found;
    EXPECT_EQ(each.health, health) << each.found;
    EXPECT_THAT(each.found, ::testing::HasSubstr(found));
    EXPECT_THAT(each.remedy, ::testing::HasSubstr(remedy));
    is_named = true;
  }
  EXPECT_TRUE(is_named);
}

}  // namespace sumac::tools::doctor
