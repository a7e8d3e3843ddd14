#include "proto/node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "proto/test_nodes.hpp"
#include "proto/test_tree.hpp"

namespace {
bool g_counting = false;
std::size_t g_allocations = 0;
}  // namespace

// Counts the allocations of the engines while a test looks. If it were inlined, gcc would pair one call's malloc with
// another's delete.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (g_counting) ++g_allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace sumac::proto {
namespace {

using test::kJob;
using test::kTree;
using test::StandingGroup;
using test::TestTree;
using testing::HasSubstr;
using wire::AggHeader;
using wire::AggKind;

AggHeader contribution(const StandingGroup& world, std::uint32_t rank, std::uint32_t number, std::uint32_t floats) {
  AggHeader h;
  h.kind = AggKind::contribute;
  h.tree_id = kTree;
  h.group_id = world.group_id;
  h.sequence = Sequence{number};
  h.coll = wire::Coll::allreduce;
  h.op = Op::sum;
  h.dtype = Dtype::float32;
  h.flags = wire::kFlagFirst | wire::kFlagLast;
  h.count = floats;
  h.payload_bytes = floats * 4;
  h.origin = rank;
  h.members = 1;
  return h;
}

TEST(Node, allocates_nothing_per_message_once_the_group_stands) {
  // Only the node's allocations count, so its outbox discards every message and TestTree::run() is not used.
  struct Sink : Outbox {
    void send(LinkId, const AggHeader&, const Payload&) override { ++messages; }
    void send_control(LinkId, const AggHeader& header, std::span<const std::byte> body) override {
      if (header.kind == AggKind::welcome) wire::load(welcome, body.data());
      if (header.kind != AggKind::opened) return;
      wire::OpenedBody opened;
      wire::load(opened, body.data());
      group_id = opened.group_id;
    }
    void drop(LinkId, const Error& why) override { ADD_FAILURE() << why.context; }
    std::uint32_t messages = 0;
    GroupId group_id{};
    wire::WelcomeBody welcome;
  } sink;
  TestTree frames;
  Node node({.node_id = NodeId{1}, .tree_id = kTree, .root = true}, sink);
  ASSERT_TRUE(node.grant(test::grant()));
  const auto say = [&](std::uint32_t link, AggKind kind, GroupId group, const auto& body) {
    AggHeader h;
    h.kind = kind;
    h.tree_id = kTree;
    h.group_id = group;
    h.payload_bytes = sizeof body;
    if (kind == AggKind::join) h.flags |= wire::kFlagReproducible;
    std::byte bytes[sizeof body];
    wire::store(bytes, body);
    node.on_message({link}, frames.frame(h, bytes), {});
  };
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const wire::HelloBody hello{.job_id = kJob, .nonce = {1}, .id = rank};
    node.on_link_up({rank + 1}, {2}, {});
    say(rank + 1, AggKind::hello, GroupId{}, hello);
    wire::ProofBody proof;
    ASSERT_TRUE(wire::make_proof(wire::ProvingSide::child, {}, {kTree, hello, sink.welcome, ""}, proof.proof));
    say(rank + 1, AggKind::proof, GroupId{}, proof);
  }
  say(1, AggKind::open, GroupId{}, wire::OpenBody{.job_id = kJob, .token = 1, .group_size = 3});
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    wire::JoinBody join{.job_id = kJob,
                        .rank = rank,
                        .world_rank = WorldRank{rank},
                        .group_size = 3,
                        .osts = 8,
                        .payload_per_ost = 128};
    join.path_length = 1;
    join.path[0] = {NodeId{1}, 3};
    say(rank + 1, AggKind::join, sink.group_id, join);
  }
  AggHeader h;
  h.kind = AggKind::contribute;
  h.tree_id = kTree;
  h.group_id = sink.group_id;
  h.coll = wire::Coll::allreduce;
  h.op = Op::sum;
  h.dtype = Dtype::float32;
  h.flags = wire::kFlagFirst | wire::kFlagLast;
  h.count = 32;
  h.payload_bytes = 128;
  h.members = 1;
  const std::vector<std::byte> zeros(128);
  const auto contribute = [&](std::uint32_t number) {
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      h.sequence = Sequence{number};
      h.origin = rank;
      BufferRef frame = frames.frame(h, zeros);
      g_counting = true;
      node.on_message({rank + 1}, std::move(frame), {});
      g_counting = false;
    }
  };
  for (std::uint32_t number = 0; number < 1000; ++number) contribute(number);
  EXPECT_EQ(g_allocations, 0u);
  // In reproducible mode each slot of the ring allocates once.
  h.flags |= wire::kFlagReproducible;
  for (std::uint32_t number = 1000; number < 1100; ++number) contribute(number);
  EXPECT_GT(std::exchange(g_allocations, 0), 0u);
  for (std::uint32_t number = 1100; number < 2000; ++number) contribute(number);
  EXPECT_EQ(g_allocations, 0u);
  EXPECT_EQ(sink.messages, 6000u);
  EXPECT_EQ(node.stats().buffer_copies, 0u);
}

