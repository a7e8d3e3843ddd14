#include "tools/chaos/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace sumac::tools::chaos {
namespace {

const Targets kTargets{{"an-root", "an-leaf1"}, {"h1", "h2", "h3"}, {{"leaf1", "root"}, {"h1", "leaf1"}}};

std::string thing_of(const Step& step) {
  return step.words[0] == "link" ? "link " + step.words[1] + " " + step.words[2] : "daemon " + step.words[1];
}

TEST(Schedule, EachFaultIsUndoneBeforeTheNextOneOfItsThing) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::map<std::string, Kind> disturbed;
    Duration before{};
    for (const auto& step : schedule(seed, kTargets, Seconds{60})) {
      EXPECT_GE(step.at, before);
      before = step.at;
      if (step.is_fault) {
        EXPECT_LT(step.at, Seconds{60});
        EXPECT_TRUE(disturbed.emplace(thing_of(step), step.kind).second) << seed << " " << thing_of(step);
      } else {
        const auto found = disturbed.find(thing_of(step));
        ASSERT_NE(found, disturbed.end()) << seed << " " << thing_of(step);
        EXPECT_EQ(found->second, step.kind);
        disturbed.erase(found);
      }
    }
    EXPECT_TRUE(disturbed.empty()) << seed;
  }
}

TEST(Schedule, ASeedGivesTheSameFaultsAndAllKindsCome) {
  std::set<Kind> kinds;
  std::set<std::string> words;
  for (const auto& step : schedule(7, kTargets, Seconds{300})) {
    kinds.insert(step.kind);
    words.insert(step.words.back());
  }
  EXPECT_EQ(kinds.size(), kKinds.size());
  for (const char* word : {"kill", "start", "stop", "cont", "down", "up"}) EXPECT_TRUE(words.contains(word)) << word;
  const auto one = schedule(7, kTargets, Seconds{30}), same = schedule(7, kTargets, Seconds{30}),
             other = schedule(8, kTargets, Seconds{30});
  EXPECT_TRUE(std::ranges::equal(one, same, {}, &Step::words, &Step::words));
  EXPECT_FALSE(std::ranges::equal(one, other, {}, &Step::words, &Step::words));
}

TEST(Schedule, WhatALabHasNotIsNotDisturbed) {
  for (const auto& step : schedule(3, {}, Seconds{60})) EXPECT_EQ(step.kind, Kind::manager_killed);
}

}  // namespace
}  // namespace sumac::tools::chaos
