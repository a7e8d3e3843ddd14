#include "tools/top/page.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace sumac::tools::top {
namespace {

TEST(TopPage, reads_numbers_with_and_without_labels) {
  const auto page =
      parse("# HELP a Help.\n# TYPE a gauge\na 3\nb{tree=\"0\"} 1.5\nb{tree=\"1\",kind=\"x,y}\"} 2e3\nlast 7");
  EXPECT_EQ(sum(page, "a"), 3);
  EXPECT_EQ(sum(page, "b"), 2001.5);
  EXPECT_EQ(sum(page, "b", "1"), 2000);
  EXPECT_EQ(page.at("b")[1].label("kind"), "x,y}");
  EXPECT_EQ(sum(page, "last"), 7);
  EXPECT_EQ(sum(page, "missing"), 0);
}

TEST(TopPage, no_control_character_of_a_page_reaches_a_terminal) {
  const auto page = parse("a{name=\"x\\\"\\\\\\n\x1b[2J\xc2\x9b\"} 1\n");
  EXPECT_EQ(page.at("a")[0].label("name"), "x\"\\??[2J??");
}

TEST(TopPage, what_is_wrong_is_skipped) {
  for (const auto* text : {"", "\n\n", "a", "a{", "a{x", "a{x=\"", "a{x=\"1\"", "a{x=\"1\"}", "a{} 1", "a nothing",
                           "a NaN", "a{x=\"1\";y=\"2\"} 1", "a{x=\"\\"}) {
    EXPECT_TRUE(parse(text).empty()) << text;
  }
}

TEST(TopPage, a_quantile_counts_only_what_is_new) {
  const auto page = [](int a, int b, int all) {
    const auto line = [](const char* bound, int count) {
      return "h_bucket{tree=\"0\",le=\"" + std::string(bound) + "\"} " + std::to_string(count) + "\n";
    };
    return parse(line("0.001", a) + line("0.002", b) + line("+Inf", all));
  };
  const auto before = page(100, 100, 100), now = page(110, 119, 120);
  EXPECT_EQ(quantile(before, now, "h", "0", 0.5), 0.001);
  EXPECT_EQ(quantile(before, now, "h", "0", 0.9), 0.002);
  EXPECT_TRUE(std::isinf(quantile(before, now, "h", "0", 1)));
  EXPECT_EQ(quantile(now, now, "h", "0", 0.5), 0) << "nothing is new";
  EXPECT_EQ(quantile(now, page(0, 4, 4), "h", "0", 0.5), 0.002) << "the daemon was started anew";
  EXPECT_EQ(quantile(before, now, "h", "1", 0.5), 0) << "no such tree";
}

}  // namespace
}  // namespace sumac::tools::top
