#include "control/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sumac::control {
namespace {

const DaemonText kText{"sharp_x", "a test", "SUMAC_X_", {"allow_insecure"}};
const std::vector<std::string> kKeys{"listen", "allow_insecure", "socket"};

TEST(CommandLine, takes_keys_with_dashes_or_underscores_and_the_last_one_counts) {
  const char* words[] = {"--allow-insecure", "--listen", "a:1", "--listen=b:2", "-O", "file"};
  const auto line = parse_command_line(words, kText, kKeys);
  ASSERT_TRUE(line) << line.error().context;
  EXPECT_EQ(line->source().lookup("listen"), "b:2");
  EXPECT_EQ(line->source().lookup("allow_insecure"), "1");
  EXPECT_EQ(line->source().lookup("socket"), std::nullopt);
  EXPECT_EQ(line->config_file, "file");
}

TEST(CommandLine, a_wrong_word_is_named_with_its_remedy) {
  const struct {
    const char* name;
    std::vector<const char*> words;
    const char* says;
  } rows[] = {
      {"a typing mistake", {"--lisen", "x"}, "did you mean --listen?"},
      {"nothing like it", {"--zzzzzzzzzzz"}, "see --help"},
      {"a value is missing", {"--listen"}, "--listen needs a value"},
      {"a bare word", {"file.yaml"}, "unexpected argument file.yaml"},
      {"a descriptor that is none", {"--ready-fd", "x"}, "not a descriptor"},
      {"a descriptor that is not open", {"--ready-fd", "9999"}, "no such descriptor"},
      {"two dashes alone", {"--"}, "unexpected argument"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto line = parse_command_line(row.words, kText, kKeys);
    ASSERT_FALSE(line);
    EXPECT_THAT(line.error().context, testing::HasSubstr(row.says));
  }
}

TEST(CommandLine, ready_is_said_once_and_the_pipe_ends) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_TRUE(announce_ready(ends[1]));
  char text[16]{};
  EXPECT_EQ(::read(ends[0], text, sizeof text), 6);
  EXPECT_STREQ(text, "ready\n");
  EXPECT_EQ(::read(ends[0], text, sizeof text), 0);
  ::close(ends[0]);
  EXPECT_FALSE(announce_ready(ends[0]));
}

}  // namespace
}  // namespace sumac::control
