// A table of all that a peer may send before it has proven who it is, and of processes that may listen at a parent's
// address. Every row costs its own connection and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "proto/test_tree.hpp"

namespace sumac::proto {
namespace {

using test::kJob;
using test::kTree;
using test::TestTree;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::AggHeader;
using wire::AggKind;

const Secret kKey{7, 7, 7};
constexpr NodeId kNode{100};

template <class Body>
std::vector<std::byte> bytes_of(const Body& body) {
  std::vector<std::byte> bytes(sizeof body);
  wire::store(bytes.data(), body);
  return bytes;
}

AggHeader header_of(AggKind kind, std::size_t bytes) {
  AggHeader h;
  h.kind = kind;
  h.tree_id = kTree;
  h.payload_bytes = static_cast<std::uint32_t>(bytes);
  return h;
}

/// A connection to a node whose messages the test makes by hand, and the welcome that came.
struct Hand : Outbox {
  void send(LinkId, const AggHeader&, const Payload&) override { ADD_FAILURE() << "data for a stranger"; }
  void send_control(LinkId to, const AggHeader& header, std::span<const std::byte> body) override {
    ASSERT_EQ(to, link);
    heard.push_back(header.kind);
    if (header.kind == AggKind::welcome) wire::load(welcome, body.data());
    if (header.kind == AggKind::refused) wire::load(refused, body.data());
  }
  void drop(LinkId dropped, const Error& why) override {
    EXPECT_EQ(dropped, link);
    drops.push_back(why.context);
  }
  LinkId link{};
  wire::WelcomeBody welcome;
  wire::RefusedBody refused;
  std::vector<AggKind> heard;
  std::vector<std::string> drops;
};

struct Conversation {
  explicit Conversation(NodeLimits limits = {})
      : node({.node_id = kNode, .tree_id = kTree, .root = true, .limits = limits, .node_key = {9}, .address = "here"},
             hand) {
    auto job = test::grant();
    job.job_key = kKey;
    EXPECT_TRUE(node.grant(job));
    connect();
  }
  void connect() {
    hand.link = {++links};
    node.on_link_up(hand.link, wire::Nonce{static_cast<std::uint8_t>(links)}, {});
  }
  template <class Body>
  void say(AggKind kind, const Body& body) {
    const auto bytes = bytes_of(body);
    node.on_message(hand.link, frames.frame(header_of(kind, bytes.size()), bytes), {});
  }
  void say_hello(wire::HelloBody body = {.job_id = kJob, .nonce = {1}, .id = 3}) {
    hello = body;
    say(AggKind::hello, body);
  }
  wire::ProofTerms terms() const { return {kTree, hello, hand.welcome, "here"}; }
  static wire::ProofBody proof_of(const Secret& key, const wire::ProofTerms& terms,
                                  wire::ProvingSide side = wire::ProvingSide::child) {
    wire::ProofBody body;
    EXPECT_TRUE(wire::make_proof(side, key, terms, body.proof));
    return body;
  }
  Secret pair(std::uint32_t child, NodeId parent = kNode, TreeId tree = kTree) const {
    Secret key{};
    EXPECT_TRUE(wire::make_pair_key({9}, tree, NodeId{child}, parent, key));
    return key;
  }

