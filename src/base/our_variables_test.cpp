#include "base/our_variables.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace sumac {
namespace {

class Environment {
 public:
  explicit Environment(std::vector<const char*> names) : names_(std::move(names)) {
    for (const char* name : names_) ::setenv(name, "1", 1);
  }
  ~Environment() {
    for (const char* name : names_) ::unsetenv(name);
  }

 private:
  std::vector<const char*> names_;
};

std::vector<std::string> sentences(std::span<const std::string> known, std::vector<std::string_view> prefixes) {
  std::vector<std::string> result;
  for (const auto& unknown : unknown_variables(known, prefixes)) result.push_back(to_string(unknown));
  return result;
}

const std::vector<std::string> kNode{"SUMAC_NODE_NAME", "SUMAC_NODE_DEVICE", "SUMAC_NODE_OST_COUNT", "name"};
const std::vector<std::string> kLibrary{"SHARP_COLL_ENABLE_SAT", "SUMAC_TRANSPORT", "SUMAC_NET_DEVICE",
                                        "SUMAC_COLL_WAIT"};

TEST(OurVariables, AProgramSpeaksOfItsOwnOnly) {
  const Environment set({"SUMAC_NODE_NAM", "SUMAC_NODE_NAME", "SUMAC_AM_FABRIK", "SHARP_COLL_ENABEL_SAT", "HCOLL_X"});
  EXPECT_EQ(sentences(kNode, {"SUMAC_NODE_"}),
            std::vector<std::string>{"unknown variable SUMAC_NODE_NAM: did you mean SUMAC_NODE_NAME?"});
  EXPECT_EQ(sentences(kLibrary, {"SHARP_COLL_", "SUMAC_COLL_", "SUMAC_"}),
            std::vector<std::string>{"unknown variable SHARP_COLL_ENABEL_SAT: did you mean SHARP_COLL_ENABLE_SAT?"});
}

TEST(OurVariables, AMistypedPrefixIsFoundByTheProgramItWasMeantFor) {
  const Environment set({"SUMAC_NOD_OST_COUNT"});
  EXPECT_EQ(sentences(kNode, {"SUMAC_NODE_"}),
            std::vector<std::string>{"unknown variable SUMAC_NOD_OST_COUNT: did you mean SUMAC_NODE_OST_COUNT?"});
  EXPECT_EQ(sentences({}, {"SUMAC_AM_"}), std::vector<std::string>{});
}

TEST(OurVariables, WhatIsNobodysIsForTheOneThatTakesAll) {
  const Environment set({"SUMAC_COMPLETELY_WRONG", "SUMAC_COLL_WAITT", "SUMAC_UCX_TLS", "SUMAC_SEED", "SUMAC_TRANSPORT",
                         "SUMAC_NODE_WHATEVER"});
  EXPECT_EQ(sentences(kNode, {"SUMAC_NODE_"}), std::vector<std::string>{"unknown variable SUMAC_NODE_WHATEVER"});
  EXPECT_EQ(sentences(kLibrary, {"SHARP_COLL_", "SUMAC_COLL_", "SUMAC_"}),
            (std::vector<std::string>{"unknown variable SUMAC_COLL_WAITT: did you mean SUMAC_COLL_WAIT?",
                                      "unknown variable SUMAC_COMPLETELY_WRONG"}));
}

TEST(OurVariables, AnotherProgramsRightNameIsNoSlipOfTheFinger) {
  const Environment set({"SUMAC_NET_DEVICE"});  // SUMAC_NET_DEVICE differs from SUMAC_NODE_DEVICE by three letters.
  EXPECT_EQ(sentences(kNode, {"SUMAC_NODE_"}), std::vector<std::string>{});
}

}  // namespace
}  // namespace sumac
