#include "tools/run/wrapper_words.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

namespace sumac::tools {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

TEST(WrapperWords, the_command_stands_behind_the_wrappers_own_words) {
  const struct {
    const char* words;
    const char* command;  ///< The first word of the command; empty: the words are no wrapper with a command.
  } rows[] = {
      {"env A=1 B=2 ./p", "./p"},
      {"/usr/bin/env -u X -C /tmp A=1 ./p", "./p"},
      {"env -i ./p", "./p"},
      {"env", ""},
      {"env A=1", ""},
      {"env -S x ./p", ""},
      {"numactl -N 0 -m 0 ./p -N 1", "./p"},
      {"numactl --cpunodebind=0 --membind 0 -l ./p", "./p"},
      {"numactl -C0-3 ./p", "./p"},
      {"taskset 0x3 ./p", "./p"},
      {"taskset -c 0,1 ./p", "./p"},
      {"nice ./p", "./p"},
      {"nice -n 5 ./p", "./p"},
      {"nice -n5 ./p", "./p"},
      {"time -p ./p", "./p"},
      {"time -f %e -o out ./p", "./p"},
      {"timeout -s INT -k 5 60 ./p", "./p"},
      {"timeout 60", ""},
      {"stdbuf -oL -e 0 ./p", "./p"},
      {"nohup ./p", "./p"},
      {"nice -- ./p", "./p"},
      {"./p env A=1 ./q", ""},
      {"", ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.words);
    const auto words = split(row.words);
    const auto found = unwrap(words);
    EXPECT_EQ(found ? words[found->first] : "", row.command);
  }
}

TEST(WrapperWords, env_sets_and_withholds) {
  const auto words = split("env -i HCOLL_ENABLE_SHARP=3 B= ./p C=1");
  const auto found = unwrap(words);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->withheld, "env -i");
  EXPECT_EQ(found->settings, (std::vector<Setting>{{"HCOLL_ENABLE_SHARP", "3", 2}, {"B", "", 3}}));
}

}  // namespace
}  // namespace sumac::tools
