#include "base/bound_port.hpp"

#include <gtest/gtest.h>

#include "base/fd.hpp"

namespace sumac {
namespace {

TEST(BoundPort, IsTheOneThatTheSystemChose) {
  const UniqueFd bound(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(bound.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here), 0);
  const auto port = bound_port(bound.get());
  ASSERT_NE(port, 0);
  here.sin_port = htons(port);
  EXPECT_NE(::bind(other.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here), 0) << "it is taken";
  const UniqueFd local(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(bound_port(local.get()), 0);
  EXPECT_EQ(bound_port(-1), 0);
}

}  // namespace
}  // namespace sumac
