// Reproducible sums have the same bits on every tree, for any hosts of the ranks and any order of arrival: the bits
// that one process gets when it adds along the canonical tree with the plain reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "base/random.hpp"
#include "coll/canonical.hpp"
#include "proto/test_tree.hpp"
#include "reduce/reference.hpp"

namespace sumac::proto {
namespace {

using test::kTree;
using test::TestTree;
using testing::HasSubstr;
using wire::AggHeader;
using Bytes = std::vector<std::byte>;

constexpr Dtype kFloats[] = {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};

/// A group on a tree of several nodes. `parent[i]` is the index of node i's parent, 0 the root; `leaf[r]` the node of
/// group rank r.
struct GroupOnTree {
  GroupOnTree(const std::vector<std::uint32_t>& parent, const std::vector<std::uint32_t>& leaf) {
    std::vector<NodeParent> ids;
    for (std::uint32_t i = 0; i < parent.size(); ++i) {
      nodes.push_back(&tree.add_node(100 + i, i == 0));
      if (!nodes[i]->node->grant(test::grant())) throw std::runtime_error("grant");
      if (i != 0) tree.set_parent(*nodes[i], *nodes[parent[i]]);
      ids.push_back({NodeId{100 + i}, NodeId{100 + parent[i]}});
    }
    std::vector<NodeId> leaf_ids;
    for (std::uint32_t rank = 0; rank < leaf.size(); ++rank) {
      clients.push_back(&tree.add_client(*nodes[leaf[rank]], rank));
      leaf_ids.push_back(NodeId{100 + leaf[rank]});
    }
    tree.run();
    groups = test::join_group(tree, clients, 1, [&](ClientGroupConfig& config) {
      config.path = compute_path(config.rank, leaf_ids, ids).value();
      config.osts = 512;
    });
  }

  /// Every rank posts all of `operations`, whose buffers are inputs[operation][rank] and outputs[operation][rank];
  /// messages then arrive in a random order. Returns false when some operation did not complete.
  bool reduce(std::vector<Operation> operations, const std::vector<std::vector<Bytes>>& inputs,
              std::vector<std::vector<Bytes>>& outputs, Random& chance) {
    std::vector<std::uint32_t> order(groups.size());
    for (std::uint32_t rank = 0; rank < order.size(); ++rank) order[rank] = rank;
    chance.shuffle(std::span(order));
    for (const std::uint32_t rank : order)
      for (std::size_t i = 0; i < operations.size(); ++i) {
        operations[i].src = inputs[i][rank];
        outputs[i][rank].assign(inputs[i][rank].size(), std::byte{0});
        operations[i].dst = outputs[i][rank];
        if (!groups[rank]->post(operations[i], tree.now)) return false;
      }
    tree.run([&](std::size_t queued) { return chance.below(queued); });
    for (auto& group : groups)
      for (std::size_t i = 0; i < operations.size(); ++i) {
        const auto completion = group->next_completion();
        if (!completion || completion->status != Errc::ok) return false;
      }
    return true;
  }