TEST(Node, a_child_that_is_late_for_a_later_number_alone_is_not_missing) {
  TestTree tree;
  auto& root = tree.add_node(1, true);
  auto& leaf = tree.add_node(2, false);
  for (auto* node : {&root, &leaf}) ASSERT_TRUE(node->node->grant(test::grant()));
  tree.set_parent(leaf, root);
  const std::vector<TestTree::End*> clients{&tree.add_client(leaf, 0), &tree.add_client(leaf, 1),
                                            &tree.add_client(root, 2)};
  tree.run();
  const auto leaves = test::node_ids({2, 2, 1});
  const auto nodes = test::parents({{1, 1}, {2, 1}});
  const auto groups = test::join_group(
      tree, clients, 1, [&](ClientGroupConfig& config) { config.path = *compute_path(config.rank, leaves, nodes); });
  const auto missing = [](const TestTree::End& end) {
    std::string found;
    const auto views = end.node->groups();
    for (const auto& child : views.at(0).children)
      if (child.missing) found += who(child.role, child.peer, child.name);
    return found;
  };
  const auto barrier = [&](std::uint32_t rank) {
    ASSERT_TRUE(groups[rank]->post({}, tree.now));
    tree.run();
  };
  barrier(0);
  EXPECT_EQ(missing(leaf), "rank 1");
  EXPECT_EQ(missing(root), "") << "it knows of no operation";
  barrier(1);
  EXPECT_EQ(missing(leaf), "") << "its parent lacks somebody";
  EXPECT_EQ(missing(root), "rank 2");
  barrier(0);
  EXPECT_EQ(missing(leaf), "") << "rank 1 may wait for number 0, as rank 0 does";
  EXPECT_EQ(missing(root), "rank 2");
  barrier(2);
  EXPECT_EQ(missing(leaf), "rank 1");
  barrier(1);
  EXPECT_EQ(missing(root), "rank 2");
}

