#include "base/c_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sumac {
namespace {

TEST(CText, copies_what_fits_and_closes_it) {
  const struct {
    const char* name;
    std::size_t bytes;
    std::string text;
  } rows[] = {
      {"a buffer with space to spare", 8, "abc"},
      {"a buffer that the text and its zero just fill", 4, "abc"},
      {"a buffer that lacks one byte", 3, "ab"},
      {"a buffer of one byte", 1, ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    std::string buffer(9, 'x');
    copy_text("abc", buffer.data(), row.bytes);
    EXPECT_EQ(std::string(buffer.c_str()), row.text);
    EXPECT_EQ(buffer[row.text.size() + 1], 'x') << "no byte after the zero is written";
  }
  copy_text("abc", nullptr, 0);
}

}  // namespace
}  // namespace sumac
