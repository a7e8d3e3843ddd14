// A client sees these parts of the interface: names, sizes and offsets in C and C++, and what the library exports.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#include "base/test_exports.hpp"
#include "bindings/hcoll/test_names.h"

extern "C" hcoll_any_function hcoll_functions_of_c(int index);
extern "C" const void* hcoll_data_of_c(int index);
extern "C" dte_data_representation_t* hcoll_types_of_c(int index);

namespace {

TEST(Names, EachHasOneAddressInCAndCpp) {
#define ADDRESS(name) reinterpret_cast<hcoll_any_function>(&name),
  const hcoll_any_function functions[] = {NAMES_OF_FUNCTIONS(ADDRESS) nullptr};
#define DATA(name) &name,
  const void* const data[] = {NAMES_OF_DATA(DATA) nullptr};
  int count = 0;
  for (; functions[count] != nullptr; ++count) EXPECT_EQ(functions[count], hcoll_functions_of_c(count)) << count;
  EXPECT_EQ(hcoll_functions_of_c(count), nullptr);
  for (count = 0; data[count] != nullptr; ++count) EXPECT_EQ(data[count], hcoll_data_of_c(count)) << count;
  EXPECT_EQ(hcoll_data_of_c(count), nullptr);
}

TEST(Names, TheLibraryExportsTheInterfaceAndNothingElse) {
#define NAME(name) #name,
  const std::set<std::string> expected = {NAMES_OF_FUNCTIONS(NAME) NAMES_OF_DATA(NAME)};
  EXPECT_EQ(sumac::test::exported_by(SUMAC_BINARY_DIR "/lib/libhcoll.so.1"), expected);
  EXPECT_EQ(sumac::test::exported_by(SUMAC_BINARY_DIR "/lib/libocoms.so.0"), std::set<std::string>());
}

/// As the tables say it: most are described in line, and the others by their number alone.
TEST(Names, TypesDescribeThemselves) {
  std::set<int> ids;
  for (int i = 0; hcoll_types_of_c(i) != nullptr; ++i) {
    const dte_data_representation_t& type = *hcoll_types_of_c(i);
    ids.insert(HCOL_DTE_PREDEFINED_ID(type));
    EXPECT_STRNE(hcoll_dte_dtype_name(type), "UNKNOWN");
    EXPECT_EQ(HCOL_DTE_IS_ZERO(type), HCOL_DTE_PREDEFINED_ID(type) == HCOL_DTE_ZERO);
    EXPECT_FALSE(HCOL_DTE_IS_COMPLEX(type));
    EXPECT_EQ(HCOL_DTE_IS_INLINE(type) != 0, type.id != HCOL_DTE_FLOAT128_COMPLEX);
  }
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(HCOL_DTE_MAX_PREDEFINED - 1));  // There is no object of derived types.
  EXPECT_FALSE(HCOL_DTE_IS_INLINE(DTE_FLOAT128_COMPLEX));
  EXPECT_EQ(HCOL_DTE_SIZE(DTE_FLOAT64), 8);
  EXPECT_EQ(HCOL_DTE_SIZE(DTE_FLOAT64_COMPLEX), 16);
  EXPECT_EQ(HCOL_DTE_SIZE(DTE_FLOAT128_COMPLEX), -1);
  EXPECT_EQ(HCOL_DTE_SIZE(DTE_DOUBLE_INT), 12);
  EXPECT_EQ(HCOL_DTE_EXTENT(DTE_DOUBLE_INT), 16);
  EXPECT_FALSE(HCOL_DTE_IS_CONTIG(DTE_DOUBLE_INT));
  EXPECT_TRUE(HCOL_DTE_IS_SIGNED(DTE_BYTE));
  EXPECT_FALSE(HCOL_DTE_IS_SIGNED(DTE_UINT64));
  EXPECT_TRUE(HCOL_DTE_IS_FIXED_SIZE(DTE_INT16));
  EXPECT_FALSE(HCOL_DTE_IS_FIXED_SIZE(DTE_FLOAT16));
  // The first byte of INT32: in line, of a fixed size, without gaps, one type, signed.
  EXPECT_EQ(DTE_INT32.rep.in_line_rep.data_handle.raw[0], 0x99);
  EXPECT_EQ(DTE_INT32.rep.in_line_rep.data_handle.raw[1], 32);
  EXPECT_STREQ(hcoll_dte_op_name(HCOL_OP_SUM), "SUM");
  EXPECT_STREQ(hcoll_dte_op_name(nullptr), "UNKNOWN");
  EXPECT_EQ(rte_ec_any_source.rank, -1);
  EXPECT_EQ(rte_ec_any_source.handle, nullptr);
  EXPECT_EQ(HCOLL_IN_PLACE, reinterpret_cast<void*>(1));
  EXPECT_STREQ(hcoll_get_version(), HCOLL_VERNO_STRING);
}

TEST(Names, TheToolPrintsTheVersionAndTheVariables) {
  const auto printed = [](const char* words) {
    std::string text;
    std::FILE* const tool = ::popen((std::string(SUMAC_BINARY_DIR "/bin/hcoll_info ") + words).c_str(), "r");
    char line[512];
    while (tool != nullptr && std::fgets(line, sizeof line, tool) != nullptr) text += line;
    EXPECT_EQ(::pclose(tool), 0);
    return text;
  };
  EXPECT_EQ(printed("-v"), "Version: v" HCOLL_VERNO_STRING " " HCOLL_GIT_SHA "\n");
  EXPECT_NE(printed("--all").find("HCOLL_ENABLE_SHARP (default: 0)\n"), std::string::npos);
  EXPECT_EQ(printed("-h").find("usage: hcoll_info"), 0u);
}

}  // namespace