TEST(Node, says_which_child_the_others_waited_for) {
  StandingGroup world(3);
  std::vector<float> in(32), out(32);
  const auto contribute = [&](std::uint32_t rank, Millis at) {
    world.tree.now = Time{} + at;
    Operation operation;
    operation.coll = wire::Coll::allreduce;
    operation.op = Op::sum;
    operation.dtype = Dtype::float32;
    operation.count = in.size();
    operation.src = std::as_bytes(std::span(in));
    operation.dst = std::as_writable_bytes(std::span(out));
    ASSERT_TRUE(world.groups[rank]->post(operation, world.tree.now));
    world.tree.run();
  };
  using Missing = std::vector<std::uint32_t>;
  const auto missing = [&](Time& since) {
    Missing found;
    const auto views = world.node.node->groups();
    since = views.at(0).missing_since;
    for (const auto& child : views[0].children)
      if (child.missing) found.push_back(child.peer);
    return found;
  };
  Time since{};
  EXPECT_EQ(missing(since), Missing{}) << "nobody waits";
  EXPECT_EQ(since, kNever);
  // With two numbers in flight, each has its own first contribution.
  contribute(0, Millis(10));
  contribute(2, Millis(12));
  contribute(0, Millis(20));
  EXPECT_EQ(missing(since), Missing{1}) << "rank 2 is missing in a later number alone";
  EXPECT_EQ(since, Time{} + Millis(10));
  contribute(1, Millis(30));  // number 0, 20 ms after the first
  EXPECT_EQ(missing(since), (Missing{1, 2}));
  EXPECT_EQ(since, Time{} + Millis(20));
  contribute(1, Millis(31));
  contribute(2, Millis(35));  // number 1, 15 ms after the first
  EXPECT_EQ(missing(since), Missing{}) << "every number has its result";
  for (const bool over : {false, true}) {
    SCOPED_TRACE(over ? "a group that has left is remembered" : "a group that stands");
    if (over) {
      for (std::uint32_t rank = 0; rank < 3; ++rank) world.clients[rank]->client->detach(*world.groups[rank]);
      for (auto* client : world.clients) world.tree.cut(client->up);
      world.tree.run();
      ASSERT_TRUE(world.node.node->groups().empty());
    }
    const auto views = over ? world.node.node->finished() : world.node.node->groups();
    ASSERT_EQ(views.size(), 1u);
    const auto& children = views[0].children;
    ASSERT_EQ(children.size(), 3u);
    EXPECT_EQ(children[0].came_last, 0u);
    EXPECT_EQ(children[0].kept_waiting, Duration(0));
    EXPECT_EQ(children[1].came_last, 1u);
    EXPECT_EQ(children[1].kept_waiting, Duration(Millis(20)));
    EXPECT_EQ(children[1].peer, 1u);
    EXPECT_EQ(children[2].came_last, 1u);
    EXPECT_EQ(children[2].kept_waiting, Duration(Millis(15)));
    EXPECT_EQ(children[2].bytes, 256u);
  }
  const auto& stats = world.node.node->stats();
  EXPECT_EQ(stats.operations, 2u);
  for (const auto* times : {&stats.slowest_child, &stats.operation}) {  // Without a parent both end at the same event.
    EXPECT_EQ(times->count(), 2u);
    EXPECT_EQ(Nanos(times->sum_ns), Millis(35));
    EXPECT_EQ(times->counts[Log2Histogram::bucket_of(20'000'000)], 1u);
    EXPECT_EQ(times->counts[Log2Histogram::bucket_of(15'000'000)], 1u);
  }
}

TEST(Node, grants_nothing_twice) {
  TestTree tree;
  auto& node = *tree.add_node(1, true, {.osts = 100, .groups = 10}).node;
  const auto why = [&](const JobGrant& grant) {
    const auto granted = node.grant(grant);
    return granted ? std::string() : granted.error().context;
  };
  JobGrant a{.job_id = JobId{1}, .quota = {.osts = 60, .payload_per_ost = 128, .max_groups = 6}};
  EXPECT_EQ(why(a), "");
  EXPECT_EQ(why(a), "") << "the same grant again is the manager repeating itself";
  a.quota.osts = 61;
  EXPECT_EQ(why(a), "grant of job 1: it has another one that is not over yet");
  EXPECT_EQ(why({.job_id = JobId{2}, .quota = {.osts = 41, .payload_per_ost = 128, .max_groups = 1}}),
            "grant of job 2: 41 OSTs asked, 40 of 100 left");
  EXPECT_EQ(why({.job_id = JobId{2}, .quota = {.osts = 40, .payload_per_ost = 128, .max_groups = 5}}),
            "grant of job 2: 5 groups asked, 4 of 10 left");
  EXPECT_EQ(why({.job_id = JobId{2}, .quota = {.osts = 40, .payload_per_ost = 1025, .max_groups = 4}}),
            "grant of job 2: payload_per_ost 1025 is over this node's 1024");
  EXPECT_EQ(why({.job_id = JobId{2}, .quota = {.osts = 40, .payload_per_ost = 1024, .max_groups = 4}}), "");
  EXPECT_TRUE(node.revoke(JobId{1}, {}));
  EXPECT_FALSE(node.revoke(JobId{9}, {}));
  EXPECT_EQ(why({.job_id = JobId{3}, .quota = {.osts = 60, .payload_per_ost = 128, .max_groups = 6}}), "")
      << "a revoked job without groups is gone";
}

