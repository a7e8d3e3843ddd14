// A program sees these parts of the interface: names, sizes and offsets in C and C++, and what the library exports.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/test_exports.hpp"
#include "bindings/xccl/test_names.h"

extern "C" xccl_any_function xccl_functions_of_c(int index);

namespace {

TEST(Names, AFunctionHasOneAddressInCAndCpp) {
#define ADDRESS(name) reinterpret_cast<xccl_any_function>(&name),
  const xccl_any_function all[] = {NAMES_OF_FUNCTIONS(ADDRESS) nullptr};
  int count = 0;
  for (; all[count] != nullptr; ++count) EXPECT_EQ(all[count], xccl_functions_of_c(count)) << count;
  EXPECT_EQ(xccl_functions_of_c(count), nullptr);
}

TEST(Names, TheLibraryExportsTheInterfaceAndNothingElse) {
#define NAME(name) #name,
  const std::set<std::string> expected = {NAMES_OF_FUNCTIONS(NAME)};
  EXPECT_EQ(sumac::test::exported_by(SUMAC_BINARY_DIR "/lib/libxccl.so.1"), expected);
}

TEST(Names, OfTeamLibrariesAndTheirBits) {
  for (const char* name : {"ucx", "hier", "sharp", "hmc", "shmseg", "mrail", "nccl", "mpod"})
    EXPECT_STREQ(xccl_tl_str(xccl_tls_str_to_bitmap(name)), name);
  EXPECT_EQ(xccl_tls_str_to_bitmap("ucx,sharp"), XCCL_TL_UCX | XCCL_TL_SHARP);
  EXPECT_EQ(xccl_tls_str_to_bitmap(nullptr), XCCL_TL_NULL);
  EXPECT_EQ(xccl_tls_str_to_bitmap("none"), XCCL_TL_NULL);
  EXPECT_EQ(xccl_tl_str(XCCL_TL_NULL), nullptr);
}

TEST(Names, ARangeNamesRanks) {
  int map[] = {4, 2};
  xccl_ep_range_t range{};
  EXPECT_EQ(xccl_range_to_rank(range, 1), -1);
  range.type = XCCL_EP_RANGE_FULL;
  EXPECT_EQ(xccl_range_to_rank(range, 1), 1);
  range.type = XCCL_EP_RANGE_STRIDED;
  range.strided = {7, -3};
  EXPECT_EQ(xccl_range_to_rank(range, 1), 4);
  range.type = XCCL_EP_RANGE_MAP;
  range.map.map = map;
  EXPECT_EQ(xccl_range_to_rank(range, 1), 2);
  range.type = XCCL_EP_RANGE_CB;
  range.cb = {[](int rank, void* by) { return rank + *static_cast<int*>(by); }, map};
  EXPECT_EQ(xccl_range_to_rank(range, 1), 5);
}

}  // namespace
