// A group whose small operations go as datagrams, beside its messages by links, with the kernels' machine of src/hop in the nodes.
#include <gtest/gtest.h>

#include "proto/test_kernel.hpp"

namespace sumac::proto {
namespace {

using namespace test;
using Phase = ClientGroup::Phase;
using Trial = ClientGroup::Trial;

constexpr std::uint32_t kWords = 8, kLarge = 40;  // 8 words are the most of a datagram here.

/// A root with two members at a leaf and one of its own, or everything at one node.
struct World {
  explicit World(bool two_levels, std::uint64_t seed = 1, double loss = 0, Sequence first = {})
      : root(tree.add_node(100, true, {.first_sequence = first})),
        leaf(tree.add_node(101, false)),
        kernels(tree, seed, loss),
        has_two_levels(two_levels) {
    for (auto* node : {&root, &leaf})
      if (!node->node->grant(grant())) throw std::runtime_error("grant");
    at_root = &kernels.add(root);
    at_leaf = &kernels.add(leaf);
    tree.set_parent(leaf, root);
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      clients.push_back(&tree.add_client(two_levels && rank < 2 ? leaf : root, rank));
    tree.run();
  }
  void make(std::uint32_t without = 99) {
    groups = join_group(tree, clients, 1, [&](ClientGroupConfig& config) {
      config.path = {};
      if (has_two_levels && config.rank < 2) config.path.entries[config.path.length++] = {NodeId{101}, 2};
      config.path.entries[config.path.length++] = {NodeId{100}, 3};
      config.lock_batch = kLockForEver;
      if (config.rank != without) config.datagrams.port = static_cast<std::uint16_t>(1000 + config.rank);
    });
    settle();
  }
  /// Delivers everything; a lost datagram is sent again after its time.
  void settle() {
    do tree.run();
    while (kernels.step(clients));
  }
  void pass(Duration time = Millis(1)) {
    tree.now += time;
    for (auto* client : clients)
      if (client->client->next_due() <= tree.now) client->client->tick(tree.now);
    settle();
  }

  struct Call {
    wire::Coll coll;
    std::uint32_t root = 0, words = 0;
    bool streams = false;
  };
  std::uint64_t part(std::uint32_t rank, std::uint32_t n, std::uint32_t word) const {
    return (n + 1) * 1'000'003ull + rank * 7919 + word;
  }
  /// Returns whether the member could post it.
  bool post(std::uint32_t rank, std::uint32_t n, const Call& call) {
    auto& memory = memory_[rank].emplace_back();
    memory.src.resize(call.words);
    memory.dst.resize(call.words);
    for (std::uint32_t i = 0; i < call.words; ++i) memory.src[i] = part(rank, n, i);
    Operation operation{.coll = call.coll};
    if (call.coll != wire::Coll::barrier) {
      operation.dtype = Dtype::uint64;
      operation.op = call.coll == wire::Coll::bcast ? Op::null : Op::sum;
      operation.count = call.words;
      operation.root = call.root;
      operation.streaming = call.streams;
      operation.src = std::as_bytes(std::span(memory.src));
      operation.dst = std::as_writable_bytes(std::span(memory.dst));
      if (call.coll == wire::Coll::bcast && rank != call.root) operation.give = {0, 0}, operation.src = {};
      if (call.coll == wire::Coll::reduce && rank != call.root) operation.keep = {0, 0}, operation.dst = {};
    }
    operation.token = n;
    if (groups[rank]->post(operation, tree.now)) return true;
    memory_[rank].pop_back();
    return false;
  }
  std::string check(std::uint32_t rank, std::uint32_t n, const Call& call) const {
    if (call.coll == wire::Coll::barrier || (call.coll == wire::Coll::reduce && rank != call.root)) return {};
    for (std::uint32_t i = 0; i < call.words; ++i) {
      std::uint64_t right = call.coll == wire::Coll::bcast ? part(call.root, n, i) : 0;
      for (std::uint32_t r = 0; r < 3 && call.coll != wire::Coll::bcast; ++r) right += part(r, n, i);
      if (memory_[rank][n].dst[i] != right) return fmt::format("rank {} operation {} word {}", rank, n, i);
    }
    return {};
  }
  /// Posts and completes the operations, each member at a pace of its own. Returns what went wrong.
  std::string run(const std::vector<Call>& calls, std::uint32_t depth) {
    std::vector<std::uint32_t> posted(3), taken(3);
    for (int turns = 0; turns < 200'000; ++turns) {
      bool is_over = true;
      for (std::uint32_t rank = 0; rank < 3; ++rank) {
        while (const auto over = groups[rank]->next_completion()) {
          if (over->status != Errc::ok)
            return fmt::format("rank {} operation {} fails: {}", rank, over->token, groups[rank]->why()) + drops();
          if (auto wrong = check(rank, taken[rank], calls[taken[rank]]); !wrong.empty()) return wrong;
          ++taken[rank];
        }
        if (posted[rank] < calls.size() && posted[rank] - taken[rank] < depth && kernels.random.chance(0.5) &&
            post(rank, posted[rank], calls[posted[rank]]))
          ++posted[rank];
        is_over = is_over && taken[rank] == calls.size();
      }
      if (is_over) return {};
      const auto least = tree.now;
      settle();
      if (kernels.random.chance(0.3) || tree.now == least) pass(Micros(100));
    }
    return fmt::format("somebody waits for ever: {} {} {}", taken[0], taken[1], taken[2]);
  }
  std::string drops() const {
    std::string all;
    for (const auto* end : {&root, &leaf, clients[0], clients[1], clients[2]})
      for (const auto& drop : end->drops) all += "; " + drop;
    return all;
  }
  std::uint64_t datagrams() const { return groups[0]->datagram_operations(); }

