#include "base/host_name.hpp"

#include <gtest/gtest.h>
#include <sys/utsname.h>

namespace sumac {
namespace {

TEST(HostName, IsTheKernels) {
  utsname kernel{};
  ASSERT_EQ(::uname(&kernel), 0);
  EXPECT_EQ(host_name(), kernel.nodename);
}

}  // namespace
}  // namespace sumac
