// A program sees these parts of the interface: names, sizes and offsets in C and C++, and what the library exports.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#include "base/test_exports.hpp"
#include "bindings/ucc/test_names.h"

extern "C" ucc_any_function ucc_functions_of_c(int index);

namespace {

TEST(Names, AFunctionHasOneAddressInCAndCpp) {
  const auto of_cpp = [](auto* function) { return reinterpret_cast<ucc_any_function>(function); };
#define ADDRESS(name) of_cpp(&name),
  const ucc_any_function all[] = {NAMES_OF_FUNCTIONS(ADDRESS) nullptr};
  const std::set<ucc_any_function> inlined = {of_cpp(&ucc_init), of_cpp(&ucc_collective_test)};
  int count = 0;
  for (; all[count] != nullptr; ++count) {
    if (!inlined.contains(all[count])) {
      EXPECT_EQ(all[count], ucc_functions_of_c(count)) << count;
    }
  }
  EXPECT_EQ(ucc_functions_of_c(count), nullptr);
}

TEST(Names, TheLibraryExportsTheInterfaceAndNothingElse) {
#define NAME(name) #name,
  std::set<std::string> expected = {NAMES_OF_FUNCTIONS(NAME)};
  expected.erase("ucc_init");
  expected.erase("ucc_collective_test");
  EXPECT_EQ(sumac::test::exported_by(SUMAC_BINARY_DIR "/lib/libucc.so.1"), expected);
}

TEST(Names, EachStatusHasAText) {
  std::set<std::string> texts;
  for (int status = UCC_ERR_IO_ERROR; status <= UCC_OPERATION_INITIALIZED; ++status)
    texts.insert(ucc_status_string(static_cast<ucc_status_t>(status)));
  EXPECT_EQ(texts.size(), 12u);
  EXPECT_STREQ(ucc_status_string(static_cast<ucc_status_t>(-77)), ucc_status_string(UCC_ERR_LAST));
}

TEST(Names, TheVersionIsThatOfTheHeaders) {
  unsigned major = 0, minor = 0, release = 9;
  ucc_get_version(&major, &minor, &release);
  EXPECT_EQ(major, static_cast<unsigned>(UCC_API_MAJOR));
  EXPECT_EQ(minor, static_cast<unsigned>(UCC_API_MINOR));
  EXPECT_EQ(release, 0u);
  EXPECT_STREQ(ucc_get_version_string(), UCC_VERSION_STRING);
}

}  // namespace
