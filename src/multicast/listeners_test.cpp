// Datagrams from real sockets to a group's members, in this process: only those with the group's key are accepted.
#include "multicast/listeners.hpp"

#include <gtest/gtest.h>

#include "net/test_harness.hpp"
#include "proto/test_tree.hpp"
#include "wire/datagram.hpp"

namespace sumac::multicast {
namespace {

using proto::test::StandingGroup;

/// A member's end of a connection on loopback, and the sender to its group's address.
struct Member : net::End {
  Member() : End(net::TransportConfig{}), node(with_listener()), listeners(*transport, pool, log) {
    conn = connect(node.transport->address());
    EXPECT_TRUE(net::drive({this, &node}, [&] { return !connected.empty() && !node.accepted.empty(); }));
    auto opened = SendSocket::open(*net::parse_address(transport->local(conn)), 1);
    if (!opened) throw std::runtime_error(opened.error().context);
    sender.emplace(std::move(*opened));
  }
  static net::TransportConfig with_listener() {
    net::TransportConfig config;
    config.listen = "127.0.0.1:0";
    return config;
  }
  void on_readable(std::uint32_t token) override { listeners.on_readable(token); }
  std::uint64_t heard() const { return listeners.counts().all(); }
  /// Sends bytes to the group's address and waits until the member has read them.
  void send(const wire::InvitedBody& to, std::span<const std::byte> bytes) {
    const auto before = heard();
    ASSERT_EQ(sender->send(from_wire(to.address, to.port), bytes), Errc::ok);
    ASSERT_TRUE(net::drive({this, &node}, [&] { return heard() > before; }));
  }

