// The streaming lock is asked for before the first streaming operation, taken at every node on the path or at none, and
// returned after a batch or with the group. The file also tests calls that one member alone refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "proto/client_group.hpp"
#include "proto/test_tree.hpp"

namespace sumac::proto {
namespace {

using wire::Coll;

/// A root over two nodes. Groups are on leaf 1 alone, on leaf 2 alone, or across.
struct World {
  explicit World(std::uint32_t root_streams, std::uint32_t leaf_streams) {
    for (std::uint32_t id = 100; id < 103; ++id) {
      NodeLimits limits;
      limits.streams = id == 100 ? root_streams : leaf_streams;
      nodes.push_back(&tree.add_node(id, id == 100, limits));
      if (auto granted = nodes.back()->node->grant(test::grant()); !granted)
        throw std::runtime_error(granted.error().context);
    }
    tree.set_parent(*nodes[1], *nodes[0]);
    tree.set_parent(*nodes[2], *nodes[0]);
    for (std::uint32_t rank = 0; rank < 4; ++rank) clients.push_back(&tree.add_client(*nodes[1 + rank / 2], rank));
    tree.run();
  }

  using Members = std::vector<std::unique_ptr<ClientGroup>>;
  Members group(std::vector<std::uint32_t> world_ranks, std::uint32_t batch) {
    std::vector<test::TestTree::End*> ends;
    for (const auto rank : world_ranks) ends.push_back(clients[rank]);
    const bool across = world_ranks.front() / 2 != world_ranks.back() / 2;
    Members members = test::join_group(tree, ends, ++tokens, [&](ClientGroupConfig& config) {
      const auto world_rank = world_ranks[config.rank];
      config.world_rank = WorldRank{world_rank};
      config.lock_batch = batch;
      const std::uint32_t leaf = world_rank / 2;
      const auto here = std::ranges::count_if(world_ranks, [&](std::uint32_t other) { return other / 2 == leaf; });
      config.path.entries[0] = {NodeId{101 + leaf}, static_cast<std::uint32_t>(here)};
      if (across) config.path.entries[1] = {NodeId{100}, config.group_size};
      config.path.length = across ? 2 : 1;
    });
    for (const auto& member : members)
      if (member->phase() != ClientGroup::Phase::standing) throw std::runtime_error(member->why());
    return members;
  }

  /// Runs one allreduce of `count` floats by all members; returns how it ended at each, and requires exact sums.
  struct Went {
    Errc status = Errc::ok;
    bool streamed = false;
    friend bool operator==(const Went&, const Went&) = default;
  };
  Went stream(const Members& members, bool must = false, std::size_t count = 1000) {
    return stream(members, must, count, [] {});
  }
  /// `meanwhile` is called when all but the last member have sent as much as they may.
  template <class Meanwhile>
  Went stream(const Members& members, bool must, std::size_t count, const Meanwhile& meanwhile) {
    std::vector<std::vector<float>> in, out;
    for (std::size_t rank = 0; rank < members.size(); ++rank) {
      in.emplace_back(count, static_cast<float>(rank + 1));
      out.emplace_back(count, -1.0f);
    }
    for (std::size_t rank = 0; rank < members.size(); ++rank) {
      if (rank + 1 == members.size()) meanwhile();
      const auto posted = members[rank]->post({.coll = Coll::allreduce,
                                               .op = Op::sum,
                                               .dtype = Dtype::float32,
                                               .count = count,
                                               .src = std::as_bytes(std::span(in[rank])),
                                               .dst = std::as_writable_bytes(std::span(out[rank])),
                                               .streaming = true,
                                               .must_stream = must},
                                              {});
      EXPECT_TRUE(posted);
    }
    tree.run();
    std::optional<Went> all;
    for (std::size_t rank = 0; rank < members.size(); ++rank) {
      const auto over = members[rank]->next_completion();
      EXPECT_TRUE(over);
      if (!over) return {Errc::invalid, false};
      const Went went{over->status, over->streamed};
      if (all) {
        EXPECT_EQ(went, *all) << "members differ";
      }
      all = went;
      const float sum = static_cast<float>(members.size() * (members.size() + 1) / 2);
      EXPECT_EQ(out[rank], std::vector<float>(count, over->status == Errc::ok ? sum : -1.0f));
    }
    return *all;
  }

