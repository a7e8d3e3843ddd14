#include "base/log_limit.hpp"

#include <gtest/gtest.h>

namespace sumac {
namespace {

TEST(LogLimit, the_first_of_a_kind_at_once_then_one_a_minute_with_the_count) {
  LogLimit limit(Seconds(60));
  const struct {
    const char* name;
    const char* kind;
    Duration when;
    std::optional<std::string> says;
  } rows[] = {
      {"the first", "rubbish", Seconds(1), ""},
      {"within its minute", "rubbish", Seconds(1), std::nullopt},
      {"another kind has a minute of its own", "bad key", Seconds(2), ""},
      {"at the minute's last instant", "rubbish", Seconds(61) - Nanos(1), std::nullopt},
      {"when it is over: this one, and two before it", "rubbish", Seconds(61), " (2 more such lines left out)"},
      {"the next minute", "rubbish", Seconds(62), std::nullopt},
      {"a kind that was quiet meanwhile has nothing to add", "bad key", Seconds(500), ""},
      {"left out long ago", "rubbish", Seconds(500), " (1 more such line left out)"},
  };
  for (const auto& row : rows) EXPECT_EQ(limit.next(row.kind, at(row.when)), row.says) << row.name;
}

/// A peer that puts its name into the text of a kind gains no further lines by that.
TEST(LogLimit, kinds_without_end_share_one_line) {
  LogLimit limit(Seconds(60), 4);
  std::size_t lines = 0;
  for (int i = 0; i < 1000; ++i) lines += limit.next(fmt::format("kind {}", i), at(Seconds(1))).has_value();
  EXPECT_EQ(lines, 5U);
  EXPECT_EQ(limit.next("kind 5000", at(Seconds(61))), "") << "the places of kinds that are over are free again";
  for (int i = 0; i < 10; ++i) (void)limit.next("kind 0", at(Seconds(62)));
  EXPECT_EQ(limit.next("kind 0", at(Seconds(200))), " (9 more such lines left out)");
}

}  // namespace
}  // namespace sumac