  Hand hand;
  Node node;
  TestTree frames;
  wire::HelloBody hello;
  std::uint32_t links = 0;
};

TEST(Handshake, a_child_that_knows_the_key_is_believed) {
  Conversation c;
  c.say_hello();
  ASSERT_THAT(c.hand.heard, ElementsAre(AggKind::welcome));
  EXPECT_EQ(c.hand.welcome.id, kNode);
  EXPECT_TRUE(wire::proves(wire::ProvingSide::parent, kKey, c.terms(), c.hand.welcome.proof));
  EXPECT_EQ(c.node.proven(c.hand.link), std::nullopt) << "its word alone";
  EXPECT_EQ(c.node.who(c.hand.link), "");
  c.say(AggKind::proof, c.proof_of(kKey, c.terms()));
  EXPECT_EQ(c.node.proven(c.hand.link), wire::Role::client);
  EXPECT_EQ(c.node.who(c.hand.link), "rank 3");
  c.say(AggKind::open, wire::OpenBody{.job_id = kJob, .token = 1, .group_size = 1});
  EXPECT_THAT(c.hand.heard, ElementsAre(AggKind::welcome, AggKind::opened));
  EXPECT_THAT(c.hand.drops, IsEmpty());

  c.connect();
  c.say_hello({.nonce = {1}, .role = wire::Role::node, .id = 5});
  c.say(AggKind::proof, c.proof_of(c.pair(5), c.terms()));
  EXPECT_EQ(c.node.proven(c.hand.link), wire::Role::node);
  EXPECT_THAT(c.hand.drops, IsEmpty());
}

TEST(Handshake, whoever_does_not_prove_what_it_says_loses_its_own_connection_only) {
  const wire::HelloBody as_node{.nonce = {1}, .role = wire::Role::node, .id = 5};
  const struct {
    const char* name;
    std::function<void(Conversation&)> say;
    const char* why;
    std::optional<wire::RefuseReason> refused;
  } rows[] = {
      {"a wrong key",
       [](auto& c) {
         c.say_hello();
         c.say(AggKind::proof, c.proof_of(Secret{1}, c.terms()));
       },
       "it does not have the key of its job", wire::RefuseReason::bad_key},
      {"a proof that was good on another connection",
       [](auto& c) {
         c.say_hello();
         const auto good = c.proof_of(kKey, c.terms());
         c.node.on_link_closed(c.hand.link, {});
         c.connect();
         c.say_hello();
         c.say(AggKind::proof, good);
       },
       "it does not have the key of its job", wire::RefuseReason::bad_key},
      {"a proof for a node at another address, handed on to this one",
       [](auto& c) {
         c.say_hello();
         auto terms = c.terms();
         terms.address = "there";
         c.say(AggKind::proof, c.proof_of(kKey, terms));
       },
       "it does not have the key of its job", wire::RefuseReason::bad_key},
      {"the node's own proof said back to it",
       [](auto& c) {
         c.say_hello();
         c.say(AggKind::proof, wire::ProofBody{c.hand.welcome.proof});
       },
       "it does not have the key of its job", wire::RefuseReason::bad_key},
      {"a proof of another rank",
       [](auto& c) {
         c.say_hello();
         auto terms = c.terms();
         ++terms.hello.id;
         c.say(AggKind::proof, c.proof_of(kKey, terms));
       },
       "it does not have the key of its job", wire::RefuseReason::bad_key},
      {"zeros",
       [](auto& c) {
         c.say_hello();
         c.say(AggKind::proof, wire::ProofBody{});
       },
       "it does not have the key of its job", wire::RefuseReason::bad_key},
      {"a job that is not granted", [](auto& c) { c.say_hello({.job_id = JobId{43}, .id = 3}); },
       "the job is not granted at this node", wire::RefuseReason::unknown_job},
      {"a job that ended before the proof",
       [](auto& c) {
         c.say_hello();
         c.node.revoke(kJob, {});
         c.say(AggKind::proof, c.proof_of(kKey, c.terms()));
       },
       "it does not have the key of its job", wire::RefuseReason::unknown_job},
      {"a member that says it is a node",
       [&](auto& c) {
         c.say_hello(as_node);
         c.say(AggKind::proof, c.proof_of(kKey, c.terms()));
       },
       "it does not have the key of the node that it says it is", wire::RefuseReason::bad_key},
      {"a node that says it is another",
       [&](auto& c) {
         c.say_hello(as_node);
         c.say(AggKind::proof, c.proof_of(c.pair(6), c.terms()));
       },
       "it does not have the key of the node that it says it is", wire::RefuseReason::bad_key},
      {"a node with its key for another parent",
       [&](auto& c) {
         c.say_hello(as_node);
         c.say(AggKind::proof, c.proof_of(c.pair(5, NodeId{101}), c.terms()));
       },
       "it does not have the key of the node that it says it is", wire::RefuseReason::bad_key},
      {"a node with its key of another tree",
       [&](auto& c) {
         c.say_hello(as_node);
         c.say(AggKind::proof, c.proof_of(c.pair(5, kNode, TreeId{8}), c.terms()));
       },
       "it does not have the key of the node that it says it is", wire::RefuseReason::bad_key},
      {"a proof before hello",
       [](auto& c) { c.say(AggKind::proof, wire::ProofBody{}); },
       "a child says hello first",
       {}},
      {"an open before hello",
       [](auto& c) { c.say(AggKind::open, wire::OpenBody{.job_id = kJob, .token = 1, .group_size = 1}); },
       "a child says hello first",
       {}},
      {"an open before the proof",
       [](auto& c) {
         c.say_hello();
         c.say(AggKind::open, wire::OpenBody{.job_id = kJob, .token = 1, .group_size = 1});
       },
       "hello is followed by the proof",
       {}},
      {"a name before the proof",
       [](auto& c) {
         c.say_hello();
         c.say(AggKind::name, wire::name_body("h1").value());
       },
       "hello is followed by the proof",
       {}},
      {"hello twice",
       [](auto& c) {
         c.say_hello();
         c.say_hello();
       },
       "hello is followed by the proof",
       {}},
      {"hello again when all is proven",
       [](auto& c) {
         c.say_hello();
         c.say(AggKind::proof, c.proof_of(kKey, c.terms()));
         c.say_hello();
       },
       "a second handshake",
       {}},
      {"the proof twice",
       [](auto& c) {
         c.say_hello();
         const auto proof = c.proof_of(kKey, c.terms());
         c.say(AggKind::proof, proof);
         c.say(AggKind::proof, proof);
       },
       "a second handshake",
       {}},
      {"half a hello",
       [](auto& c) { c.say(AggKind::hello, wire::OpenBody{}); },
       "not the size of this kind's body",
       {}},
      {"half a proof",
       [](auto& c) {
         c.say_hello();
         c.say(AggKind::proof, wire::OverBody{});
       },
       "not the size of this kind's body",
       {}},
      {"a version that never was",
       [](auto& c) { c.say_hello({.job_id = kJob, .id = 3, .version = 0}); },
       "version is zero",
       {}},
      {"an option that nobody knows",
       [](auto& c) { c.say_hello({.job_id = kJob, .id = 3, .options = 1}); },
       "options are unknown",
       {}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Conversation c;
    row.say(c);
    ASSERT_EQ(c.hand.drops.size(), 1u);
    EXPECT_THAT(c.hand.drops[0], HasSubstr(row.why));
    EXPECT_EQ(c.node.proven(c.hand.link), std::nullopt);
    EXPECT_EQ(c.node.links(), 0u) << "nothing is kept of it";
    EXPECT_EQ(c.hand.heard.empty() ? false : c.hand.heard.back() == AggKind::refused, row.refused.has_value());
    if (row.refused) {
      EXPECT_EQ(c.hand.refused.reason, *row.refused);
    }
    EXPECT_TRUE(c.node.idle());
    if (c.node.jobs().empty()) continue;  // this row has ended the job
    c.connect();
    c.say_hello();
    c.say(AggKind::proof, c.proof_of(kKey, c.terms()));
    EXPECT_EQ(c.node.proven(c.hand.link), wire::Role::client) << "others are not harmed";
  }
}

TEST(Handshake, a_users_ranks_have_their_share_of_a_nodes_places_and_no_more) {
  Conversation c({.links = 8});
  const auto grant_to = [&](std::uint64_t job_id, std::uint32_t user, std::uint32_t percent) {
    auto job = test::grant(8, 1);
    job.job_id = JobId{job_id};
    job.uid = user;
    job.links_percent = percent;
    job.job_key = kKey;
    ASSERT_TRUE(c.node.grant(job));
  };
  const auto is_let_in = [&](std::uint64_t job_id) {
    c.connect();
    c.hand.drops.clear();
    c.say_hello({.job_id = JobId{job_id}, .nonce = {1}, .id = 0});
    c.say(AggKind::proof, c.proof_of(kKey, c.terms()));
    return c.hand.drops.empty();
  };
  ASSERT_NO_FATAL_FAILURE(grant_to(101, 1000, 50));
  ASSERT_NO_FATAL_FAILURE(grant_to(102, 1000, 50));
  ASSERT_NO_FATAL_FAILURE(grant_to(103, 1001, 50));
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(is_let_in(101));
    EXPECT_TRUE(is_let_in(102)) << "of the same user";
  }
  const auto last = c.hand.link;
  EXPECT_FALSE(is_let_in(101)) << "half of 8";
  EXPECT_THAT(c.hand.drops, ElementsAre(HasSubstr("as many connections to this node as one user may have")));
  EXPECT_EQ(c.hand.refused.reason, wire::RefuseReason::node_limit);
  EXPECT_EQ(c.hand.refused.limit, 4u);
  EXPECT_FALSE(is_let_in(102));
  EXPECT_TRUE(is_let_in(103)) << "another user's";
  c.node.on_link_closed(last, {});
  EXPECT_TRUE(is_let_in(101)) << "a place is free again";
  ASSERT_NO_FATAL_FAILURE(grant_to(101, 1000, 100));
  EXPECT_TRUE(is_let_in(101)) << "the operator has changed the share";
}

TEST(Handshake, every_bit_of_a_proof_counts) {
  Conversation c;
  for (std::size_t bit = 0; bit < 256; ++bit) {
    if (bit != 0) c.connect();
    c.say_hello();
    auto proof = c.proof_of(kKey, c.terms());
    proof.proof[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    c.say(AggKind::proof, proof);
    EXPECT_EQ(c.hand.drops.size(), bit + 1);
  }
}

/// A process listens at a node's address and does not know the node's key.
struct Impostor {
  const char* name;
  std::function<void(wire::WelcomeBody&, wire::ProofTerms&, Secret& key)> change;
  const char* why;
};
const Impostor kImpostors[] = {
    {"without the key", [](auto&, auto&, Secret& key) { key = {1}; }, "it does not know the key"},
    {"that hands the words on to a node elsewhere", [](auto&, auto& terms, auto&) { terms.address = "there"; },
     "it does not know the key"},
    {"that says again what a node once said", [](auto&, auto& terms, auto&) { terms.hello.nonce = {0xEE}; },
     "it does not know the key"},
    {"that is another node of the job", [](auto& welcome, auto&, auto&) { welcome.id = NodeId{101}; },
     "another node than the manager named"},
};

/// The impostor's welcome in answer to this hello.
wire::WelcomeBody false_welcome(const Impostor& impostor, const wire::HelloBody& hello, Secret key) {
  wire::WelcomeBody welcome{.nonce = {4}, .id = kNode};
  wire::ProofTerms terms{kTree, hello, welcome, "here"};
  impostor.change(welcome, terms, key);
  terms.welcome = welcome;
  EXPECT_TRUE(wire::make_proof(wire::ProvingSide::parent, key, terms, welcome.proof));
  return welcome;
}

struct Ear : Outbox {
  void send(LinkId, const AggHeader&, const Payload&) override { ADD_FAILURE() << "data for an impostor"; }
  void send_control(LinkId, const AggHeader& header, std::span<const std::byte> body) override {
    heard.push_back(header.kind);
    if (header.kind == AggKind::hello) wire::load(hello, body.data());
  }
  void drop(LinkId, const Error& why) override { drops.push_back(why.context); }
  wire::HelloBody hello;
  std::vector<AggKind> heard;
  std::vector<std::string> drops;
};

TEST(Handshake, a_client_proves_nothing_to_an_impostor) {
  for (const auto& impostor : kImpostors) {
    SCOPED_TRACE(impostor.name);
    Ear ear;
    TestTree frames;
    ClientLink client({.job_id = kJob, .leaf = {kNode, kKey, "here"}, .world_rank = WorldRank{3}, .tree_id = kTree},
                      ear);
    client.open(1, 1, {});
    client.set_link({1}, {2}, {});
    const auto body = bytes_of(false_welcome(impostor, ear.hello, kKey));
    client.on_message(frames.frame(header_of(AggKind::welcome, body.size()), body), {});
    EXPECT_THAT(ear.heard, ElementsAre(AggKind::hello)) << "neither a proof nor what it wants";
    ASSERT_EQ(ear.drops.size(), 1u);
    EXPECT_THAT(ear.drops[0], HasSubstr(impostor.why));
    EXPECT_TRUE(client.closed());
    EXPECT_FALSE(client.proven());
    EXPECT_EQ(client.open_outcome(1).state, OpenOutcome::State::lost);
  }
}

TEST(Handshake, a_node_proves_nothing_to_an_impostor) {
  for (const auto& impostor : kImpostors) {
    SCOPED_TRACE(impostor.name);
    Ear ear;
    TestTree frames;
    Node node({.node_id = NodeId{5}, .tree_id = kTree, .name = "an-5"}, ear);
    node.set_parent_link({1}, {kNode, kKey, "here"}, {2}, {});
    const auto body = bytes_of(false_welcome(impostor, ear.hello, kKey));
    node.on_message({1}, frames.frame(header_of(AggKind::welcome, body.size()), body), {});
    EXPECT_THAT(ear.heard, ElementsAre(AggKind::hello));
    ASSERT_EQ(ear.drops.size(), 1u);
    EXPECT_THAT(ear.drops[0], HasSubstr(impostor.why));
  }
}

TEST(Handshake, a_client_believes_nothing_before_the_welcome) {
  for (const auto kind : {AggKind::opened, AggKind::joined, AggKind::verdict, AggKind::refused}) {
    Ear ear;
    TestTree frames;
    ClientLink client({.job_id = kJob, .leaf = {kNode, kKey, "here"}, .tree_id = kTree}, ear);
    client.open(1, 1, {});
    client.set_link({1}, {2}, {});
    const auto say = [&](auto body) {
      const auto bytes = bytes_of(body);
      auto header = header_of(kind, bytes.size());
      if (kind == AggKind::joined || kind == AggKind::verdict) header.group_id = GroupId{65537};
      client.on_message(frames.frame(header, bytes), {});
    };
    if (kind == AggKind::opened) say(wire::OpenedBody{.job_id = kJob, .token = 1, .group_id = GroupId{65537}});
    if (kind == AggKind::joined) say(wire::JoinedBody{.job_id = kJob, .osts = 1, .payload_per_ost = 128});
    if (kind == AggKind::verdict) say(wire::VerdictBody{});
    if (kind == AggKind::refused)
      say(wire::RefusedBody{.job_id = kJob, .token = 1, .reason = wire::RefuseReason::no_ost, .what = AggKind::open});
    ASSERT_EQ(ear.drops.size(), 1u) << wire::to_string(kind);
    EXPECT_EQ(client.open_outcome(1).state, OpenOutcome::State::lost);
  }
}

TEST(Handshake, a_link_of_a_job_that_is_over_is_none_of_the_next_one_with_its_number) {
  Conversation c;
  c.say_hello();
  c.say(AggKind::proof, c.proof_of(kKey, c.terms()));
  c.node.revoke(kJob, {});
  EXPECT_THAT(c.node.links_of_former(kJob), ElementsAre(c.hand.link));
  auto next = test::grant();
  next.job_key = {8};  // the key belongs to another owner
  next.numbers = {{1, 4}};
  ASSERT_TRUE(c.node.grant(next));
  EXPECT_THAT(c.node.links_of_former(kJob), ElementsAre(c.hand.link));
  c.say(AggKind::open, wire::OpenBody{.job_id = kJob, .token = 1, .group_size = 1});
  EXPECT_EQ(c.hand.heard.back(), AggKind::refused);
  EXPECT_EQ(c.hand.refused.reason, wire::RefuseReason::unknown_job);
  wire::JoinBody join{.job_id = kJob, .world_rank = WorldRank{3}, .group_size = 1, .osts = 1, .payload_per_ost = 128};
  join.path_length = 1;
  join.path[0] = {kNode, 1};
  auto header = header_of(AggKind::join, sizeof join);
  header.group_id = GroupId{65537};
  c.hand.refused = {};
  c.node.on_message(c.hand.link, c.frames.frame(header, bytes_of(join)), {});
  EXPECT_EQ(c.hand.refused.reason, wire::RefuseReason::unknown_job);
  EXPECT_TRUE(c.node.idle());
  EXPECT_THAT(c.hand.drops, IsEmpty());
}

/// A node with a good key of its own may send anything about jobs that have no ranks below it: it costs no other peer
/// anything.
TEST(Handshake, a_node_speaks_only_for_jobs_with_ranks_below_it) {
  for (const bool is_below : {true, false}) {
    TestTree tree;
    auto& root = tree.add_node(number_of(kNode));
    auto& leaf = tree.add_node(101, false);
    auto job = test::grant();
    job.numbers = {{1, 4}};
    job.below = JobGrant::Below{.nodes = {NodeId{is_below ? 101u : 102u}}, .ranks = true};
    ASSERT_TRUE(root.node->grant(job));
    job.below = JobGrant::Below{.ranks = true};
    ASSERT_TRUE(leaf.node->grant(job));
    tree.set_parent(leaf, root);
    std::vector<TestTree::End*> clients{&tree.add_client(root, 0), &tree.add_client(leaf, 1)};
    tree.run();
    auto groups = test::join_group(tree, clients, 1, [&](ClientGroupConfig& config) {
      config.path = {};
      if (config.rank == 1) config.path.entries[config.path.length++] = {NodeId{101}, 1};
      config.path.entries[config.path.length++] = {kNode, 2};
    });
    EXPECT_EQ(groups[1]->phase(), is_below ? ClientGroup::Phase::standing : ClientGroup::Phase::refused);
    if (!is_below) {
      EXPECT_THAT(groups[1]->why(), HasSubstr("the job has none there (node 100)"));
    }
    // It also opens nothing for the job, and a leave of a later life ends no group of the job.
    clients[1]->client->open(2, 1, {});
    tree.run();
    EXPECT_EQ(clients[1]->client->open_outcome(2).state,
              is_below ? OpenOutcome::State::opened : OpenOutcome::State::refused);
    if (is_below) continue;
    EXPECT_EQ(root.node->groups().size(), 1u);
    AggHeader leave;
    leave.kind = AggKind::contribute;
    leave.tree_id = kTree;
    leave.group_id = GroupId{number_of(groups[0]->config().group_id) + 0x10000};
    leave.coll = wire::Coll::leave;
    leave.flags = wire::kFlagFirst | wire::kFlagLast;
    leave.origin = 0;
    leave.members = 1;
    tree.inject(leaf, leaf.up, leave, {});
    tree.run();
    ASSERT_EQ(root.node->groups().size(), 1u);
    EXPECT_EQ(root.node->groups()[0].group_id, groups[0]->config().group_id);
  }
}

TEST(Handshake, a_rank_of_another_leaf_joins_nothing_here) {
  TestTree tree;
  auto& node = tree.add_node(number_of(kNode));
  auto job = test::grant();
  job.below = JobGrant::Below{.nodes = {NodeId{101}}};
  ASSERT_TRUE(node.node->grant(job));
  auto& client = tree.add_client(node, 0);
  client.client->open(1, 1, {});
  tree.run();
  EXPECT_EQ(client.client->open_outcome(1).refusal.reason, wire::RefuseReason::bad_path);
}

}  // namespace
}  // namespace sumac::proto