  TestTree tree;
  std::vector<TestTree::End*> nodes, clients;
  std::vector<std::unique_ptr<ClientGroup>> groups;
};

/// Returns a value whose sums show the order of adding in their last bits.
double value(Random& chance, Op op) {
  const double x = 1 + chance.unit();
  if (op == Op::prod) return chance.chance(0.5) ? x / 1.5 : -x / 1.5;
  return std::ldexp(chance.chance(0.5) ? x : -x, static_cast<int>(chance.below(7)));
}

Bytes floats(Dtype dtype, Op op, std::size_t count, Random& chance) {
  Bytes bytes(count * width(dtype));
  for (std::size_t i = 0; i < count; ++i) {
    const double x = value(chance, op);
    const auto put = [&](auto v) { std::memcpy(bytes.data() + i * sizeof v, &v, sizeof v); };
    switch (dtype) {
      case Dtype::float16: put(reduce::float16_nearest(x)); break;
      case Dtype::bfloat16: put(reduce::bfloat16_nearest(x)); break;
      case Dtype::float32: put(static_cast<float>(x)); break;
      default: put(x); break;
    }
  }
  return bytes;
}

/// Adds in one process, by the rule of docs/protocol.md: split at the largest power of two below the length.
Bytes canonical(Op op, Dtype dtype, const std::vector<Bytes>& inputs, std::size_t first, std::size_t count) {
  if (count == 1) return inputs[first];
  std::size_t left = 1;
  while (left * 2 < count) left *= 2;
  Bytes sum = canonical(op, dtype, inputs, first, left);
  const Bytes right = canonical(op, dtype, inputs, first + left, count - left);
  reduce::reference_reduce(op, dtype, Dtype::null, sum.data(), right.data(), sum.size() / width(dtype));
  return sum;
}

/// Node i's parent is any node before it that is not too deep; shapes 0 and 1 are a single node and a chain as long as
/// a path may be.
std::vector<std::uint32_t> make_tree(std::uint32_t shape, Random& chance) {
  std::vector<std::uint32_t> parent{0}, depth{1};
  const std::uint32_t nodes = shape == 0   ? 1
                              : shape == 1 ? wire::kPathMax
                                           : 2 + static_cast<std::uint32_t>(chance.below(11));
  while (parent.size() < nodes) {
    auto at = static_cast<std::uint32_t>(shape == 1 ? parent.size() - 1 : chance.below(parent.size()));
    while (depth[at] == wire::kPathMax) at = parent[at];
    parent.push_back(at);
    depth.push_back(depth[at] + 1);
  }
  return parent;
}

TEST(Reproducible, the_same_bits_on_20_trees_in_100_orders_with_every_group_size) {
  constexpr std::uint32_t kSizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 64};
  // The counts make fragments of one element, of a few, of a full payload and of more; in streaming chunks and in LLT.
  constexpr std::size_t kCounts[] = {1, 7, 16, 65, 130};
  std::map<std::pair<Dtype, Op>, std::uint32_t> other_order_differs;
  std::uint32_t ordinary_differs = 0;
  Random chance(20);
  for (std::uint32_t shape = 0; shape < 20; ++shape) {
    const auto parent = make_tree(shape, chance);
    // The single node and the chain run with every group size, each other tree with three: every size meets several
    // shapes.
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t i = 0; i < std::size(kSizes); ++i)
      if (shape < 2 || (i + shape) % 6 == 0) sizes.push_back(kSizes[i]);
    for (const std::uint32_t size : sizes) {
      SCOPED_TRACE(fmt::format("tree {} of {} nodes, {} ranks", shape, parent.size(), size));
      std::vector<std::uint32_t> leaf;
      for (std::uint32_t rank = 0; rank < size; ++rank)
        leaf.push_back(shape == 1 && chance.chance(0.5) ? wire::kPathMax - 1
                                                        : static_cast<std::uint32_t>(chance.below(parent.size())));
      GroupOnTree world(parent, leaf);
      // Each tree has a hundred orders, shared among its groups.
      const std::size_t orders = (100 + sizes.size() - 1) / sizes.size();
      for (std::size_t order = 0; order < orders; ++order) {
        std::vector<Operation> operations;
        std::vector<std::vector<Bytes>> inputs, outputs;
        for (const Dtype dtype : kFloats)
          for (const Op op : {Op::sum, Op::prod}) {
            const std::size_t count = kCounts[(order + operations.size()) % std::size(kCounts)];
            operations.push_back({.coll = wire::Coll::allreduce, .op = op, .dtype = dtype, .count = count});
            operations.back().streaming = (order / 2 + operations.size()) % 2 == 0;
            operations.back().reproducible = true;
            inputs.emplace_back();
            for (std::uint32_t rank = 0; rank < size; ++rank) inputs.back().push_back(floats(dtype, op, count, chance));
            outputs.emplace_back(size);
          }
        ASSERT_TRUE(world.reduce(operations, inputs, outputs, chance));
        for (std::size_t i = 0; i < operations.size(); ++i) {
          const auto& [op, dtype] = std::pair{operations[i].op, operations[i].dtype};
          const Bytes expected = canonical(op, dtype, inputs[i], 0, size);
          for (std::uint32_t rank = 0; rank < size; ++rank)
            ASSERT_EQ(outputs[i][rank], expected) << to_string(op) << ' ' << to_string(dtype) << " at rank " << rank;
          // Adding in the order of the ranks gives other bits: otherwise this test would show nothing.
          Bytes in_turn = inputs[i][0];
          for (std::uint32_t rank = 1; rank < size; ++rank)
            reduce::reference_reduce(op, dtype, Dtype::null, in_turn.data(), inputs[i][rank].data(),
                                     operations[i].count);
          other_order_differs[{dtype, op}] += in_turn != expected;
          operations[i].reproducible = false;
        }
        if (order % 10 != 0) continue;
        ASSERT_TRUE(world.reduce(operations, inputs, outputs, chance));
        for (std::size_t i = 0; i < operations.size(); ++i)
          ordinary_differs += outputs[i][0] != canonical(operations[i].op, operations[i].dtype, inputs[i], 0, size);
      }
      for (auto* node : world.nodes) ASSERT_THAT(node->drops, testing::IsEmpty());
    }
  }
  for (const auto& [what, times] : other_order_differs)
    EXPECT_GT(times, 100u) << to_string(what.first) << ' ' << to_string(what.second);
  EXPECT_GT(ordinary_differs, 100u);
}