TEST(Node, gives_a_group_the_osts_it_requests_and_takes_them_back) {
  StandingGroup world(2, {}, test::grant(32, 4));
  EXPECT_EQ(world.groups[0]->shape().osts, 8u);
  EXPECT_EQ(world.node.node->jobs()[0].osts_free, 24u);
  EXPECT_EQ(world.node.node->jobs()[0].groups_used, 1u);
  for (auto& group : world.groups) group->leave({});
  world.tree.run();
  EXPECT_EQ(world.node.node->jobs()[0].osts_free, 32u);
  EXPECT_EQ(world.node.node->jobs()[0].groups_used, 0u);
}

TEST(Node, gives_a_group_what_it_requests_as_far_as_the_jobs_pool_goes) {
  StandingGroup world(2, {}, test::grant(32, 4));
  world.request = 30;  // the first group has taken 8 of 32 OSTs
  const auto first = std::move(world.groups);
  world.make();
  EXPECT_EQ(world.groups[0]->shape().osts, 24u);
  EXPECT_EQ(world.node.node->jobs()[0].osts_free, 0u);
}

TEST(Node, promises_streaming_windows_only_as_far_as_its_memory_goes) {
  NodeLimits limits{.osts = 32, .groups = 4};
  limits.stream_bytes = 5 * number_bytes(512);
  StandingGroup world(2, limits, test::grant(32, 4));
  EXPECT_EQ(world.groups[0]->shape().stream_window, 4u);
  auto first = std::move(world.groups);
  world.make();
  EXPECT_EQ(world.groups[0]->shape().stream_window, 1u) << "room for one more chunk";
  auto second = std::move(world.groups);
  world.make();
  EXPECT_EQ(world.groups[0]->phase(), ClientGroup::Phase::standing);
  EXPECT_EQ(world.groups[0]->shape().stream_window, 0u) << "no room: the group stands without streaming";
  auto third = std::move(world.groups);
  for (auto& group : first) group->leave({});
  world.tree.run();
  world.make();
  EXPECT_EQ(world.groups[0]->shape().stream_window, 4u) << "what the first group had is free again";
}

TEST(Node, promises_osts_only_as_far_as_its_memory_goes) {
  NodeLimits limits;
  limits.window_bytes = 10 * number_bytes(128) + number_bytes(512);
  StandingGroup world(2, limits, test::grant(32, 4));
  EXPECT_EQ(world.groups[0]->shape().osts, 8u);
  EXPECT_EQ(world.groups[0]->shape().stream_window, 1u) << "streaming takes what OSTs leave";
  auto first = std::move(world.groups);
  world.make();
  EXPECT_EQ(world.groups[0]->shape().osts, 2u) << "room for two more OSTs";
  EXPECT_EQ(world.groups[0]->shape().stream_window, 0u);
  EXPECT_EQ(world.node.node->jobs()[0].osts_free, 22u) << "the job has back what it could not get";
  auto second = std::move(world.groups);
  world.make();
  EXPECT_EQ(world.groups[0]->phase(), ClientGroup::Phase::refused);
  EXPECT_EQ(world.groups[0]->why(),
            "node 100 has no memory left for the group's OSTs: it asks for 5 KiB, the windows of all groups may take "
            "10; destroy a "
            "communicator, ask for less payload, or raise SUMAC_NODE_MEMORY of sharp_an");
  EXPECT_EQ(world.node.node->jobs()[0].osts_free, 22u);
  for (auto& group : first) group->leave({});
  world.tree.run();
  world.make();
  EXPECT_EQ(world.groups[0]->shape().osts, 8u) << "what the first group had is free again";
}

TEST(Node, refuses_with_the_reason_and_the_number_that_was_short) {
  {
    StandingGroup world(1, {}, test::grant(32, 1));
    world.clients[0]->client->open(99, 1, {});
    world.tree.run();
    const auto outcome = world.clients[0]->client->open_outcome(99);
    EXPECT_EQ(outcome.state, OpenOutcome::State::refused);
    EXPECT_EQ(describe(outcome.refusal), "no group id left: the job was granted 1 (node 100)");
  }
  {
    StandingGroup world(1, {}, test::grant(2, 2));
    auto first = std::move(world.groups[0]);
    world.make();
    EXPECT_EQ(world.groups[0]->phase(), ClientGroup::Phase::refused);
    EXPECT_EQ(world.groups[0]->why(), "no OST left at node 100: the job was granted 2");
  }
  {
    StandingGroup world(1);
    world.node.node->revoke(kJob, {});
    world.clients[0]->client->open(99, 1, {});
    world.tree.run();
    EXPECT_EQ(describe(world.clients[0]->client->open_outcome(99).refusal),
              "node 100 has no grant for job 42: it ended or never began");
    ASSERT_TRUE(world.groups[0]->post({}, {})) << "what stands lives on";
    world.tree.run();
    EXPECT_EQ(world.groups[0]->next_completion()->status, Errc::ok);
  }
}