  void leave(Members& members) {
    for (auto& member : members) member->leave({});
    tree.run();
    for (auto& member : members) EXPECT_EQ(member->phase(), ClientGroup::Phase::left);
  }
  std::vector<std::uint64_t> held() const {
    std::vector<std::uint64_t> counts;
    for (const auto* node : nodes) counts.push_back(node->node->stats().streams_held);
    return counts;
  }
  std::size_t barriers(const Members& members, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
      for (const auto& member : members) EXPECT_TRUE(member->post({}, {}));
    tree.run();
    std::size_t done = 0;
    for (const auto& member : members)
      while (const auto over = member->next_completion()) done += over->status == Errc::ok;
    return done / members.size();
  }

  test::TestTree tree;
  std::vector<test::TestTree::End*> nodes, clients;
  std::uint64_t tokens = 0;
};

constexpr World::Went kStreamed{Errc::ok, true}, kInFragments{Errc::ok, false}, kDenied{Errc::again, false};
using Counts = std::vector<std::uint64_t>;

TEST(StreamLock, IsTakenOnceAndHeldUntilTheGroupEnds) {
  World world(1, 1);
  auto across = world.group({0, 2}, kLockForEver);
  EXPECT_EQ(across[0]->stream_lock(), StreamLock::none);
  const auto sent = world.clients[0]->sent.size();
  EXPECT_EQ(world.stream(across), kStreamed);
  EXPECT_EQ(world.stream(across), kStreamed);
  EXPECT_EQ(world.clients[0]->sent.size() - sent, 1u + 8 + 8) << "one number for the lock, 4000 bytes in chunks of 512";
  EXPECT_EQ(across[1]->stream_lock(), StreamLock::held);
  EXPECT_EQ(world.held(), (Counts{1, 1, 1}));
  world.leave(across);
  EXPECT_EQ(world.held(), (Counts{0, 0, 0}));
}

TEST(StreamLock, WhoHasNoneGoesInFragmentsOrIsToldSo) {
  World world(1, 1);
  auto first = world.group({0, 2}, kLockForEver);
  auto second = world.group({1, 3}, kLockForEver);
  EXPECT_EQ(world.stream(first), kStreamed);
  EXPECT_EQ(world.stream(second), kInFragments);
  EXPECT_EQ(world.stream(second, true), kDenied);
  const auto beside = [&] {
    world.tree.run();
    EXPECT_EQ(first[0]->in_flight(), 4u) << "a window of chunks waits for the other member";
    EXPECT_EQ(world.barriers(second, 20), 20u) << "small ones go on beside another's stream";
    EXPECT_EQ(first[0]->in_flight(), 4u);
    EXPECT_FALSE(first[0]->next_completion());
  };
  EXPECT_EQ(world.stream(first, false, 1000, beside), kStreamed);
  world.leave(first);
  EXPECT_EQ(world.stream(second, true), kStreamed) << "asked again";
  EXPECT_EQ(world.held(), (Counts{1, 1, 1}));
  world.leave(second);
  EXPECT_EQ(world.held(), (Counts{0, 0, 0}));
}

TEST(StreamLock, ABatchOfOneLetsGroupsTakeTurns) {
  World world(1, 1);
  auto first = world.group({0, 2}, 1);
  auto second = world.group({1, 3}, 1);
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(world.stream(first, true), kStreamed);
    EXPECT_EQ(world.held(), (Counts{0, 0, 0}));
    EXPECT_EQ(world.stream(second, true), kStreamed);
  }
  auto third = world.group({0, 3}, 3);
  EXPECT_EQ(world.stream(third), kStreamed);
  EXPECT_EQ(world.stream(third), kStreamed);
  EXPECT_EQ(world.stream(first), kInFragments) << "the third one's batch is not over";
  EXPECT_EQ(world.stream(third), kStreamed);
  EXPECT_EQ(world.stream(first), kStreamed);
}

TEST(StreamLock, IsTakenAtAllNodesOrAtNone) {
  World world(0, 1);  // the root has no stream slot
  auto across = world.group({0, 2}, kLockForEver);
  auto below = world.group({2, 3}, kLockForEver);
  EXPECT_EQ(world.stream(across), kInFragments);
  EXPECT_EQ(world.held(), (Counts{0, 0, 0}));
  EXPECT_EQ(world.stream(below), kStreamed) << "it does not reach up to the root";
  EXPECT_EQ(world.held(), (Counts{0, 0, 1}));

  World other(1, 1);  // the stream slot of one leaf is taken
  auto blocker = other.group({2, 3}, kLockForEver);
  EXPECT_EQ(other.stream(blocker), kStreamed);
  auto wide = other.group({0, 2}, kLockForEver);
  EXPECT_EQ(other.stream(wide, true), kDenied);
  EXPECT_EQ(other.held(), (Counts{0, 0, 1})) << "what was taken at the other leaf and the root went back";
  auto beside = other.group({0, 1}, kLockForEver);
  EXPECT_EQ(other.stream(beside), kStreamed);
}

TEST(StreamLock, CanBeAskedForBeforehand) {
  World world(1, 1);
  auto first = world.group({0, 2}, kLockForEver);
  auto second = world.group({1, 3}, kLockForEver);
  for (auto* members : {&first, &second}) {
    for (auto& member : *members) EXPECT_EQ(member->ask_for_lock({}), Errc::ok);
    world.tree.run();
  }
  for (auto& member : first) EXPECT_EQ(member->stream_lock(), StreamLock::held);
  for (auto& member : second) EXPECT_EQ(member->stream_lock(), StreamLock::denied);
  EXPECT_EQ(world.nodes[1]->node->stats().streams_denied, 1u);
  for (auto& member : first) EXPECT_EQ(member->ask_for_lock({}), Errc::ok) << "it has it already";
  EXPECT_EQ(world.stream(first, true), kStreamed);
}

TEST(StreamLock, GoesBackWhenAMemberIsLost) {
  World world(1, 1);
  auto first = world.group({0, 2}, kLockForEver);
  EXPECT_EQ(world.stream(first), kStreamed);
  world.tree.cut(world.clients[2]->up);
  world.tree.run();
  EXPECT_EQ(first[0]->phase(), ClientGroup::Phase::condemned);
  world.leave(first);
  EXPECT_EQ(world.held(), (Counts{0, 0, 0}));
}

TEST(Refusal, OfAllMembersTakesANumberAndTheGroupGoesOn) {
  World world(1, 1);
  auto members = world.group({0, 1, 2, 3}, 0);
  for (auto& member : members) ASSERT_TRUE(member->post({.coll = Coll::refusal}, {}));
  EXPECT_EQ(world.barriers(members, 3), 4u);
}

TEST(Refusal, AMemberThatGivesUpIsNamedToAllOthers) {
  World world(1, 1);
  auto members = world.group({0, 1, 2, 3}, 0);
  for (const std::uint32_t rank : {0u, 1u, 3u}) ASSERT_TRUE(members[rank]->post({}, {}));
  members[2]->give_up();
  world.tree.run();
  for (const std::uint32_t rank : {0u, 1u, 3u}) {
    ASSERT_TRUE(members[rank]->next_completion()) << "left waiting";
    EXPECT_EQ(members[rank]->why(), "rank 2 gave up (its own output says why)");
  }
}

TEST(Refusal, OfOneMemberIsAVerdictThatNamesIt) {
  for (const bool first_come : {true, false}) {
    World world(1, 1);
    auto members = world.group({0, 1, 2, 3}, 0);
    const auto refuse = [&] { ASSERT_TRUE(members[2]->post({.coll = Coll::refusal, .token = 7}, {})); };
    if (first_come) refuse();
    for (const std::uint32_t rank : {0u, 1u, 3u}) ASSERT_TRUE(members[rank]->post({.token = 8}, {}));
    if (!first_come) {
      world.tree.run();
      refuse();
    }
    world.tree.run();
    for (auto& member : members) {
      const auto over = member->next_completion();
      ASSERT_TRUE(over) << "left waiting";
      EXPECT_EQ(over->status, Errc::verdict);
      EXPECT_EQ(member->why().substr(0, 59), "rank 2 refused its own call (its own output says why), rank");
      EXPECT_NE(member->why().find("called barrier"), std::string::npos);
    }
  }
}

TEST(StreamLock, who_streams_without_it_takes_a_place_or_loses_the_link) {
  World world(1, 1);
  const auto first = world.group({0, 1}, 0), second = world.group({0, 1}, 0);
  EXPECT_EQ(world.stream(first), (World::Went{Errc::ok, true}));
  EXPECT_EQ(world.nodes[1]->node->stats().streams_held, 1u);
  const std::vector<float> in(1000, 1.0f);
  std::vector<float> out(1000);
  for (const auto& member : second)
    ASSERT_TRUE(member->post({.coll = Coll::allreduce,
                              .op = Op::sum,
                              .dtype = Dtype::float32,
                              .count = in.size(),
                              .src = std::as_bytes(std::span(in)),
                              .dst = std::as_writable_bytes(std::span(out)),
                              .streaming = true},
                             {}));
  world.tree.run();
  EXPECT_NE(second[0]->phase(), ClientGroup::Phase::standing);
  ASSERT_FALSE(world.nodes[1]->drops.empty());
  EXPECT_NE(world.nodes[1]->drops[0].find("SUMAC_NODE_STREAMS groups stream already"), std::string::npos)
      << world.nodes[1]->drops[0];
}

}  // namespace
}  // namespace sumac::proto
