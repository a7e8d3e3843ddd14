#include "tools/run/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sumac::tools {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kLevel = "HCOLL_ENABLE_SHARP=1 is set for the program: its collectives may use the tree";
constexpr const char* kHosts = "HCOLL_SHARP_NP=1 is set for the program: the tree serves communicators of one host too";
constexpr const char* kStreams =
    "SHARP_COLL_ENABLE_SAT=1 is set for the program: large operations may stream through the tree in chunks";

RunPlaces with_daemons(bool tree, bool one_host) {
  return {.socket = "/run/sharpd.sock", .libraries = "/lib", .tree = tree, .one_host = one_host};
}

TEST(RunEnvironment, EachVariableThatIsAddedIsExplained) {
  EXPECT_THAT(make_run_environment(with_daemons(false, true), {}, {}).remarks, ElementsAre(kStreams));
  EXPECT_THAT(make_run_environment(with_daemons(true, false), {}, {}).remarks, ElementsAre(kLevel, kStreams));
  const auto all = make_run_environment(with_daemons(true, true), {}, {});
  EXPECT_THAT(all.remarks, ElementsAre(kLevel, kHosts, kStreams));
  EXPECT_THAT(all.variables, Contains("HCOLL_SHARP_NP=1"));
}

TEST(RunEnvironment, NothingIsSaidOfVariablesThatAreThereAlready) {
  EXPECT_THAT(make_run_environment({.libraries = "/lib"}, {}, {}).remarks, IsEmpty()) << "without daemons";
  const auto inherited = make_run_environment(with_daemons(false, true), {"SHARP_COLL_ENABLE_SAT=0"}, {});
  EXPECT_THAT(inherited.remarks, IsEmpty());
  EXPECT_THAT(inherited.variables, Contains("SHARP_COLL_ENABLE_SAT=0"));
  const auto by_words = make_run_environment(with_daemons(false, true), {}, {"SHARP_COLL_ENABLE_SAT"});
  EXPECT_THAT(by_words.remarks, IsEmpty());
  EXPECT_THAT(by_words.variables, Not(Contains("SHARP_COLL_ENABLE_SAT=1")));
}

}  // namespace
}  // namespace sumac::tools