TEST(Node, breaking_a_rule_costs_the_connection_and_nobody_else_anything) {
  const struct {
    const char* name;
    AggHeader (*make)(const StandingGroup&);
    const char* why;
  } rows[] = {
      {"a contribution to a group it did not join", [](const StandingGroup& w) { return contribution(w, 0, 0, 4); },
       "did not join"},
      {"a group that never was",
       [](const StandingGroup& w) {
         auto h = contribution(w, 0, 0, 4);
         h.group_id = GroupId{number_of(h.group_id) + 1};
         return h;
       },
       "did not join"},
      {"another tree",
       [](const StandingGroup& w) {
         auto h = contribution(w, 0, 0, 4);
         h.tree_id = TreeId{8};
         return h;
       },
       "another tree"},
      {"a result from a child",
       [](const StandingGroup& w) {
         auto h = contribution(w, 0, 0, 4);
         h.kind = AggKind::result;
         h.origin = wire::kNoRank;
         h.members = 0;
         return h;
       },
       "a child does not say this"},
      {"a fragment behind the end",
       [](const StandingGroup& w) {
         auto h = contribution(w, 0, 0, 4);
         h.first = 2;
         return h;
       },
       "past the end"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    StandingGroup world(2);
    auto& stranger = world.tree.add_client(world.node, 9);
    world.tree.run();
    const auto header = row.make(world);
    world.tree.inject(stranger, stranger.up, header, std::vector<std::byte>(header.payload_bytes));
    world.tree.run();
    ASSERT_EQ(world.node.drops.size(), 1u);
    EXPECT_THAT(world.node.drops[0], HasSubstr(row.why));
    EXPECT_TRUE(stranger.client->closed());
    for (auto& group : world.groups) ASSERT_TRUE(group->post({}, {}));
    world.tree.run();
    for (auto& group : world.groups) EXPECT_EQ(group->next_completion()->status, Errc::ok);
  }
}

TEST(Node, a_member_that_breaks_a_rule_is_named_to_the_others) {
  const struct {
    const char* name;
    void (*spoil)(AggHeader&);
    const char* why;
  } rows[] = {
      {"a number beyond the window", [](AggHeader& h) { h.sequence = Sequence{8}; }, "beyond the window"},
      {"a payload over the OST's",
       [](AggHeader& h) {
         h.count = 64;
         h.payload_bytes = 256;
       },
       "exceeds the group's grant"},
      {"another member's data", [](AggHeader& h) { h.origin = 1; }, "origin and members differ"},
      {"another member's data, reproducible",
       [](AggHeader& h) {
         h.flags |= wire::kFlagReproducible;
         h.origin = 1;
       },
       "origin and members differ"},
      {"data for two, reproducible",
       [](AggHeader& h) {
         h.flags |= wire::kFlagReproducible;
         h.members = 2;
       },
       "origin and members differ"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    StandingGroup world(2);
    AggHeader header = contribution(world, 0, 0, 4);
    row.spoil(header);
    world.tree.inject(*world.clients[0], world.clients[0]->up, header, std::vector<std::byte>(header.payload_bytes));
    world.tree.run();
    ASSERT_EQ(world.node.drops.size(), 1u);
    EXPECT_THAT(world.node.drops[0], HasSubstr(row.why));
    EXPECT_EQ(world.groups[1]->why(), "rank 0 lost its connection to the tree");
  }
}

TEST(Node, the_last_number_of_the_window_is_no_offence) {
  StandingGroup world(2);
  const AggHeader header = contribution(world, 0, 7, 4);
  world.tree.inject(*world.clients[0], world.clients[0]->up, header, std::vector<std::byte>(16));
  world.tree.run();
  EXPECT_TRUE(world.node.drops.empty());
}

TEST(Node, a_shared_frame_is_copied_before_it_is_added_to) {
  StandingGroup world(2);
  const float one = 1;
  std::vector<std::byte> payload(4);
  std::memcpy(payload.data(), &one, 4);
  BufferRef frame = world.tree.frame(contribution(world, 0, 0, 1), payload);
  world.node.node->on_message(world.clients[0]->up, frame, {});
  world.node.node->on_message(world.clients[1]->up, world.tree.frame(contribution(world, 1, 0, 1), payload), {});
  float after = 0;
  std::memcpy(&after, frame.data() + wire::kAggHeaderBytes, 4);
  EXPECT_EQ(after, 1);
  EXPECT_EQ(world.node.node->stats().buffer_copies, 1u);
}

TEST(Node, what_goes_up_waits_for_the_parent_to_be_connected) {
  TestTree tree;
  auto& root = tree.add_node(1);
  auto& leaf = tree.add_node(2, false);
  ASSERT_TRUE(root.node->grant(test::grant()));
  ASSERT_TRUE(leaf.node->grant(test::grant()));
  auto& a = tree.add_client(leaf, 0);
  auto& b = tree.add_client(root, 1);
  a.client->open(1, 2, {});
  tree.run();
  EXPECT_EQ(a.client->open_outcome(1).state, OpenOutcome::State::pending);
  tree.set_parent(leaf, root);
  tree.run();
  const auto opened = a.client->open_outcome(1);
  ASSERT_EQ(opened.state, OpenOutcome::State::opened);
  const auto leaves = test::node_ids({2, 1});
  const auto nodes = test::parents({{1, 1}, {2, 1}});
  std::vector<std::unique_ptr<ClientGroup>> groups;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    auto& client = rank == 0 ? a : b;
    auto group = ClientGroup::make({.job_id = kJob,
                                    .tree_id = kTree,
                                    .group_id = opened.group_id,
                                    .rank = rank,
                                    .world_rank = WorldRank{rank},
                                    .group_size = 2,
                                    .path = *compute_path(rank, leaves, nodes),
                                    .osts = 8,
                                    .payload_per_ost = 128},
                                   client, client.up);
    ASSERT_TRUE(group);
    client.client->attach(**group);
    (*group)->start({});
    groups.push_back(std::move(*group));
  }
  tree.run();
  for (auto& group : groups) {
    EXPECT_EQ(group->shape().root_node, NodeId{1});
    ASSERT_TRUE(group->post({}, {}));
  }
  tree.run();
  for (auto& group : groups) EXPECT_EQ(group->next_completion()->status, Errc::ok);
  EXPECT_EQ(root.node->groups()[0].operations, 1u);
  // The leaf loses its parent: the members below it and those above are informed.
  tree.cut(leaf.up);
  tree.run();
  EXPECT_EQ(groups[0]->phase(), ClientGroup::Phase::lost);
  EXPECT_EQ(groups[0]->why(), "node unknown is gone, its connection ended; its child id-2 noticed");
  EXPECT_EQ(groups[1]->why(), "node id-2 is gone, its connection ended; its parent id-1 noticed");
}

TEST(Node, ARankThatIsSaidToBeDeadIsFoundByJobAndHostAndItsGroupsGetAVerdict) {
  StandingGroup group(3);
  Node& node = *group.node.node;
  EXPECT_TRUE(node.links_of(JobId{number_of(kJob) + 1}, WorldRank{1}, "h1").empty()) << "of another job";
  EXPECT_TRUE(node.links_of(kJob, WorldRank{7}, "h1").empty()) << "there is no such rank";
  const auto links = node.links_of(kJob, WorldRank{1}, "h1");
  ASSERT_EQ(links.size(), 1u) << "these clients did not say where they are";
  node.rank_died(links[0], group.tree.now);
  EXPECT_TRUE(node.links_of(kJob, WorldRank{1}, "h1").empty());
  group.tree.run();
  for (const std::uint32_t rank : {0u, 2u}) {
    const auto& verdict = group.groups[rank]->verdict();
    ASSERT_TRUE(verdict) << rank;
    EXPECT_EQ(verdict->body.culprit, 1u);
    EXPECT_EQ(verdict->body.reason, wire::TroubleReason::dead_rank);
  }
}

}  // namespace
}  // namespace sumac::proto