  TestTree tree;
  TestTree::End &root, &leaf;
  Kernels kernels;
  Kernels::Kernel *at_root, *at_leaf;
  const bool has_two_levels;
  std::vector<TestTree::End*> clients;
  std::vector<std::unique_ptr<ClientGroup>> groups;

 private:
  struct Memory {
    std::vector<std::uint64_t> src, dst;
  };
  std::deque<Memory> memory_[3];
};

std::vector<World::Call> small(std::uint32_t count) {
  std::vector<World::Call> calls;
  for (std::uint32_t n = 0; n < count; ++n)
    calls.push_back({n % 3 == 2 ? wire::Coll::barrier : wire::Coll::allreduce, 0, n % 3 == 2 ? 0 : 1 + n % kWords});
  return calls;
}

std::vector<World::Call> mixed(Random& random, std::uint32_t count) {
  std::vector<World::Call> calls = small(12);
  while (calls.size() < count) {
    const auto root = static_cast<std::uint32_t>(random.below(3));
    const auto words = static_cast<std::uint32_t>(random.between(1, random.chance(0.8) ? kWords : kLarge));
    switch (random.below(5)) {
      case 0: calls.push_back({wire::Coll::barrier}); break;
      case 1: calls.push_back({wire::Coll::bcast, root, words}); break;
      case 2: calls.push_back({wire::Coll::reduce, root, words}); break;
      case 3: calls.push_back({wire::Coll::allreduce, 0, words, random.chance(0.2)}); break;
      default:
        for (std::uint64_t i = random.below(12); i > 0; --i) calls.push_back({wire::Coll::allreduce, 0, 1});
    }
  }
  return calls;
}

void leave(World& world) {
  for (auto& group : world.groups) group->leave(world.tree.now);
  for (int i = 0; i < 100; ++i) world.pass();
  for (auto& group : world.groups) EXPECT_EQ(group->phase(), Phase::left);
  EXPECT_EQ(world.at_root->groups() + world.at_leaf->groups(), 0u) << "nothing stays in a kernel";
  for (auto* end : {&world.root, &world.leaf}) EXPECT_TRUE(end->drops.empty()) << end->drops.front();
}

TEST(DatagramWay, SmallOperationsGoAroundTheLinks) {
  for (const bool two_levels : {false, true}) {
    World world(two_levels);
    world.make();
    for (auto& group : world.groups) ASSERT_EQ(group->trial_of_datagrams(), Trial::passed);
    EXPECT_EQ(world.run(small(500), 1), "");
    // The first number says that all receive them; a window goes by links until everybody knows.
    EXPECT_EQ(world.datagrams(), 500 - world.groups[0]->shape().window());
    EXPECT_LT(world.root.node->stats().messages_in, 100u);
    leave(world);
  }
}

TEST(DatagramWay, BothWaysOfOneGroupAreExact) {
  std::uint64_t datagrams = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const double loss = random.chance(0.7) ? 0.3 * random.unit() : 0;
    World world(random.chance(0.6), seed, loss, Sequence{0xFFFFFFE0});  // Its numbers pass 0.
    world.make();
    for (int i = 0; i < 200; ++i) world.pass();
    ASSERT_EQ(world.run(mixed(random, 120), static_cast<std::uint32_t>(random.between(1, 12))), "");
    datagrams += world.datagrams();
    leave(world);
  }
  EXPECT_GT(datagrams, 1000u);
}

TEST(DatagramWay, OneMemberWithoutItKeepsAllOnTheLinks) {
  World world(true);
  world.make(1);
  for (auto& group : world.groups) EXPECT_EQ(group->trial_of_datagrams(), Trial::none);
  EXPECT_EQ(world.run(small(100), 2), "");
  EXPECT_EQ(world.datagrams(), 0u);
  leave(world);
}

TEST(DatagramWay, ANodeWhoseKernelDoesNotBeginKeepsAllOnTheLinks) {
  World world(true);
  world.at_leaf->begins = false;
  world.make();
  EXPECT_EQ(world.groups[0]->trial_of_datagrams(), Trial::none);
  for (int i = 0; i < 1000; ++i) world.pass(Millis(10));
  EXPECT_EQ(world.groups[2]->trial_of_datagrams(), Trial::failed) << "nobody answers";
  EXPECT_EQ(world.run(small(100), 2), "");
  EXPECT_EQ(world.datagrams(), 0u);
  leave(world);
}

TEST(DatagramWay, AVerdictNamesTheSameNumberToAll) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world(seed % 2 == 0, seed, seed % 3 == 0 ? 0.2 : 0);
    world.make();
    for (int i = 0; i < 200; ++i) world.pass();
    const std::uint32_t begun = 30 + static_cast<std::uint32_t>(world.kernels.random.below(9));
    ASSERT_EQ(world.run(small(begun), 1), "");
    ASSERT_GT(world.datagrams(), 0u);
    // Some more are under way when rank 2 dies; it has posted fewer of them than the others.
    const auto calls = small(begun + 4);
    std::uint32_t last = begun;
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      for (std::uint32_t n = begun; n < begun + (rank == 2 ? world.kernels.random.below(4) : 4); ++n)
        if (world.post(rank, n, calls[n]) && rank == 2) last = n + 1;
    for (std::uint64_t i = world.kernels.random.below(20); i > 0; --i) world.kernels.step(world.clients);
    world.tree.cut(world.clients[2]->up);
    for (int i = 0; i < 300; ++i) world.pass();
    std::uint32_t completed[2] = {begun, begun};
    for (const std::uint32_t rank : {0u, 1u}) {
      ASSERT_TRUE(world.groups[rank]->verdict());
      while (const auto over = world.groups[rank]->next_completion())
        if (over->status == Errc::ok) {
          ASSERT_EQ(world.check(rank, completed[rank], calls[completed[rank]]), "");
          ++completed[rank];
        }
    }
    EXPECT_EQ(completed[0], completed[1]);
    EXPECT_EQ(world.groups[0]->verdict()->first_failed, world.groups[1]->verdict()->first_failed);
    EXPECT_LE(completed[0], last);
    for (const std::uint32_t rank : {0u, 1u}) world.groups[rank]->leave(world.tree.now);
    for (int i = 0; i < 100; ++i) world.pass();
    for (const std::uint32_t rank : {0u, 1u}) EXPECT_EQ(world.groups[rank]->phase(), Phase::left);
    EXPECT_EQ(world.at_root->groups() + world.at_leaf->groups(), 0u);
  }
}