  End node;
  Logger log{Logger::Form::library, LogLevel::error};
  Listeners listeners;
  net::ConnId conn;
  std::optional<SendSocket> sender;
};

std::vector<std::byte> sealed(const proto::test::TestTree::End::Datagram& datagram, const Secret& key) {
  std::vector<std::byte> bytes(wire::kAggHeaderBytes + datagram.data.size() + wire::kTagBytes);
  wire::store(bytes.data(), datagram.header);
  std::copy(datagram.data.begin(), datagram.data.end(), bytes.begin() + wire::kAggHeaderBytes);
  wire::seal_datagram(bytes, key);
  return bytes;
}

/// Returns an address that only this run of this test uses.
wire::InvitedBody own_address() {
  wire::InvitedBody to;
  const auto secret = draw_secret().value();
  to.address = to_wire(
      nth_address(*net::parse_address("239.255.83.0:1"), static_cast<std::uint16_t>(secret[0] << 8 | secret[1])));
  to.port = static_cast<std::uint16_t>(20'000 + (secret[2] << 8 | secret[3]) % 10'000);
  return to;
}

TEST(Listeners, only_what_has_the_groups_tag_is_believed) {
  Member member;
  StandingGroup world(2, {}, proto::test::grant(), {.invitation = own_address()});
  auto& group = *world.groups[0];
  ASSERT_TRUE(member.listeners.add(group, member.conn));
  EXPECT_TRUE(member.listeners.has(group));
  EXPECT_TRUE(group.listening());
  const auto to = *group.invitation();
  std::int64_t values[2] = {20, 22};
  for (int rank = 0; rank < 2; ++rank) {
    proto::Operation o{.coll = wire::Coll::allreduce, .op = Op::sum, .dtype = Dtype::int64, .count = 1};
    o.src = std::as_bytes(std::span(&values[rank], 1));
    o.dst = std::as_writable_bytes(std::span(&values[rank], 1));
    ASSERT_TRUE(world.groups[static_cast<std::size_t>(rank)]->post(o, world.tree.now));
  }
  world.tree.run_to(world.node);
  ASSERT_EQ(world.node.datagrams.size(), 1u);
  const auto good = sealed(world.node.datagrams[0], to.key);
  const auto& counts = member.listeners.counts();

  member.send(to, sealed(world.node.datagrams[0], Secret{1, 2, 3}));
  member.send(to, std::span(good).first(good.size() - 1));
  member.send(to, as_bytes("hello"));
  member.send(to, std::vector<std::byte>(wire::kDatagramMax + 100));
  auto changed = good;
  changed[wire::kAggHeaderBytes] ^= std::byte{1};
  member.send(to, changed);
  EXPECT_EQ(counts.discarded, 5u);
  EXPECT_FALSE(group.next_completion());
  EXPECT_EQ(values[0], 20);

  member.send(to, good);
  EXPECT_EQ(counts.taken, 1u);
  EXPECT_TRUE(group.next_completion());
  EXPECT_EQ(values[0], 42);
  member.send(to, good);
  EXPECT_EQ(counts.late, 1u);
  world.tree.run();
  EXPECT_FALSE(group.next_completion());
  EXPECT_EQ(counts.discarded, 5u);

  member.listeners.remove(group);
  EXPECT_FALSE(member.listeners.has(group));
  EXPECT_FALSE(group.listening());
}

TEST(Listeners, a_flood_of_rubbish_does_not_keep_the_links_waiting) {
  Member member;
  StandingGroup world(2, {}, proto::test::grant(), {.invitation = own_address()});
  ASSERT_TRUE(member.listeners.add(*world.groups[0], member.conn));
  const auto to = *world.groups[0]->invitation();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(member.sender->send(from_wire(to.address, to.port), as_bytes("x")), Errc::ok);
  ASSERT_EQ(member.node.send(member.node.accepted[0], "a result"), Errc::ok);
  ASSERT_TRUE(net::drive({&member, &member.node}, [&] { return member.received == 1 && member.heard() >= 100; }));
  EXPECT_EQ(member.listeners.counts().discarded, 100u);
}

TEST(Listeners, a_group_that_stops_listening_gives_the_socket_back_and_others_go_on) {
  Member member;
  StandingGroup first(2, {}, proto::test::grant(), {.invitation = own_address()}),
      second(2, {}, proto::test::grant(), {.invitation = own_address()});
  ASSERT_TRUE(member.listeners.add(*first.groups[0], member.conn));
  ASSERT_TRUE(member.listeners.add(*second.groups[0], member.conn));
  const auto of_first = *first.groups[0]->invitation(), of_second = *second.groups[0]->invitation();
  member.listeners.stopped_listening(proto::LinkId{member.conn.value},
                                     first.group_id);  // Both have the same id, so the leaf tells them apart.
  ASSERT_EQ(member.sender->send(from_wire(of_first.address, of_first.port), as_bytes("x")), Errc::ok);
  EXPECT_EQ(member.progress(), 0u);
  member.listeners.remove(*first.groups[0]);
  member.listeners.remove(*second.groups[0]);
  ASSERT_TRUE(member.listeners.add(*second.groups[0], member.conn));
  member.send(of_second, as_bytes("y"));
  EXPECT_EQ(member.listeners.counts().discarded, 1u);
}

TEST(Listeners, without_a_way_to_listen_the_group_goes_on_as_it_was) {
  Member member;
  StandingGroup none(2),
      // The address is ff12::, and the link is of IPv4.
      six(2, {}, proto::test::grant(), {.invitation = proto::test::kInvitation});
  EXPECT_FALSE(member.listeners.add(*none.groups[0], member.conn));
  EXPECT_FALSE(member.listeners.add(*six.groups[0], member.conn));
  EXPECT_FALSE(member.listeners.add(*six.groups[0], net::ConnId{}));
  EXPECT_FALSE(six.groups[0]->listening());
}

TEST(Mgid, is_as_people_know_it) {
  EXPECT_EQ(mgid_text(std::nullopt, GroupId{0x10007}), "mgid: ( subnet prefix: 0x0 interface id: 0x0 ) mlid:0");
  wire::InvitedBody to;
  to.address = to_wire(*net::parse_address("239.255.1.2:5383"));
  EXPECT_EQ(mgid_text(to, GroupId{0x10007}),
            "mgid: ( subnet prefix: 0xff12a01bfe800000 interface id: 0xefff010200010007 ) mlid:c007");
}

}  // namespace
}  // namespace sumac::multicast
