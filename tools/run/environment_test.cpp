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

TEST(RunEnvironment, AddressSanitizerIsToldThatOurLibraryMayComeFirst) {
  const auto environment = [](RunPlaces places, std::vector<std::string> inherited) {
    places.libraries = "/lib";
    places.address_sanitizer = true;
    return make_run_environment(places, inherited, {});
  };
  const auto preloaded = environment({.preload = "/lib/a.so"}, {});
  EXPECT_THAT(preloaded.variables, Contains("ASAN_OPTIONS=verify_asan_link_order=0"));
  EXPECT_THAT(preloaded.remarks,
              ElementsAre("ASAN_OPTIONS=verify_asan_link_order=0 is set for the program: AddressSanitizer "
                          "lets a library be loaded before its own"));
  EXPECT_THAT(environment({.preload = "/lib/a.so"}, {"ASAN_OPTIONS=detect_leaks=0"}).variables,
              Contains("ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0"));
  EXPECT_THAT(environment({.preload = "/lib/a.so"}, {"ASAN_OPTIONS=verify_asan_link_order=1"}).variables,
              Contains("ASAN_OPTIONS=verify_asan_link_order=1"));
  EXPECT_THAT(environment({}, {"LD_PRELOAD=/lib/a.so"}).variables, Contains("ASAN_OPTIONS=verify_asan_link_order=0"))
      << "the user's own";
  EXPECT_THAT(environment({}, {}).variables, Not(Contains(testing::HasSubstr("ASAN")))) << "nothing is preloaded";
  EXPECT_THAT(environment({.preload = "/lib/a.so"}, {"LD_PRELOAD=libasan.so.8"}).variables,
              testing::AllOf(Contains("LD_PRELOAD=libasan.so.8:/lib/a.so"), Not(Contains(testing::HasSubstr("ASAN")))));
}

}  // namespace
}  // namespace sumac::tools