TEST(Reproducible, reduce_and_reduce_scatter_have_the_same_bits_as_allreduce) {
  Random chance(3);
  GroupOnTree world({0, 0, 0, 1}, {3, 2, 3, 0, 2, 1, 3});
  const std::uint32_t size = 7, part = 3;
  std::vector<Bytes> inputs;
  for (std::uint32_t rank = 0; rank < size; ++rank)
    inputs.push_back(floats(Dtype::float32, Op::sum, part * size, chance));
  const Bytes expected = canonical(Op::sum, Dtype::float32, inputs, 0, size);
  for (const auto coll : {wire::Coll::reduce, wire::Coll::reduce_scatter}) {
    std::vector<Bytes> outputs(size);
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      Operation o{.coll = coll, .op = Op::sum, .dtype = Dtype::float32, .count = part * size};
      o.reproducible = true;
      o.src = inputs[rank];
      o.root = coll == wire::Coll::reduce ? 4 : 0;
      o.keep = coll == wire::Coll::reduce_scatter ? Range{rank * part, (rank + 1) * part}
               : rank == 4                        ? Range{0, part * size}
                                                  : Range{};
      outputs[rank].resize(o.keep.size() * 4);
      o.dst = outputs[rank];
      ASSERT_TRUE(world.groups[rank]->post(o, {}));
    }
    world.tree.run();
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      ASSERT_EQ(world.groups[rank]->next_completion()->status, Errc::ok);
      const std::size_t from = coll == wire::Coll::reduce_scatter ? rank * part * 4 : 0;
      EXPECT_EQ(outputs[rank], Bytes(expected.begin() + static_cast<std::ptrdiff_t>(from),
                                     expected.begin() + static_cast<std::ptrdiff_t>(from + outputs[rank].size())));
    }
  }
}

/// Counts the contributions that node `from` sent up for one allreduce of one float.
std::size_t messages_up(GroupOnTree& world, std::size_t from, bool reproducible, Op op = Op::sum,
                        Dtype dtype = Dtype::float32) {
  world.nodes[from]->sent.clear();
  std::vector<Bytes> in(world.groups.size(), Bytes(width(dtype))), out = in;
  for (std::size_t rank = 0; rank < world.groups.size(); ++rank) {
    Operation o{.coll = wire::Coll::allreduce, .op = op, .dtype = dtype, .count = 1, .src = in[rank], .dst = out[rank]};
    o.reproducible = reproducible;
    EXPECT_TRUE(world.groups[rank]->post(o, {}));
  }
  world.tree.run();
  for (auto& group : world.groups) EXPECT_EQ(group->next_completion()->status, Errc::ok);
  return static_cast<std::size_t>(
      std::count_if(world.nodes[from]->sent.begin(), world.nodes[from]->sent.end(),
                    [](const AggHeader& h) { return h.kind == wire::AggKind::contribute; }));
}

