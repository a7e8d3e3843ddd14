#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <net/if.h>
#include <sys/socket.h>

#include <thread>

#include "kernel/filters.hpp"
#include "kernel/test_kernel.hpp"

namespace sumac::kernel {
namespace {

using namespace test;

/// A network namespace that lives as long as its descriptor.
class Namespace {
 public:
  Namespace() {
    std::thread([this] {
      if (unshare(CLONE_NEWNET) == 0) descriptor_ = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    }).join();
  }
  ~Namespace() { close(descriptor_); }
  Namespace(const Namespace&) = delete;
  Namespace& operator=(const Namespace&) = delete;

  std::string path() const { return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_); }

  /// Runs `work` in it.
  template <class Work>
  void enter(const Work& work) const {
    std::thread([&] {
      ASSERT_EQ(setns(descriptor_, CLONE_NEWNET), 0);
      work();
    }).join();
  }

 private:
  int descriptor_ = -1;
};

void shell(const std::string& command) { ASSERT_EQ(std::system((command + " >/dev/null 2>&1").c_str()), 0) << command; }

struct Way {
  bool ipv6;
  bool members_offload;  ///< Members leave checksums to their devices, and accept frames whose sums are left open.
  bool node_offloads;
};

/// Two hosts, each behind a port of the node of its own, and the sockets of their members.
class HopWay : public ::testing::TestWithParam<Way> {
 protected:
  static constexpr std::uint32_t kGroup = 0, kNumbers = 20;

  std::string text(unsigned n) const { return fmt::format("{}{}", GetParam().ipv6 ? "fd00::" : "10.0.0.", n); }

  void connect_host(unsigned child) {
    const std::string node_end = fmt::format("port{}", child), bits = GetParam().ipv6 ? "128" : "32";
    const std::string inside = fmt::format("nsenter --net={} ", host_[child].path()), node = text(1);
    shell(fmt::format("ip link add {} type veth peer name e0 netns {}", node_end, host_[child].path()));
    shell(fmt::format("ethtool -K {} tx {}", node_end, GetParam().node_offloads ? "on" : "off"));
    shell(inside + fmt::format("ethtool -K e0 tx {0} rx {0}", GetParam().members_offload ? "on" : "off"));
    shell(fmt::format("ip addr replace {}/{} dev {} {}", node, bits, node_end, GetParam().ipv6 ? "nodad" : ""));
    shell(fmt::format("ip link set {} up", node_end));
    const std::string mine = GetParam().ipv6 ? fmt::format("fd00::{:x}", 10 + child) : text(10 + child);
    shell(inside + fmt::format("ip addr add {}/{} dev e0 {}", mine, bits, GetParam().ipv6 ? "nodad" : ""));
    shell(inside + "ip link set e0 up");
    shell(inside + fmt::format("ip route add {} dev e0", node));
    shell(fmt::format("ip route add {} dev {}", mine, node_end));
    host_[child].enter([&] { socket_[child] = connected(mine); });
  }

  int connected(const std::string& mine) const {
    const int family = GetParam().ipv6 ? AF_INET6 : AF_INET;
    const int made = ::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const auto address = [&](const std::string& host, std::uint16_t port, auto use) {
      sockaddr_in v4{.sin_family = AF_INET, .sin_port = htons(port)};
      sockaddr_in6 v6{.sin6_family = AF_INET6, .sin6_port = htons(port)};
      inet_pton(family, host.c_str(), GetParam().ipv6 ? static_cast<void*>(&v6.sin6_addr) : &v4.sin_addr);
      return GetParam().ipv6 ? use(made, reinterpret_cast<sockaddr*>(&v6), sizeof v6)
                             : use(made, reinterpret_cast<sockaddr*>(&v4), sizeof v4);
    };
    EXPECT_EQ(address(mine, kPeerPort, ::bind), 0) << std::strerror(errno);
    EXPECT_EQ(address(text(1), kPort, ::connect), 0) << std::strerror(errno);
    const timeval patience{.tv_sec = 10};
    setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return made;
  }

  void contribute(unsigned child, std::uint32_t sequence, std::uint64_t value, HopKind kind = kHopContribute) {
    HopFrame frame = contribution(kGroup, sequence, child, kind == kHopContribute ? 1 : 0);
    frame.header.kind = static_cast<std::uint8_t>(kind);
    frame.payload.word[0] = value;
    seal(frame, group_.child[child].key);
    const std::size_t bytes = kHopHeaderBytes + 8 * hop_words(&frame.header);
    ASSERT_EQ(send(socket_[child], &frame, bytes, 0), static_cast<ssize_t>(bytes));
  }

  HopFrame result(unsigned child) {
    HopFrame frame{};
    EXPECT_GE(recv(socket_[child], &frame, sizeof frame, 0), kHopHeaderBytes) << "child " << child;
    EXPECT_EQ(frame.header.tag, hop_tag(&group_.down_key, &frame.header, &frame.payload, hop_words(&frame.header)));
    EXPECT_EQ(frame.header.group, group_.child[child].end.group);
    return frame;
  }

  void TearDown() override {
    for (const int each : socket_) close(each);
    if (!obstacle().empty()) return;
    shell("ip link del port0");
    shell("ip link del port1");
  }

  Namespace host_[2];
  int socket_[2] = {-1, -1};
  HopGroup group_{};
};

TEST_P(HopWay, MembersReceiveSumsWithoutAProcess) {
  SKIP_WITHOUT_KERNEL();
  for (const unsigned child : {0u, 1u}) connect_host(child);
  auto program = Program::load({.pins = "/tmp/way", .port = kPort, .groups_max = 1});
  ASSERT_TRUE(program) << program.error().context;
  group_ = group_of(2, true, GetParam().ipv6);
  for (const unsigned child : {0u, 1u}) {
    const std::string device = fmt::format("port{}", child);
    ASSERT_TRUE(program->attach(device));
    group_.child[child].end.device = if_nametoindex(device.c_str());
  }
  ASSERT_TRUE(program->begin_group(kGroup, group_, 0));
  for (const unsigned child : {0u, 1u}) {
    contribute(child, 7, 0, kHopProbe);
    EXPECT_EQ(result(child).header.kind, kHopProbed);
  }
  for (std::uint32_t n = 0; n < kNumbers; ++n) {
    for (const unsigned child : {n % 2, 1 - n % 2}) contribute(child, n, 100 * n + child);
    for (const unsigned child : {0u, 1u}) {
      const HopFrame sum = result(child);
      ASSERT_EQ(sum.header.sequence, n);
      ASSERT_EQ(sum.payload.word[0], 200u * n + 1);
    }
  }
  contribute(0, kNumbers - 1, 0);
  EXPECT_EQ(result(0).payload.word[0], 200u * (kNumbers - 1) + 1) << "a repetition is answered, not added";
  for (const char* device : {"port0", "port1"}) {
    EXPECT_TRUE(program->detach(device));
    EXPECT_EQ(*filters_of(static_cast<int>(if_nametoindex(device))), 0);
  }
  EXPECT_TRUE(program->unpin());
}

INSTANTIATE_TEST_SUITE_P(Offloads, HopWay,
                         ::testing::Values(Way{false, true, true}, Way{false, true, false}, Way{false, false, false},
                                           Way{true, true, true}, Way{true, true, false}, Way{true, false, false}));

}  // namespace
}  // namespace sumac::kernel
