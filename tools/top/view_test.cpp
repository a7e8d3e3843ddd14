#include "tools/top/view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sumac::tools::top {
namespace {

Samples page(int frames, int folds, int repeats, int strangers, int runs, const char* seconds) {
  std::string text = "sumac_build_info{name=\"an-leaf1\"} 1\nsumac_node_parent_up{tree=\"0\"} 1\n";
  const auto add = [&](const char* name, const std::string& value) {
    text += std::string("sumac_node_hop_") + name + "_total{tree=\"0\"} " + value + "\n";
  };
  add("frames", std::to_string(frames));
  add("folds", std::to_string(folds));
  add("repeats", std::to_string(repeats));
  add("sent", std::to_string(frames));
  add("strangers", std::to_string(strangers));
  add("runs", std::to_string(runs));
  add("run_seconds", seconds);
  return parse(text);
}

std::string hop_row(const Samples& before, const Samples& now) {
  const std::string text = view({{.endpoint = "e", .why = "", .before = before, .now = now, .seconds = 2}});
  const auto at = text.find("\nHOP ");
  return at == std::string::npos ? "" : text.substr(at + 1);
}

TEST(TopView, HasARowForAKernelThatAddsUp) {
  const std::string text = hop_row(page(1'000, 100, 4, 3, 500, "0.0001"), page(5'000, 500, 10, 7, 2'500, "0.0009"));
  EXPECT_EQ(text,
            "HOP       TREE  FRAMES/s  SUMS/s  REPEATS/s  SENT/s  STRANGERS  ns/FRAME\n"
            "an-leaf1     0      2000     200          3    2000          7       400\n");
}

TEST(TopView, KnowsNoTimeWhereTheKernelCountsNone) {
  const std::string text = hop_row(page(10, 1, 0, 0, 0, "0"), page(30, 3, 0, 0, 0, "0"));
  EXPECT_THAT(text, testing::EndsWith("          0         -\n"));
  EXPECT_THAT(hop_row({}, page(10, 1, 0, 0, 0, "0")), testing::HasSubstr("-       -          -       -"));
}

TEST(TopView, HasNoneWhereNoDatagramCame) { EXPECT_EQ(hop_row({}, page(0, 0, 0, 0, 0, "0")), ""); }

}  // namespace
}  // namespace sumac::tools::top
