// A program sees these parts of the interface: names and sizes in C and C++, and what the library exports.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/test_exports.hpp"
#include "bindings/c/test_names.h"

using any_function = void (*)();
extern "C" any_function sumac_team_functions_of_c(int index);
extern "C" std::size_t sumac_team_params_bytes_of_c();

namespace {

TEST(Names, EachHasOneAddressInCAndCpp) {
#define ADDRESS(name) reinterpret_cast<any_function>(&name),
  const any_function functions[] = {NAMES_OF_FUNCTIONS(ADDRESS) nullptr};
  int index = 0;
  for (; functions[index] != nullptr; ++index) EXPECT_EQ(functions[index], sumac_team_functions_of_c(index)) << index;
  EXPECT_EQ(sumac_team_functions_of_c(index), nullptr);
  EXPECT_EQ(sizeof(sumac_team_params), sumac_team_params_bytes_of_c());
}

TEST(Names, TheLibraryExportsTheInterfaceAndNothingElse) {
#define NAME(name) #name,
  const std::set<std::string> expected = {NAMES_OF_FUNCTIONS(NAME)};
  EXPECT_EQ(sumac::test::exported_by(SUMAC_BINARY_DIR "/lib/libsumac_team.so.0"), expected);
}

}  // namespace