TEST(DatagramWay, MembersThatDifferGetAVerdict) {
  World world(false);
  world.make();
  ASSERT_EQ(world.run(small(30), 1), "");
  ASSERT_TRUE(world.post(0, 30, {wire::Coll::allreduce, 0, 1}));
  world.settle();
  ASSERT_TRUE(world.post(1, 30, {wire::Coll::allreduce, 0, 2}));
  world.settle();
  ASSERT_FALSE(world.kernels.differing.empty());
  const auto& [frame, agreed, other] = world.kernels.differing.front();
  world.root.node->on_datagram_differs(static_cast<std::uint16_t>(frame.group), frame, agreed, other, world.tree.now);
  world.settle();
  ASSERT_TRUE(world.groups[2]->verdict());
  EXPECT_EQ(describe(world.groups[2]->verdict()->body), "rank 1 differs from rank 0 in count: 2, not 1");
}

TEST(DatagramWay, MembersThatGoDifferentWaysGetAVerdict) {
  for (const bool two_levels : {false, true}) {
    World world(two_levels);
    world.make();
    ASSERT_EQ(world.run(small(30), 1), "");
    ASSERT_TRUE(world.post(2, 30, {wire::Coll::allreduce, 0, 1}));
    for (const std::uint32_t rank : {0u, 1u}) ASSERT_TRUE(world.post(rank, 30, {wire::Coll::bcast, 0, 1}));
    world.settle();
    ASSERT_FALSE(world.groups[2]->verdict());
    world.root.node->look_at_datagrams(world.tree.now);
    world.settle();
    ASSERT_TRUE(world.groups[2]->verdict());
    EXPECT_EQ(describe(world.groups[2]->verdict()->body), "rank 2 called allreduce, rank 0 called bcast");
  }
}

TEST(DatagramWay, ALeafThatLeavesDatagramsUnansweredIsLost) {
  World world(false);
  world.make();
  ASSERT_EQ(world.run(small(30), 1), "");
  world.tree.take_datagram = nullptr;
  ASSERT_TRUE(world.post(0, 30, {wire::Coll::barrier}));
  for (int i = 0; i < 1500; ++i) world.pass();
  EXPECT_EQ(world.groups[0]->next_completion()->status, Errc::lost);
  EXPECT_EQ(world.groups[0]->why(), "its leaf node has left datagrams unanswered for 1 s");
  EXPECT_TRUE(world.groups[1]->verdict()) << "the others need not wait for it";
}

}  // namespace
}  // namespace sumac::proto
