#include "base/boot_id.hpp"

#include <gtest/gtest.h>

namespace sumac {
namespace {

TEST(BootId, IsTheSameForAsLongAsTheKernelRuns) {
  EXPECT_EQ(boot_id().size(), 36u) << boot_id();
  EXPECT_EQ(boot_id(), boot_id());
}

}  // namespace
}  // namespace sumac
