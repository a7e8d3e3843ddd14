#pragma once
// For tests in the seeded world: the seeds of a run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "base/result.hpp"

namespace sumac::p2p::test {

/// Calls `body` for 1 to `count` until one fails, or for SUMAC_SEED alone.
inline void each_seed(std::uint64_t count, const std::function<void(std::uint64_t)>& body) {
  const char* only = std::getenv("SUMAC_SEED");
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    if (only != nullptr && std::strtoull(only, nullptr, 10) != seed) continue;
    SCOPED_TRACE(fmt::format("rerun with SUMAC_SEED={}", seed));
    body(seed);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace sumac::p2p::test
