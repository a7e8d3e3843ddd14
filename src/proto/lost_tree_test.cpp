// A tree's only node dies under a group, or under one of two groups that carry a program's operations side by side.
// Members may then know different things (the node may have answered one member and died before it answered the next),
// but everything that docs/protocol.md states under "When a node is lost" holds, at any moment and in any order of
// messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/random.hpp"
#include "proto/test_tree.hpp"

namespace sumac::proto {
namespace {

using test::StandingGroup;
using wire::Coll;

constexpr std::uint32_t kMembers = 3;
constexpr std::uint32_t kOperations = 12;
constexpr std::size_t kCount = 40;  // two fragments of a group's payload: a node may die between them

/// A program's operations over the groups, as src/client posts them: small ones go to the groups in rotation, a large
/// one to all; requests complete in the order of posting; the first group that ends ends all, and the others are left.
class Program {
 public:
  Program(std::vector<ClientGroup*> groups, std::uint32_t rank, std::uint32_t depth)
      : groups_(std::move(groups)), rank_(rank), depth_(depth) {}

  void drive() {
    for (std::size_t g = 0; g < groups_.size(); ++g)
      while (auto over = groups_[g]->next_completion()) {
        auto& request = requests_[over->token];
        --request.parts;
        if (over->status != Errc::ok) request.status = over->status;
      }
    while (known_ < requests_.size() && requests_[known_].parts == 0) {
      const auto& request = requests_[known_++];
      if (request.status != Errc::ok) continue;
      for (const auto& part : request.dst)
        EXPECT_TRUE(std::ranges::all_of(part, [](std::int32_t x) { return x == kMembers * (kMembers + 1) / 2; }));
    }
    if (!ended_ && std::ranges::any_of(groups_, [](const auto* group) { return !group->why().empty(); })) {
      ended_ = true;
      for (auto* group : groups_) group->leave({});
    }
    while (!ended_ && requests_.size() < kOperations && requests_.size() - known_ < depth_) post();
    if (requests_.size() == kOperations && known_ == kOperations)
      for (auto* group : groups_) group->leave({});
  }

  bool uses(std::size_t operation, std::size_t group) const {
    const auto in_all = groups_.size();
    return operation % (in_all + 1) == in_all || operation % (in_all + 1) == group;
  }
  bool is_over() const {
    return (ended_ || requests_.size() == kOperations) && known_ == requests_.size() &&
           std::ranges::all_of(groups_, [](auto* group) { return group->phase() == ClientGroup::Phase::left; });
  }
  std::size_t posted() const { return requests_.size(); }
  bool succeeded(std::size_t operation) const { return operation < known_ && requests_[operation].status == Errc::ok; }
  /// Counts operations before the first one that failed or was never posted.
  std::size_t good() const {
    std::size_t i = 0;
    while (succeeded(i)) ++i;
    return i;
  }

 private:
  struct Request {
    std::uint32_t parts = 0;
    Errc status = Errc::ok;
    std::vector<std::vector<std::int32_t>> dst;
  };

  void post() {
    const auto index = requests_.size();
    auto& request = requests_.emplace_back();
    request.dst.resize(groups_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!uses(index, g)) continue;
      auto& dst = request.dst[g];
      dst.assign(kCount, -1);
      const Operation operation{.coll = Coll::allreduce,
                                .op = Op::sum,
                                .dtype = Dtype::int32,
                                .count = kCount,
                                .src = std::as_bytes(std::span(src_[rank_])),
                                .dst = std::as_writable_bytes(std::span(dst)),
                                .token = index};
      ++request.parts;
      ASSERT_TRUE(groups_[g]->post(operation, {}));
    }
  }

  static inline const std::array<std::vector<std::int32_t>, kMembers> src_ = {
      std::vector<std::int32_t>(kCount, 1), std::vector<std::int32_t>(kCount, 2), std::vector<std::int32_t>(kCount, 3)};

  std::vector<ClientGroup*> groups_;
  std::uint32_t rank_, depth_;
  std::vector<Request> requests_;
  std::size_t known_ = 0;  ///< Requests whose end the program has seen.
  bool ended_ = false;
};

/// One course of events: the node of the first tree dies after a number of messages of either tree were delivered.
class Course {
 public:
  Course(std::uint64_t seed, std::size_t trees, std::uint32_t depth) : random_(seed) {
    for (std::size_t i = 0; i < trees; ++i) trees_.push_back(std::make_unique<StandingGroup>(kMembers));
    for (std::uint32_t rank = 0; rank < kMembers; ++rank) {
      std::vector<ClientGroup*> groups;
      for (const auto& tree : trees_) groups.push_back(tree->groups[rank].get());
      members.emplace_back(groups, rank, depth);
    }
  }

