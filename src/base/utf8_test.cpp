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

TEST(Utf8, PrintableTextSteersNoTerminal) {
  const struct {
    const char* name;
    std::string_view text, shown;
  } rows[] = {
      {"plain text stays", "host-a: ok", "host-a: ok"},
      {"characters of several bytes stay", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac"},
      {"a sequence for the terminal", "\x1b[31m\n\x7f", "?[31m??"},
      {"its form of two bytes",
       "\xc2\x9b"
       "31m",
       "??31m"},
      {"bytes that are no character", "\xc0\x80\xe0\x80\x80\xff\xc3", "???????"},
      {"half of a surrogate pair", "\xed\xa0\x80", "???"},
      {"a turned direction, a broken line",
       "\xe2\x80\xae"
       "evil\xe2\x81\xa6\xe2\x80\xa8",
       "???evil??????"},
  };
  for (const auto& row : rows) EXPECT_EQ(printable(row.text), row.shown) << row.name;
}

}  // namespace
}  // namespace sumac
