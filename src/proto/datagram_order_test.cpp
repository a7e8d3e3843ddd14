// Reproducible sums as datagrams: the kernels' machine adds along the canonical tree where each child's ranks are one block of it, and
// the bits are those of the messages by links.
#include <gtest/gtest.h>

#include <cmath>

#include "proto/test_kernel.hpp"

namespace sumac::proto {
namespace {

using namespace test;

constexpr std::uint32_t kSumWords = 4, kSums = 60;
using OrderedVector = std::array<double, kSumWords>;

struct OrderedTree {
  const char* name;
  std::vector<std::uint32_t> parent;  ///< [node]: its parent; 0 is the root
  std::vector<std::uint32_t> leaf;    ///< [rank]: its node
  bool is_canonical;
};

/// A group on this tree, with datagrams or without.
class OrderedGroup {
 public:
  OrderedGroup(const OrderedTree& shape, bool has_datagrams) : kernels_(tree_, 1) {
    std::vector<NodeParent> ids;
    for (std::uint32_t i = 0; i < shape.parent.size(); ++i) {
      auto& node = *nodes_.emplace_back(&tree_.add_node(100 + i, i == 0));
      if (!node.node->grant(grant(512))) throw std::runtime_error("grant");
      if (has_datagrams) kernels_.add(node);
      if (i != 0) tree_.set_parent(node, *nodes_[shape.parent[i]]);
      ids.push_back({NodeId{100 + i}, NodeId{100 + shape.parent[i]}});
    }
    std::vector<NodeId> leaf_ids;
    for (std::uint32_t rank = 0; rank < shape.leaf.size(); ++rank) {
      clients_.push_back(&tree_.add_client(*nodes_[shape.leaf[rank]], rank));
      leaf_ids.push_back(NodeId{100 + shape.leaf[rank]});
    }
    tree_.run();
    groups_ = join_group(tree_, clients_, 1, [&](ClientGroupConfig& config) {
      config.path = compute_path(config.rank, leaf_ids, ids).value();
      config.outlives = true;
      if (has_datagrams) config.datagrams.port = static_cast<std::uint16_t>(1000 + config.rank);
    });
    settle();
  }

  /// One allreduce, or reduce to a root, of a vector of each rank. Returns the result.
  OrderedVector sum(std::span<const OrderedVector> parts, std::optional<std::uint32_t> root) {
    std::vector<OrderedVector> sums(parts.size());
    for (std::uint32_t rank = 0; rank < parts.size(); ++rank) {
      const bool keeps = !root || rank == *root;
      Operation operation{.coll = root ? wire::Coll::reduce : wire::Coll::allreduce,
                          .op = Op::sum,
                          .dtype = Dtype::float64,
                          .count = kSumWords,
                          .src = std::as_bytes(std::span(parts[rank])),
                          .root = root.value_or(0),
                          .reproducible = true};
      if (keeps) operation.dst = std::as_writable_bytes(std::span(sums[rank]));
      if (!keeps) operation.keep = {0, 0};
      EXPECT_TRUE(groups_[rank]->post(operation, tree_.now));
    }
    settle();
    for (auto& group : groups_) {
      const auto over = group->next_completion();
      EXPECT_TRUE(over && over->status == Errc::ok) << group->why();
    }
    if (!root) {
      for (const OrderedVector& each : sums) EXPECT_EQ(std::memcmp(&each, &sums[0], sizeof each), 0);
    }
    return sums[root.value_or(0)];
  }
  std::uint64_t datagrams() const { return groups_[0]->datagram_operations(); }
  ByLink why_by_link() const {
    return groups_[0]->why_by_link({.coll = wire::Coll::allreduce,
                                    .op = Op::sum,
                                    .dtype = Dtype::float64,
                                    .count = kSumWords,
                                    .reproducible = true});
  }

 private:
  void settle() {
    do tree_.run();
    while (kernels_.step(clients_));
  }

  TestTree tree_;
  Kernels kernels_;
  std::vector<TestTree::End*> nodes_, clients_;
  std::vector<std::unique_ptr<ClientGroup>> groups_;
};

TEST(DatagramOrder, SumsHaveTheBitsOfTheLinks) {
  const OrderedTree trees[] = {
      {"one node", {0}, {0, 0, 0, 0, 0}, true},
      {"more ranks at one node", {0}, std::vector<std::uint32_t>(13), true},
      {"two leaves", {0, 0, 0}, {1, 1, 1, 1, 2, 2, 2}, true},
      {"a leaf beside ranks of the root", {0, 0}, {1, 1, 1, 1, 0, 0}, true},
      {"three levels", {0, 0, 1, 1, 0}, {2, 2, 3, 3, 4, 4, 4, 4}, true},
      {"ranks of two leaves in turn", {0, 0, 0}, {1, 2, 1, 2}, false},
      {"a leaf whose ranks are no block", {0, 0}, {0, 1, 1, 0}, false},
      {"a block below a leaf whose ranks are none", {0, 0, 1}, {2, 2, 0, 1, 0}, false},
  };
  for (const OrderedTree& shape : trees) {
    SCOPED_TRACE(shape.name);
    OrderedGroup by_datagrams(shape, true), by_links(shape, false);
    Random random(7);
    bool has_order = false;
    for (std::uint32_t n = 0; n < kSums; ++n) {
      std::vector<OrderedVector> parts(shape.leaf.size());
      for (auto& part : parts)
        for (double& value : part) value = std::ldexp(random.unit() - 0.5, static_cast<int>(random.below(60)));
      const auto root = n % 3 == 2 ? std::optional(n % static_cast<std::uint32_t>(parts.size())) : std::nullopt;
      const OrderedVector right = by_links.sum(parts, root), found = by_datagrams.sum(parts, root);
      ASSERT_EQ(std::memcmp(&right, &found, sizeof right), 0) << n;
      double in_turn = 0;
      for (const auto& part : parts) in_turn += part[0];
      has_order = has_order || in_turn != right[0];
    }
    EXPECT_TRUE(has_order) << "another order would have other bits";
    EXPECT_EQ(by_datagrams.datagrams() > kSums / 2, shape.is_canonical);
    EXPECT_EQ(by_datagrams.why_by_link(), shape.is_canonical ? ByLink::none : ByLink::order);
    EXPECT_EQ(by_datagrams.datagrams() == 0, !shape.is_canonical);
    EXPECT_EQ(by_links.datagrams(), 0u);
  }
}

}  // namespace
}  // namespace sumac::proto