TEST(Reproducible, a_hop_carries_one_partial_sum_for_each_block_that_nothing_below_completes) {
  const struct {
    const char* name;
    std::uint32_t size;
    bool (*below)(std::uint32_t rank);  ///< Returns whether the rank is below the node under test.
    std::size_t messages;
  } rows[] = {
      {"blocks of a power of two: one, as without the mode", 64, [](std::uint32_t r) { return r / 8 == 3; }, 1},
      {"the last ones of an odd number", 13, [](std::uint32_t r) { return r >= 8; }, 1},
      {"a run that lies across a power of two", 64, [](std::uint32_t r) { return r >= 7 && r < 9; }, 2},
      {"the longest such run: 2 log2 n - 2", 64, [](std::uint32_t r) { return r >= 1 && r < 63; }, 10},
      {"every other rank, the worst: n / 2", 64, [](std::uint32_t r) { return r % 2 == 1; }, 32},
      {"all ranks but one: log2 n", 64, [](std::uint32_t r) { return r != 20; }, 6},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    std::vector<std::uint32_t> leaf;
    for (std::uint32_t rank = 0; rank < row.size; ++rank) leaf.push_back(row.below(rank) ? 1 : 0);
    GroupOnTree world({0, 0}, leaf);
    EXPECT_EQ(messages_up(world, 1, true), row.messages);
    EXPECT_EQ(messages_up(world, 1, false), 1u);
    // Operations that have the same bits in every order need no order.
    EXPECT_EQ(messages_up(world, 1, true, Op::max), 1u);
    EXPECT_EQ(messages_up(world, 1, true, Op::sum, Dtype::int32), 1u);
  }
}

/// The contributions are sent and no result has come: nodes hold all memory that is in use now.
TEST(Reproducible, nodes_hold_no_more_than_they_have_reserved_whoever_comes_first) {
  std::size_t beyond_one_sum = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    Random chance(seed);
    const auto parent = make_tree(static_cast<std::uint32_t>(chance.below(6)), chance);
    std::vector<std::uint32_t> leaf(2 + chance.below(30));
    for (auto& at : leaf) at = static_cast<std::uint32_t>(chance.below(parent.size()));
    GroupOnTree world(parent, leaf);
    const bool streaming = seed % 2 == 0;
    Operation sum{.coll = wire::Coll::allreduce, .op = Op::sum, .dtype = Dtype::float32, .count = 3000};
    sum.streaming = streaming;
    sum.reproducible = true;
    std::vector<Bytes> values;
    for (std::size_t rank = 0; rank < leaf.size(); ++rank)
      values.push_back(floats(sum.dtype, sum.op, sum.count, chance));
    std::vector<std::uint32_t> order(leaf.size());
    for (std::uint32_t rank = 0; rank < order.size(); ++rank) order[rank] = rank;
    chance.shuffle(std::span(order));
    ASSERT_EQ(world.tree.pool.stats().bytes_in_use, 0u);
    for (const std::uint32_t rank : order) {
      sum.src = values[rank];
      sum.dst = values[rank];
      ASSERT_TRUE(world.groups[rank]->post(sum, {}));
      world.tree.run([&](std::size_t queued) { return chance.below(queued); });
      std::size_t reserved = 0, with_one_sum = 0;
      for (const auto* node : world.nodes) {
        reserved += node->node->stats().window_bytes;
        if (node->node->groups().empty()) continue;
        const auto shape = world.groups[0]->shape();
        with_one_sum += shape.osts * number_bytes(128) + shape.stream_window * number_bytes(512);
      }
      const std::size_t held = world.tree.pool.stats().bytes_in_use;
      ASSERT_LE(held, reserved);
      beyond_one_sum += held > with_one_sum;
    }
    for (auto& group : world.groups) EXPECT_EQ(group->next_completion()->status, Errc::ok);
    for (auto& group : world.groups) group->leave({});
    world.tree.run();
    for (const auto* node : world.nodes) EXPECT_EQ(node->node->stats().window_bytes, 0u) << "all is given back";
  }
  EXPECT_GT(beyond_one_sum, 100u) << "orders in which one sum for each number would not have been enough";
}