  void run(std::uint64_t heard_before_death) {
    for (auto& member : members) member.drive();
    for (std::uint64_t heard = 0;; ++heard) {
      if (heard == heard_before_death) kill_first_node();
      if (!hear_one()) {
        if (heard >= heard_before_death) return;
        heard = heard_before_death - 1;  // no message was in flight when it died
      }
      // Each member looks at moments of its own.
      for (auto& member : members)
        if (random_.chance(0.5)) member.drive();
    }
  }

  std::vector<Program> members;

 private:
  bool hear_one() {
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random_.below(n)); };
    const auto first = random_.below(trees_.size());
    for (std::size_t i = 0; i < trees_.size(); ++i)
      if (trees_[(first + i) % trees_.size()]->tree.step(pick)) return true;
    // No message is in flight; the members' next steps may change that.
    for (auto& member : members) member.drive();
    return std::ranges::any_of(trees_, [&](const auto& tree) { return tree->tree.step(pick); });
  }

  /// Some members still receive every message of the dead node; on others' connections some are lost.
  void kill_first_node() {
    auto& dead = *trees_.front();
    std::vector<LinkId> torn;
    for (const auto* client : dead.clients) {
      if (random_.chance(0.5))
        torn.push_back(client->up);
      else
        dead.node.drop(client->up, Error{Errc::lost, "the node died"});
    }
    for (const auto link : torn) dead.tree.cut(link);  // last: the engine's answers to the cut must reach no member
  }

  Random random_;
  std::vector<std::unique_ptr<StandingGroup>> trees_;
};

struct Shape {
  const char* name;
  std::size_t trees;
  std::uint32_t depth;
};
constexpr Shape kShapes[] = {
    {"one tree, one operation at a time", 1, 1},
    {"one tree, four at a time", 1, 4},
    {"two trees, one at a time", 2, 1},
    {"two trees, four at a time", 2, 4},
};

TEST(LostTree, members_differ_in_nothing_but_what_all_of_them_had_under_way_there) {
  for (const auto& shape : kShapes) {
    SCOPED_TRACE(shape.name);
    std::uint32_t differed = 0;
    for (std::uint64_t seed = 0; seed < 1500 && !testing::Test::HasFailure(); ++seed) {
      SCOPED_TRACE(seed);
      Course course(seed, shape.trees, shape.depth);
      course.run(seed % 250);
      bool differ = false;
      for (const auto& a : course.members) {
        EXPECT_TRUE(a.is_over()) << "a member waits for ever";
        for (const auto& b : course.members) {
          EXPECT_LE(b.good(), a.good() + shape.depth);
          for (std::size_t i = 0; i < kOperations; ++i) {
            if (!b.succeeded(i) || a.succeeded(i)) continue;
            differ = true;
            EXPECT_LT(i, a.posted()) << "an operation succeeded that one of its members never posted";
            EXPECT_TRUE(a.uses(i, 0)) << "operation " << i << " was none of the dead tree's";
          }
        }
      }
      differed += differ;
    }
    EXPECT_GT(differed, 0u) << "the moment in which they differ was never met: this test tells nothing";
  }
}

TEST(LostTree, one_operation_at_a_time_what_came_before_a_success_has_succeeded_everywhere) {
  for (const std::size_t trees : {1u, 2u})
    for (std::uint64_t seed = 0; seed < 1500; ++seed) {
      SCOPED_TRACE(testing::Message() << trees << " trees, seed " << seed);
      Course course(seed, trees, 1);
      course.run(seed % 250);
      std::size_t most = 0;
      for (const auto& member : course.members) most = std::max(most, member.good());
      for (const auto& member : course.members) {
        ASSERT_GE(member.good() + 1, most);
        for (std::size_t i = member.good(); i < kOperations; ++i)
          ASSERT_FALSE(member.succeeded(i)) << "after a failure";
      }
    }
}

}  // namespace
}  // namespace sumac::proto
