#include "base/listed.hpp"

#include <gtest/gtest.h>

namespace sumac {
namespace {

TEST(Listed, NamesEightAndCountsTheOthers) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed({"a"}, " and "), "a");
  EXPECT_EQ(listed({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(listed({"a", "b", "c"}, " and "), "a, b and c");
  std::vector<std::string> names{"1", "2", "3", "4", "5", "6", "7", "8"};
  EXPECT_EQ(listed(names, " and "), "1, 2, 3, 4, 5, 6, 7 and 8");
  names.emplace_back("9");
  EXPECT_EQ(listed(names, " and "), "1, 2, 3, 4, 5, 6, 7, 8 and 1 more");
}

}  // namespace
}  // namespace sumac
