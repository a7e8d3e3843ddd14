#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace sumac {
namespace {

TEST(Utf8, LengthsOfCharactersAndOfNone) {
  const struct {
    std::string_view text;
    std::size_t length;
  } rows[] = {{"a", 1},
              {std::string_view("\0", 1), 1},
              {"\xc3\xa9!", 2},
              {"\xe2\x82\xac", 3},
              {"\xf0\x9f\x98\x80", 4},
              {"\x80", 0},  // The middle of a character.
              {"\xc3", 0},  // It is cut off.
              {"\xe2\x82", 0},
              {"\xc0\xaf", 0},  // Longer than need be.
              {"\xe0\x9f\xbf", 0},
              {"\xed\xa0\x80", 0},      // Half of a surrogate pair.
              {"\xf4\x90\x80\x80", 0},  // Beyond the last character.
              {"\xff", 0}};
  for (const auto& row : rows) EXPECT_EQ(utf8_length(row.text), row.length) << row.text;
}

}  // namespace
}  // namespace sumac
