#include "base/text.hpp"

#include <gtest/gtest.h>

namespace sumac {
namespace {

TEST(Text, trimmed_leaves_the_white_space_inside) {
  EXPECT_EQ(trimmed(" \ta b\t\r"), "a b");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(" \t\r"), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(Text, edit_distance_counts_what_was_typed_wrong) {
  EXPECT_EQ(edit_distance("abcd", "abcd"), 0U);
  EXPECT_EQ(edit_distance("abd", "abcd"), 1U) << "a letter is missing";
  EXPECT_EQ(edit_distance("abccd", "abcd"), 1U) << "a letter too many";
  EXPECT_EQ(edit_distance("abxd", "abcd"), 1U) << "another letter";
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
}

TEST(Text, letters_and_digits_are_those_of_ascii) {
  for (const char c : {'a', 'z', 'A', 'Z', '0', '9'}) EXPECT_TRUE(is_letter_or_digit(c)) << c;
  for (const char c : {'`', '{', '@', '[', '/', ':', '-', '\xe4'}) EXPECT_FALSE(is_letter_or_digit(c)) << c;
}

}  // namespace
}  // namespace sumac
