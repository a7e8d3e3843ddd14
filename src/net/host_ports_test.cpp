#include "net/host_ports.hpp"

#include <gtest/gtest.h>
#include <net/if.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/test_folder.hpp"

namespace sumac::net {
namespace {

namespace fs = std::filesystem;

/// A sysfs of our own, which is removed with the test.
class Sysfs : public testing::Test {
 protected:
  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }
  const TestFolder folder_{"sysfs"};
  const fs::path root_ = folder_.path;
};

const fs::path kAdapters = "class/infiniband";

TEST_F(Sysfs, APortIsFoundByItsInterfaceAndByItsAdapter) {
  write(kAdapters / "mlx5_0/ports/1/gid_attrs/ndevs/0", "enp1s0");  // For Ethernet the port names its interface.
  write(kAdapters / "mlx5_0/device/net/enp1s0/dev_port", "0");
  write(kAdapters / "mlx5_0/device/net/enp1s0_rep/dev_port", "0");
  write(kAdapters / "mlx4_0/device/net/ib0/dev_port", "0");  // These are the two ports of one InfiniBand adapter.
  write(kAdapters / "mlx4_0/device/net/ib1/dev_port", "1");
  write(kAdapters / "mlx5_1/device/net/of_another_namespace/dev_port", "0");
  const std::string interfaces[] = {"lo", "eth0", "ib0", "ib1", "enp1s0"};
  const std::vector<HostPort> expected = {
      {"lo", "", 1}, {"eth0", "", 1}, {"ib0", "mlx4_0", 1}, {"ib1", "mlx4_0", 2}, {"enp1s0", "mlx5_0", 1}};
  EXPECT_EQ(ports_of(interfaces, root_), expected);
}

TEST_F(Sysfs, WithoutAdaptersThereAreTheInterfaces) {
  const std::string interfaces[] = {"lo", "mlx5_0"};
  EXPECT_EQ(ports_of(interfaces, root_), (std::vector<HostPort>{{"lo", "", 1}, {"mlx5_0", "", 1}}));
  EXPECT_TRUE(ports_of({}, root_).empty());
}

TEST(HostPorts, ThisHostHasLoopback) {
  const auto ports = host_ports();
  ASSERT_TRUE(ports) << ports.error().context;
  EXPECT_EQ(std::ranges::count(*ports, "lo", &HostPort::interface), 1);
}

TEST(HostPorts, OwnAddressesAreKnown) {
  const struct {
    const char* address;
    bool own;
  } rows[] = {{"127.0.0.1:7", true}, {"127.9.9.9:7", true}, {"192.0.2.1:7", false}, {"[2001:db8::1]:7", false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.address);
    const auto own = is_own_address(*parse_address(row.address));
    ASSERT_TRUE(own) << own.error().context;
    EXPECT_EQ(*own, row.own);
  }
}

TEST(HostPorts, TheRoutingTableSaysWhereAnInterfaceLeads) {
  // 192.0.2.0/24 is not assigned to any network, so loopback does not lead there.
  const auto away = leads_to("lo", *parse_address("192.0.2.1:7"));
  ASSERT_TRUE(away) << away.error().context;
  EXPECT_FALSE(*away);
  const auto home = leads_to("lo", *parse_address("127.0.0.1:7"));
  ASSERT_TRUE(home) << home.error().context;
  EXPECT_TRUE(*home);
  EXPECT_FALSE(leads_to("nosuch0", *parse_address("127.0.0.1:7")));
}

}  // namespace
}  // namespace sumac::net
