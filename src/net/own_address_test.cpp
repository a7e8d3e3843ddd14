#include "net/own_address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sys/eventfd.h>

#include "base/fd.hpp"

namespace sumac::net {
namespace {

constexpr unsigned kUp = IFF_UP | IFF_RUNNING, kNoCarrier = IFF_UP, kLo = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;

Interface of(const char* name, unsigned flags, const char* ip) {
  return {name, flags, *parse_address(std::string(ip) + ":0")};
}

TEST(OwnAddress, the_best_interface_is_one_that_others_reach) {
  const auto lo = of("lo", kLo, "127.0.0.1"), lo6 = of("lo", kLo, "[::1]"),
             bridge = of("docker0", kNoCarrier, "172.17.0.1"), eth0 = of("eth0", kUp, "10.0.0.1"),
             eth6 = of("eth0", kUp, "[fd00::1]"), local6 = of("eth0", kUp, "[fe80::1]"),
             off = of("eth1", 0, "10.0.0.2");
  const struct {
    const char* name;
    std::vector<Interface> all;
    const char* device;
    int family;
    const char* address;  ///< Empty: there is none.
  } rows[] = {
      {"a bridge without a carrier is skipped, though it is older", {lo, bridge, eth0}, "", AF_INET, "10.0.0.1:0"},
      {"the first of two", {lo, eth0, of("eth1", kUp, "10.0.0.2")}, "", AF_INET, "10.0.0.1:0"},
      {"an interface that is down is skipped", {off, eth0}, "", AF_INET, "10.0.0.1:0"},
      {"a bridge without a carrier is taken by name", {lo, bridge, eth0}, "docker0", AF_INET, "172.17.0.1:0"},
      {"an interface that is down is not taken by name", {lo, off}, "eth1", AF_INET, ""},
      {"a host of IPv6 alone, where either will do", {lo, lo6, local6, eth6}, "", AF_UNSPEC, "[fd00::1]:0"},
      {"a host of IPv6 alone, where IPv4 is wanted", {lo, lo6, eth6}, "", AF_INET, "127.0.0.1:0"},
      {"IPv4 goes first where either will do", {lo, eth6, eth0}, "", AF_UNSPEC, "10.0.0.1:0"},
      {"loopback, where other hosts are not reached but on the link", {local6, lo6, lo}, "", AF_UNSPEC, "127.0.0.1:0"},
      {"link-local before loopback in IPv6", {lo, lo6, local6}, "", AF_INET6, "[fe80::1]:0"},
      {"a device of IPv6 alone", {lo, eth0, of("ib0", kUp, "[fd00::2]")}, "ib0", AF_UNSPEC, "[fd00::2]:0"},
      {"a device that is not there", {lo, eth0}, "eth7", AF_UNSPEC, ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto best = best_interface(row.all, row.device, row.family);
    EXPECT_EQ(best ? format_address(best->address) : "", row.address);
  }
}

TEST(OwnAddress, towards_this_host_it_is_its_own) {
  for (const char* host : {"127.0.0.1", "localhost"}) {
    SCOPED_TRACE(host);
    const auto own = address_towards(host);
    ASSERT_TRUE(own) << own.error().context;
    EXPECT_TRUE(own->loopback);
    EXPECT_EQ(own->device, "lo");
    EXPECT_EQ(own->address.port(), 0);
  }
  EXPECT_EQ(address_towards("127.0.0.1")->ip(), "127.0.0.1");
  EXPECT_EQ(address_towards("localhost")->ip(), "127.0.0.1") << "IPv4 goes first";
}

TEST(OwnAddress, an_interrupted_look_up_returns_at_once) {
  const UniqueFd interrupt(eventfd(1, EFD_CLOEXEC));
  const auto own = address_towards("host.invalid", interrupt.get());
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().code, Errc::interrupted);
  EXPECT_THAT(own.error().context, testing::HasSubstr("host.invalid was looked up"));
}

TEST(OwnAddress, the_host_of_an_endpoint) {
  EXPECT_EQ(host_of("10.0.0.1:7"), "10.0.0.1");
  EXPECT_EQ(host_of("[fd00::1]:7"), "fd00::1");
  EXPECT_EQ(host_of("manager:6126"), "manager");
}

}  // namespace
}  // namespace sumac::net
