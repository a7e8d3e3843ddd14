#include "kernel/loader.hpp"

#include <filesystem>

#include "kernel/filters.hpp"
#include "kernel/test_kernel.hpp"

namespace sumac::kernel {
namespace {

using namespace test;

constexpr std::uint32_t kSecond = 1, kBegin = 10;
constexpr int kLoopback = 1;

LoadOptions options() { return {.pins = "/tmp/loader", .port = kPort, .groups_max = 2}; }

Packet from_child(const HopGroup& group, unsigned child, std::uint32_t sequence) {
  HopFrame frame = contribution(kSecond, sequence, child);
  frame.payload.word[0] = 1 + child;
  seal(frame, group.child[child].key);
  return packet_of(frame, group.child[child].end, group.self);
}

TEST(HopLoader, NextDaemonFindsTheGroupsInUse) {
  SKIP_WITHOUT_KERNEL();
  const HopGroup group = group_of(2, false);
  {
    auto former = Program::load(options());
    ASSERT_TRUE(former) << former.error().context;
    ASSERT_TRUE(former->attach("lo")) << "of the test's own namespace";
    ASSERT_TRUE(former->begin_group(kSecond, group, kBegin));
    EXPECT_EQ(receive(*former, from_child(group, 0, kBegin)).verdict, kDropped);
  }
  EXPECT_EQ(*filters_of(kLoopback), 1) << "the kernel goes on without a daemon";
  auto next = Program::load(options());
  ASSERT_TRUE(next) << next.error().context;
  ASSERT_TRUE(next->attach("lo"));
  EXPECT_EQ(*filters_of(kLoopback), 1);
  EXPECT_EQ(next->group(kSecond)->place.children, 2u);
  const Outcome last = receive(*next, from_child(group, 1, kBegin));
  EXPECT_EQ(last.verdict, kRedirected);
  EXPECT_EQ(last.packet.frame().payload.word[0], 3u);
  ASSERT_TRUE(next->detach("lo"));
  EXPECT_EQ(*filters_of(kLoopback), 0);
  ASSERT_TRUE(next->unpin());
  EXPECT_FALSE(std::filesystem::exists(options().pins));
}

TEST(HopLoader, SaysWhereAFormerDaemonTookDatagrams) {
  SKIP_WITHOUT_KERNEL();
  EXPECT_FALSE(Program::pinned(options()));
  {
    LoadOptions at = options();
    at.address = {10, 1, 2, 3};
    ASSERT_TRUE(Program::load(at)) << "and it is gone";
  }
  const auto former = Program::pinned(options());
  ASSERT_TRUE(former);
  EXPECT_EQ(former->port, static_cast<std::uint16_t>(kPort << 8 | kPort >> 8));
  EXPECT_EQ(former->address[3], 3);
  std::filesystem::remove_all(options().pins);
  EXPECT_FALSE(Program::pinned(options()));
}

TEST(HopLoader, ClearsWhatAFormerDaemonHasLeft) {
  SKIP_WITHOUT_KERNEL();
  EXPECT_TRUE(Program::clear(options())) << "nothing is there";
  {
    auto former = Program::load(options());
    ASSERT_TRUE(former && former->attach("lo"));
  }
  EXPECT_EQ(*filters_of(kLoopback), 1);
  const auto cleared = Program::clear(options());
  EXPECT_TRUE(cleared) << cleared.error().context;
  EXPECT_EQ(*filters_of(kLoopback), 0);
  EXPECT_FALSE(std::filesystem::exists(options().pins));
}

TEST(HopLoader, ASuccessorSeesUntilWhenALeftGroupGoesOn) {
  SKIP_WITHOUT_KERNEL();
  auto former = Program::load(options());
  ASSERT_TRUE(former);
  ASSERT_TRUE(former->begin_group(1, group_of(2, true), 1));
  ASSERT_TRUE(former->leave_group(1, 77));
  auto next = Program::load(options());
  ASSERT_TRUE(next);
  EXPECT_EQ(next->group(1)->left_until_ns, 77u);
  EXPECT_EQ(next->group(1)->place.children, 2u);
  ASSERT_TRUE(next->begin_group(1, group_of(2, true), 1));
  EXPECT_EQ(next->group(1)->left_until_ns, 0u) << "another one is there";
  ASSERT_TRUE(next->unpin());
}

TEST(HopLoader, RemovesWhatAnotherLayoutHasPinned) {
  SKIP_WITHOUT_KERNEL();
  LoadOptions other = options();
  other.groups_max = 1;
  ASSERT_TRUE(Program::load(other));
  auto program = Program::load(options());
  ASSERT_TRUE(program) << program.error().context;
  const auto entries = std::filesystem::directory_iterator(options().pins);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
  ASSERT_TRUE(program->unpin());
}

TEST(HopLoader, TwoDaemonsShareADevice) {
  SKIP_WITHOUT_KERNEL();
  LoadOptions second = options();
  second.pins += "-second";
  second.port = kPort + 1;
  auto one = Program::load(options()), other = Program::load(second);
  ASSERT_TRUE(one && other);
  ASSERT_TRUE(one->attach("lo"));
  ASSERT_TRUE(other->attach("lo"));
  EXPECT_EQ(*filters_of(kLoopback), 2);
  ASSERT_TRUE(one->detach("lo"));
  EXPECT_EQ(*filters_of(kLoopback), 1) << "the other one's stays, and so does clsact";
  ASSERT_TRUE(other->detach("lo"));
  EXPECT_TRUE(one->unpin() && other->unpin());
}

TEST(HopLoader, AnotherAddressOfTheHostKeepsItsPort) {
  SKIP_WITHOUT_KERNEL();
  auto other = options();
  other.address = {10, 0, 0, 9};
  auto program = Program::load(other);
  ASSERT_TRUE(program) << program.error().context;
  const HopGroup group = group_of(1, true);
  ASSERT_TRUE(program->begin_group(kSecond, group, kBegin));
  EXPECT_EQ(receive(*program, from_child(group, 0, kBegin)).verdict, kGoesOn);
  HopGroup there = group;
  there.self.address[3] = 9;
  EXPECT_EQ(receive(*program, from_child(there, 0, kBegin)).verdict, kRedirected);
  ASSERT_TRUE(program->unpin());
}

TEST(HopLoader, RefusesWhatDoesNotFit) {
  SKIP_WITHOUT_KERNEL();
  auto program = Program::load(options());
  ASSERT_TRUE(program) << program.error().context;
  EXPECT_EQ(program->begin_group(2, group_of(2, true), kBegin).error().code, Errc::exhausted);
  HopGroup many = group_of(kHopChildren, true);
  EXPECT_TRUE(program->begin_group(kSecond, many, kBegin));
  many.place.children = kHopChildren + 1;
  EXPECT_EQ(program->begin_group(kSecond, many, kBegin).error().code, Errc::unsupported);
  HopGroup large = group_of(17, true);
  large.payload_bytes_max = 1024;
  EXPECT_EQ(program->begin_group(kSecond, large, kBegin).error().code, Errc::unsupported);
  EXPECT_EQ(program->begin_group(kSecond, group_of(2, true, false, 3), kBegin).error().code, Errc::invalid);
  EXPECT_EQ(program->attach("no-such-device").error().code, Errc::not_found);
  ASSERT_TRUE(program->unpin());
}

}  // namespace
}  // namespace sumac::kernel
