#include "base/inline_vec.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace sumac {
namespace {

TEST(InlineVec, HoldsItemsInPlace) {
  InlineVec<int, 3> v{1, 2};
  EXPECT_EQ(v.size(), 2U);
  v.push_back(3);
  EXPECT_TRUE(v.full());
  EXPECT_EQ(v.back(), 3);
  EXPECT_GE(reinterpret_cast<char*>(v.data()), reinterpret_cast<char*>(&v));
  EXPECT_LT(reinterpret_cast<char*>(v.data()), reinterpret_cast<char*>(&v + 1));
  int sum = 0;
  for (const int i : v) sum += i;
  EXPECT_EQ(sum, 6);
  v.clear();
  EXPECT_TRUE(v.empty());
}

TEST(InlineVec, CopiesMovesComparesAndDestroys) {
  auto counted = std::make_shared<std::string>("x");
  {
    InlineVec<std::shared_ptr<std::string>, 4> a{counted, counted};
    auto b = a;
    EXPECT_EQ(a, b);
    EXPECT_EQ(counted.use_count(), 5);
    b.pop_back();
    EXPECT_FALSE(a == b);
    auto c = std::move(a);
    EXPECT_EQ(c.size(), 2U);
    EXPECT_TRUE(a.empty());  // NOLINT: a moved-from InlineVec is empty by contract
    b = c;
    b = std::move(c);
    EXPECT_EQ(counted.use_count(), 3);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(InlineVecDeathTest, OneTooManyIsOurMistake) {
#ifndef NDEBUG
  InlineVec<int, 1> v{1};
  EXPECT_DEATH(v.push_back(2), "InlineVec is full");
#endif
}

}  // namespace
}  // namespace sumac
