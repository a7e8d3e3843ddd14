#include "machine/dev_shm.hpp"

#include <gtest/gtest.h>

namespace sumac::machine {
namespace {

TEST(DevShm, a_place_that_exists_has_some_room_or_none) {
  const auto room = free_bytes("/");
  ASSERT_TRUE(room) << room.error().context;
}

TEST(DevShm, a_place_that_does_not_exist_is_named) {
  const auto room = free_bytes("/nonexistent/shm");
  ASSERT_FALSE(room);
  EXPECT_NE(room.error().context.find("/nonexistent/shm"), std::string::npos) << room.error().context;
}

}  // namespace
}  // namespace sumac::machine
