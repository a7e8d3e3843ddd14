#include "tools/doctor/ucx_info.hpp"

#include <gtest/gtest.h>

namespace sumac::tools::doctor {
namespace {

// The form of UCX 1.13.1, cut down.
constexpr const char* kPrinted =
    "# Version 1.13.1\n"
    "# Git branch '<unknown>', revision 0000000\n"
    "#\n"
    "# Memory domain: self\n"
    "#     Component: self\n"
    "#\n"
    "#      Transport: self\n"
    "#         Device: memory0\n"
    "#           Type: loopback\n"
    "#  System device: <unknown>\n"
    "# Memory domain: tcp\n"
    "#      Transport: tcp\n"
    "#         Device: eth0\n"
    "#      Transport: tcp\n"
    "#         Device: lo\n"
    "#\n"
    "# Connection manager: tcp\n"
    "#      max_conn_priv: 2064 bytes";

TEST(UcxInfo, TransportsWithTheirDevices) {
  const auto ucx = parse_ucx_info(kPrinted);
  EXPECT_EQ(ucx.version, "1.13.1");
  ASSERT_EQ(ucx.transports.size(), 2U);
  EXPECT_EQ(ucx.transports[0].name, "self");
  EXPECT_EQ(ucx.transports[0].devices, Strings{"memory0"});
  EXPECT_EQ(ucx.transports[1].name, "tcp");
  EXPECT_EQ(ucx.transports[1].devices, (Strings{"eth0", "lo"}));
}

TEST(UcxInfo, VersionsOfOtherReleases) {
  EXPECT_EQ(parse_ucx_info("# UCT version=1.8.0 revision 57a1f22\n").version, "1.8.0");
  EXPECT_EQ(parse_ucx_info("# Library version: 1.15.0\n# API headers version: 1.16.0\n").version, "1.15.0");
}

TEST(UcxInfo, TextsOfAnotherForm) {
  for (const char* text : {"", "#", "Transport:", "# Device: eth0", "\n\n\n", "# Transport: \n# Device: "})
    EXPECT_TRUE(parse_ucx_info(text).transports.empty()) << text;
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "# Transport: t" + std::to_string(i) + "\n# Device: d\n";
  EXPECT_EQ(parse_ucx_info(many).transports.size(), 64U);
}

}  // namespace
}  // namespace sumac::tools::doctor
