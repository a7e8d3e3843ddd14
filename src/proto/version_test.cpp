// Two versions meet: the side that receives refuses the other before it believes anything else, and the texts of both
// sides name both versions, their owners and the side to upgrade.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/test_tree.hpp"

namespace sumac::proto {
namespace {

using test::kJob;
using test::kTree;
using test::TestTree;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::AggKind;

constexpr std::uint32_t kNewer = wire::kAggVersion + 1u;

/// Records the messages that an engine sends to a peer whose own messages the test makes by hand.
struct Peer : Outbox {
  void send(LinkId, const wire::AggHeader&, const Payload&) override { ADD_FAILURE() << "data for a stranger"; }
  void send_control(LinkId, const wire::AggHeader& header, std::span<const std::byte> body) override {
    heard.push_back(header.kind);
    if (header.kind == AggKind::refused) wire::load(refused, body.data());
  }
  void drop(LinkId, const Error& why) override { drops.push_back(why.context); }

  template <class Body>
  BufferRef frame(AggKind kind, const Body& body, std::uint8_t version = wire::kAggVersion) {
    wire::AggHeader h;
    h.version = version;
    h.kind = kind;
    h.tree_id = kTree;
    h.payload_bytes = sizeof body;
    std::byte bytes[sizeof body];
    wire::store(bytes, body);
    return frames.frame(h, bytes);
  }
  wire::RefusedBody refused;
  std::vector<AggKind> heard;
  std::vector<std::string> drops;
  TestTree frames;
};

TEST(Version, a_node_refuses_a_newer_peer_whatever_else_its_hello_says) {
  const struct {
    const char* name;
    wire::HelloBody hello;
    const char* why;
  } rows[] = {
      {"a client",
       {.job_id = kJob, .id = 3, .version = kNewer},
       "hello: the peer speaks another wire version: world rank 3 speaks wire version 2, this node version 1: upgrade "
       "Sumac on this "
       "node"},
      {"with options that are unknown here",
       {.job_id = kJob, .id = 3, .version = kNewer, .options = 1},
       "world rank 3 speaks wire version 2"},
      {"of a job that is not granted here", {.job_id = JobId{77}, .id = 3, .version = kNewer}, "world rank 3 speaks"},
      {"a node", {.role = wire::Role::node, .id = 5, .version = kNewer}, "node 5 speaks wire version 2, this node"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Peer peer;
    Node node({.node_id = NodeId{100}, .tree_id = kTree, .root = true, .node_key = {9}, .address = "here"}, peer);
    ASSERT_TRUE(node.grant(test::grant()));
    node.on_link_up({1}, {2}, {});
    node.on_message({1}, peer.frame(AggKind::hello, row.hello, kNewer), {});
    EXPECT_THAT(peer.heard, ElementsAre(AggKind::refused));
    EXPECT_EQ(peer.refused.reason, wire::RefuseReason::version);
    EXPECT_EQ(peer.refused.limit, wire::kAggVersion);
    EXPECT_EQ(peer.refused.asked, kNewer);
    ASSERT_EQ(peer.drops.size(), 1u);
    EXPECT_THAT(peer.drops[0], HasSubstr(row.why));
    EXPECT_EQ(node.links(), 0u);
  }
}

TEST(Version, the_words_name_both_versions_and_the_side_to_upgrade) {
  wire::RefusedBody refusal{.reason = wire::RefuseReason::version, .node_id = NodeId{101}, .limit = 2, .asked = 1};
  EXPECT_EQ(describe(refusal), "node 101 speaks wire version 2, this side version 1: upgrade Sumac on this host");
  std::swap(refusal.limit, refusal.asked);
  EXPECT_EQ(describe(refusal),
            "node 101 speaks wire version 1, this side version 2: upgrade Sumac on the host of node 101");
}

/// A newer node either refuses the hello, or welcomes it without having understood it as it was meant.
template <class Say>
void expect_words(const std::string& words, const Say& say) {
  Peer refuses, welcomes;
  say(refuses, refuses.frame(AggKind::refused,
                             wire::RefusedBody{.reason = wire::RefuseReason::version,
                                               .node_id = NodeId{101},
                                               .limit = kNewer,
                                               .asked = wire::kAggVersion,
                                               .what = AggKind::hello},
                             kNewer));
  say(welcomes,
      welcomes.frame(AggKind::welcome, wire::WelcomeBody{.id = NodeId{101}, .version = kNewer, .options = 1}, kNewer));
  for (const Peer* peer : {&refuses, &welcomes}) {
    EXPECT_THAT(peer->heard, ElementsAre(AggKind::hello)) << "no proof for it";
    ASSERT_EQ(peer->drops.size(), 1u);
    EXPECT_THAT(peer->drops[0], HasSubstr(words));
  }
}

TEST(Version, a_client_says_why_a_newer_node_is_none_for_it) {
  const std::string words = "node 101 speaks wire version 2, this side version 1: upgrade Sumac on this host";
  expect_words(words, [&](Peer& peer, BufferRef frame) {
    ClientLink client({.job_id = kJob, .leaf = {NodeId{101}, {}, "there"}, .tree_id = kTree}, peer);
    client.set_link({1}, {2}, {});
    client.on_message(std::move(frame), {});
    EXPECT_TRUE(client.closed());
    EXPECT_FALSE(client.proven());
    EXPECT_EQ(client.why_closed(), words);
  });
}

TEST(Version, a_node_says_why_a_newer_parent_is_none_for_it) {
  expect_words(
      "the parent refuses this node: node 101 speaks wire version 2, this side version 1: upgrade Sumac on this host",
      [](Peer& peer, BufferRef frame) {
        Node node({.node_id = NodeId{5}, .tree_id = kTree, .name = "an-5"}, peer);
        node.set_parent_link({1}, {NodeId{101}, {}, "there"}, {2}, {});
        node.on_message({1}, std::move(frame), {});
        EXPECT_FALSE(node.has_parent());
      });
}

TEST(Version, nothing_goes_up_before_the_parent_has_said_welcome) {
  TestTree tree;
  auto& root = tree.add_node(100);
  auto& leaf = tree.add_node(101, false);
  ASSERT_TRUE(leaf.node->grant(test::grant()));
  auto& client = tree.add_client(leaf, 0);
  tree.run();
  client.client->open(1, 1, tree.now);
  tree.set_parent(leaf, root);
  const auto controls = leaf.controls;  // its welcome to the client, its hello to the parent
  EXPECT_EQ(controls, 2u);
  // A peer that sends anything but a welcome first is no parent.
  wire::AggHeader opened;
  opened.kind = wire::AggKind::opened;
  opened.tree_id = kTree;
  wire::OpenedBody body{.job_id = kJob, .token = 1, .group_id = GroupId{65537}};
  opened.payload_bytes = sizeof body;
  std::byte bytes[sizeof body];
  wire::store(bytes, body);
  leaf.node->on_message(leaf.up, tree.frame(opened, bytes), tree.now);
  ASSERT_EQ(leaf.drops.size(), 1u);
  EXPECT_THAT(leaf.drops[0], HasSubstr("a parent says welcome first"));
}

}  // namespace
}  // namespace sumac::proto
