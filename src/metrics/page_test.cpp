#include "metrics/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sumac::metrics {
namespace {

using testing::HasSubstr;

TEST(Page, a_metric_has_its_help_its_type_and_a_line_for_each_value) {
  Page page;
  page.counter("sumac_node_verdicts_total", "Verdicts given.").value(3, {{"tree", "0"}}).value(4, {{"tree", "1"}});
  page.gauge("sumac_node_registered", "1 while the manager knows this node.").value(1);
  EXPECT_EQ(page.text(),
            "# HELP sumac_node_verdicts_total Verdicts given.\n"
            "# TYPE sumac_node_verdicts_total counter\n"
            "sumac_node_verdicts_total{tree=\"0\"} 3\n"
            "sumac_node_verdicts_total{tree=\"1\"} 4\n"
            "# HELP sumac_node_registered 1 while the manager knows this node.\n"
            "# TYPE sumac_node_registered gauge\n"
            "sumac_node_registered 1\n");
}

TEST(Page, large_numbers_keep_every_digit) {
  Page page;
  page.counter("c_total", "Help.").value(18446744073709551615ULL);
  EXPECT_THAT(page.text(), HasSubstr("c_total 18446744073709551615\n"));
}

TEST(Page, a_label_can_hold_any_text) {
  const struct {
    const char* name;
    std::string_view value, written;
  } rows[] = {
      {"quotes", "a\"b", "a\\\"b"},
      {"a backslash", "a\\b", "a\\\\b"},
      {"a new line", "a\nb", "a\\nb"},
      {"a forged line", "x\"} 1\nforged_total 7", "x\\\"} 1\\nforged_total 7"},
      {"angle brackets", "<script>", "<script>"},
      {"two bytes", "\xc3\xa4", "\xc3\xa4"},
      {"four bytes", "\xf0\x9f\x8c\xb2", "\xf0\x9f\x8c\xb2"},
      {"a byte of no character", "a\xff", "a\xef\xbf\xbd"},
      {"half a character", "a\xc3", "a\xef\xbf\xbd"},
      {"an overlong slash", "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
      {"a surrogate", "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Page page;
    page.gauge("g", "Help.").value(1, {{"name", row.value}});
    EXPECT_THAT(page.text(), HasSubstr("\ng{name=\"" + std::string(row.written) + "\"} 1\n"));
  }
}

TEST(Page, help_is_one_line) {
  Page page;
  page.gauge("g", "A \\ and\na \"quote\".").value(1);
  EXPECT_THAT(page.text(), HasSubstr("# HELP g A \\\\ and\\na \"quote\".\n"));
}

TEST(Page, a_histogram_adds_up_from_bucket_to_bucket) {
  Log2Histogram times;
  times.add(Nanos{5});     // shorter than the first bound
  times.add(Nanos{1024});  // the first bound itself
  times.add(Nanos{1025});
  times.add(Seconds{100});  // longer than the last bound
  Page page;
  page.histogram("h_seconds", "Help.").value(times, {{"tree", "2"}});
  const auto& text = page.text();
  EXPECT_THAT(text, HasSubstr("# TYPE h_seconds histogram\nh_seconds_bucket{tree=\"2\",le=\"1.024e-06\"} 2\n"
                              "h_seconds_bucket{tree=\"2\",le=\"2.048e-06\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("h_seconds_bucket{tree=\"2\",le=\"8.589934592\"} 3\n"
                              "h_seconds_bucket{tree=\"2\",le=\"+Inf\"} 4\n"
                              "h_seconds_sum{tree=\"2\"} 100.000002054\n"
                              "h_seconds_count{tree=\"2\"} 4\n"));
}

TEST(Page, build_info_escapes_a_name_from_the_command_line) {
  Page page;
  add_build_info(page, "sharp_an", "an\"1", "0.1");
  EXPECT_THAT(page.text(), HasSubstr("sumac_build_info{program=\"sharp_an\",name=\"an\\\"1\",version=\"0.1\"} 1\n"));
}

}  // namespace
}  // namespace sumac::metrics