TEST(Reproducible, keeps_memory_for_partial_sums_only_where_they_are_wanted) {
  for (const bool wanted : {false, true}) {
    test::StandingGroup world(4);
    for (auto& group : world.groups) group->leave({});
    world.tree.run();
    world.make([&](ClientGroupConfig& config) { config.reproducible = wanted || config.rank != 2; });
    const auto& shape = world.groups[0]->shape();
    EXPECT_EQ(shape.reproducible, wanted);
    const std::uint32_t sums = wanted ? 2 : 1;
    EXPECT_EQ(world.node.node->stats().window_bytes,
              shape.osts * number_bytes(128, sums) + shape.stream_window * number_bytes(512, sums));
  }
}

TEST(Reproducible, members_that_differ_in_the_mode_are_named) {
  GroupOnTree world({0, 0, 0}, {1, 1, 2, 2});
  std::vector<Bytes> out(4, Bytes(4));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    Operation o{.coll = wire::Coll::allreduce,
                .op = Op::sum,
                .dtype = Dtype::float32,
                .count = 1,
                .src = out[rank],
                .dst = out[rank]};
    o.reproducible = rank != 2;
    ASSERT_TRUE(world.groups[rank]->post(o, {}));
    world.tree.run();
  }
  for (auto& group : world.groups) {
    EXPECT_EQ(group->next_completion()->status, Errc::verdict);
    EXPECT_EQ(group->why(), "rank 3 differs from rank 2 in flags: first,last,reproducible, not first,last");
  }
}

TEST(Reproducible, a_partial_sum_that_a_child_cannot_give_costs_its_connection) {
  const struct {
    const char* name;
    Block first, second;
    const char* why;
  } rows[] = {
      {"no block of the canonical tree", {3, 2}, {}, "canonical tree"},
      {"of more members than joined", {4, 4}, {}, "canonical tree"},
      {"of lower ranks than joined", {0, 2}, {}, "canonical tree"},
      {"of another child's ranks", {6, 1}, {}, "another child's"},
      {"cut otherwise than before", {4, 2}, {4, 1}, "other ranks than before"},
      {"of more ranks in all than joined", {4, 2}, {2, 2}, "other ranks than before"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    // Ranks 2, 4 and 5 are below node 1, which the test makes send forbidden blocks.
    GroupOnTree world({0, 0}, {0, 0, 1, 0, 1, 1, 0});
    const auto say = [&](TestTree::End& from, Block block, std::uint32_t number) {
      AggHeader h;
      h.kind = wire::AggKind::contribute;
      h.tree_id = kTree;
      h.group_id = world.groups[0]->config().group_id;
      h.sequence = Sequence{number};
      h.coll = wire::Coll::allreduce;
      h.op = Op::sum;
      h.dtype = Dtype::float32;
      h.flags = wire::kFlagFirst | wire::kFlagLast;
      h.flags |= wire::kFlagReproducible;
      h.count = 1;
      h.payload_bytes = 4;
      h.origin = block.first;
      h.members = block.count;
      world.tree.inject(from, from.up, h, Bytes(4));
      world.tree.run();
    };
    say(*world.clients[6], {6, 1}, 0);
    ASSERT_THAT(world.nodes[0]->drops, testing::IsEmpty());
    say(*world.nodes[1], row.first, 0);
    if (row.second.count != 0) {
      ASSERT_THAT(world.nodes[0]->drops, testing::IsEmpty());
      say(*world.nodes[1], row.second, 0);
    }
    ASSERT_EQ(world.nodes[0]->drops.size(), 1u);
    EXPECT_THAT(world.nodes[0]->drops[0], HasSubstr(row.why));
  }
}

}  // namespace
}  // namespace sumac::proto
