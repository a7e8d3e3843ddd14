// Prompt numbers: a bcast goes down as soon as its source's part is in, a reduce to its root as soon as all others are;
// nobody waits for what it does not need, and the window counts numbers that some member has not contributed
// (prompt.hpp).
#include "proto/prompt.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "proto/test_tree.hpp"

namespace sumac::proto {
namespace {

using test::StandingGroup;
using test::TwoNodes;
using wire::AggKind;
using wire::Coll;

/// The buffers of one member's operation; `value` is what the root gives, or this member adds.
struct Call {
  Call(Coll coll, std::uint32_t rank, std::uint32_t root, std::int32_t value, std::size_t count = 4)
      : src(count, value), dst(count, -1) {
    operation = {.coll = coll, .dtype = Dtype::int32, .count = count, .root = root};
    operation.src = std::as_bytes(std::span(src));
    operation.dst = std::as_writable_bytes(std::span(dst));
    if (coll == Coll::bcast && rank != root) operation.give = {0, 0};
    if (coll != Coll::bcast) operation.op = Op::sum;
    if (coll == Coll::reduce && rank != root) operation.keep = {0, 0};
  }

  std::vector<std::int32_t> src, dst;
  Operation operation;
};

/// Posts a call at one member. The buffers outlive the group.
template <class World>
Call& post(World& world, std::deque<Call>& calls, std::uint32_t rank, Coll coll, std::uint32_t root,
           std::int32_t value = 0, std::size_t count = 4) {
  Call& call = calls.emplace_back(coll, rank, root, value, count);
  EXPECT_TRUE(world.groups[rank]->post(call.operation, world.tree.now));
  return call;
}

/// Takes all completions of a member; returns how many were right, or -1 if one failed.
template <class World>
int completed(World& world, std::uint32_t rank) {
  int count = 0;
  while (const auto over = world.groups[rank]->next_completion())
    count = over->status == Errc::ok && count >= 0 ? count + 1 : -1;
  return count;
}

std::size_t sent_alone(const test::TestTree::End& node) {
  return static_cast<std::size_t>(
      std::ranges::count_if(node.sent, [](const wire::AggHeader& h) { return h.kind == AggKind::closed; }));
}

TEST(Prompt, the_source_of_a_bcast_and_the_leaves_of_a_reduce_wait_for_nobody) {
  StandingGroup world(3);
  std::deque<Call> calls;
  post(world, calls, 0, Coll::bcast, 0, 7);
  EXPECT_EQ(completed(world, 0), 1) << "nothing was delivered yet";
  post(world, calls, 0, Coll::reduce, 1, 7);
  EXPECT_EQ(completed(world, 0), 1);
  EXPECT_EQ(world.groups[0]->in_flight(), 2u) << "the node still owes their results";
  Call& sum = post(world, calls, 1, Coll::bcast, 0);
  EXPECT_EQ(completed(world, 1), 0);
  world.tree.run();
  EXPECT_EQ(completed(world, 1), 1);
  EXPECT_EQ(sum.dst, std::vector<std::int32_t>(4, 7));
  Call& root = post(world, calls, 1, Coll::reduce, 1, 1);
  world.tree.run();
  EXPECT_EQ(completed(world, 1), 0) << "the root of a reduce waits for all others";
  post(world, calls, 2, Coll::bcast, 0);
  post(world, calls, 2, Coll::reduce, 1, 2);
  world.tree.run();
  EXPECT_EQ(completed(world, 1), 1);
  EXPECT_EQ(root.dst, std::vector<std::int32_t>(4, 10));
  EXPECT_EQ(completed(world, 2), 2);
  EXPECT_EQ(world.groups[0]->in_flight(), 1u)
      << "the reduce's result went to its root, and the closed count will follow";
}

TEST(Prompt, a_completed_operation_has_given_its_buffer_back) {
  StandingGroup world(2);
  std::deque<Call> calls;
  Call& source = post(world, calls, 0, Coll::bcast, 0, 7);
  Call& leaf = post(world, calls, 0, Coll::reduce, 1, 5);
  for (auto* call : {&source, &leaf}) std::ranges::fill(call->src, -9);
  Call& receiver = post(world, calls, 1, Coll::bcast, 0);
  Call& root = post(world, calls, 1, Coll::reduce, 1, 1);
  world.tree.run();
  EXPECT_EQ(receiver.dst, std::vector<std::int32_t>(4, 7));
  EXPECT_EQ(root.dst, std::vector<std::int32_t>(4, 6));
}

TEST(Prompt, data_wait_at_a_member_that_has_not_called) {
  TwoNodes world;
  world.make_group();
  std::deque<Call> calls;
  for (std::int32_t i = 0; i < 3; ++i) post(world, calls, 0, Coll::bcast, 0, i);
  world.tree.run();
  for (std::int32_t i = 0; i < 3; ++i) {
    Call& late = post(world, calls, 2, Coll::bcast, 0);
    EXPECT_EQ(completed(world, 2), 1) << "its data were there before it called";
    EXPECT_EQ(late.dst, std::vector<std::int32_t>(4, i));
  }
  world.tree.run();
  EXPECT_TRUE(world.leaf.drops.empty() && world.root.drops.empty());
}

TEST(Prompt, the_sum_of_a_reduce_waits_at_its_root_and_the_root_adds_its_part) {
  // The root is alone at the upper node, or below the lower one with another member.
  for (const std::uint32_t root : {0u, 1u, 2u})
    for (const bool in_place : {false, true}) {
      SCOPED_TRACE(fmt::format("root {}{}", root, in_place ? ", in place" : ""));
      TwoNodes world;
      world.make_group();
      std::deque<Call> calls;
      for (std::int32_t i = 0; i < 3; ++i)
        for (std::uint32_t rank = 0; rank < 3; ++rank)
          if (rank != root) post(world, calls, rank, Coll::reduce, root, 10 * i + 1);
      world.tree.run();
      for (std::int32_t i = 0; i < 3; ++i) {
        Call& call = calls.emplace_back(Coll::reduce, root, root, 100);
        if (in_place) call.operation.dst = std::as_writable_bytes(std::span(call.src));
        EXPECT_TRUE(world.groups[root]->post(call.operation, world.tree.now));
        EXPECT_EQ(completed(world, root), 1) << "the sum of the others was there before it called";
        EXPECT_EQ(in_place ? call.src : call.dst, std::vector<std::int32_t>(4, 100 + 2 * (10 * i + 1)));
      }
      world.tree.run();
      EXPECT_TRUE(world.leaf.drops.empty() && world.root.drops.empty());
    }
}

TEST(Prompt, a_root_that_calls_first_gets_the_sum_with_the_last_of_the_others) {
  for (const std::uint32_t root : {0u, 1u, 2u}) {
    TwoNodes world;
    world.make_group();
    std::deque<Call> calls;
    Call& sum = post(world, calls, root, Coll::reduce, root, 100, 100);  // four fragments
    world.tree.run();
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      if (rank != root) {
        EXPECT_EQ(completed(world, root), 0);
        post(world, calls, rank, Coll::reduce, root, 1, 100);
        world.tree.run();
      }
    EXPECT_EQ(completed(world, root), 1);
    EXPECT_EQ(sum.dst, std::vector<std::int32_t>(100, 102));
  }
}

TEST(Prompt, a_member_that_keeps_its_part_of_a_reduce_or_gives_it_as_the_root_is_no_honest_one) {
  const struct {
    const char* name;
    std::uint32_t root;
    bool has_data;
  } rows[] = {{"a leaf without data", 1, false}, {"the root with data", 0, true}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    StandingGroup world(2);
    wire::AggHeader h;
    h.kind = AggKind::contribute;
    h.tree_id = test::kTree;
    h.group_id = world.group_id;
    h.coll = Coll::reduce;
    h.op = Op::sum;
    h.dtype = Dtype::int32;
    h.root = static_cast<std::uint16_t>(row.root);
    h.count = 1;
    h.flags = wire::kFlagFirst | wire::kFlagLast;
    h.origin = 0;
    h.members = 1;
    const std::array<std::byte, 4> data{};
    if (row.has_data) h.payload_bytes = 4;
    world.tree.inject(*world.clients[0], world.clients[0]->up, h, std::span(data).first(h.payload_bytes));
    world.tree.run();
    EXPECT_EQ(world.node.drops.size(), 1u);
  }
}

TEST(Prompt, a_larger_bcast_returns_when_its_source_has_the_answers_and_waits_for_no_member) {
  StandingGroup world(3);
  std::deque<Call> calls;
  post(world, calls, 0, Coll::bcast, 0, 7, 100);  // four fragments of 128 bytes
  EXPECT_EQ(completed(world, 0), 0) << "its buffer is still being sent";
  world.tree.run();
  EXPECT_EQ(completed(world, 0), 1) << "nobody else has called";
}

TEST(Prompt, nobody_runs_further_ahead_of_a_late_member_than_the_window) {
  StandingGroup world(3);
  const auto window = world.groups[0]->shape().osts;
  std::deque<Call> calls;
  for (std::uint32_t i = 0; i < window + 2; ++i) {
    post(world, calls, 0, Coll::bcast, 0, static_cast<std::int32_t>(i));
    post(world, calls, 1, Coll::bcast, 0);
  }
  world.tree.run();
  EXPECT_EQ(completed(world, 0), static_cast<int>(window));
  EXPECT_EQ(completed(world, 1), static_cast<int>(window));
  post(world, calls, 2, Coll::bcast, 0);
  world.tree.run();
  EXPECT_EQ(completed(world, 0), 1) << "the late member has contributed one number";
  EXPECT_EQ(completed(world, 1), 1);
  for (std::uint32_t i = 1; i < window + 2; ++i) post(world, calls, 2, Coll::bcast, 0);
  world.tree.run();
  EXPECT_EQ(completed(world, 0), 1);
  EXPECT_EQ(completed(world, 2), static_cast<int>(window) + 2);
  EXPECT_TRUE(world.node.drops.empty());
}

TEST(Prompt, the_closed_count_goes_alone_only_when_it_is_half_a_window_behind) {
  EXPECT_EQ(closed_alone_from(1, 0), 1u);
  EXPECT_EQ(closed_alone_from(2, 0), 1u);
  EXPECT_EQ(closed_alone_from(5, 0), 3u);
  EXPECT_EQ(closed_alone_from(16, 4), 2u) << "chunks have the smaller window";
  StandingGroup world(2);
  const auto half = closed_alone_from(world.groups[0]->shape().osts, world.groups[0]->shape().stream_window);
  std::deque<Call> calls;
  for (std::uint32_t i = 0; i < 10 * half; ++i) {
    post(world, calls, 0, Coll::bcast, 0, 1);
    world.tree.run();
    post(world, calls, 1, Coll::bcast, 0);
    world.tree.run();
  }
  EXPECT_EQ(completed(world, 0), static_cast<int>(10 * half));
  // The result of each number carries the count of the numbers before it, so the count is never behind by more than one.
  EXPECT_EQ(sent_alone(world.node), half == 1 ? 10u : 0u);
}

TEST(Prompt, the_data_go_up_before_the_other_members_of_a_node_and_the_count_follows) {
  TwoNodes world;
  world.make_group();
  std::deque<Call> calls;
  world.leaf.sent.clear();
  post(world, calls, 0, Coll::bcast, 0, 7);
  world.tree.run();
  ASSERT_EQ(world.leaf.sent.size(), 3u) << "the data to the parent, then the result to both members";
  EXPECT_EQ(world.leaf.sent[0].kind, AggKind::contribute);
  EXPECT_EQ(world.leaf.sent[0].members, 1u);
  EXPECT_EQ(world.leaf.sent[0].payload_bytes, 16u);
  post(world, calls, 1, Coll::bcast, 0);
  EXPECT_EQ(completed(world, 1), 1);
  world.tree.run();
  ASSERT_EQ(world.leaf.sent.size(), 4u);
  EXPECT_EQ(world.leaf.sent[3].kind, AggKind::contribute);
  EXPECT_EQ(world.leaf.sent[3].members, 2u);
  EXPECT_EQ(world.leaf.sent[3].payload_bytes, 0u);
}

TEST(Prompt, a_node_tells_its_children_a_bcast_from_below_and_that_stands_whatever_the_root_finds) {
  TwoNodes world;
  world.make_group();
  std::deque<Call> calls;
  post(world, calls, 2, Coll::allreduce, 0, 3);  // another call than that of the others
  world.tree.run();
  post(world, calls, 0, Coll::bcast, 0, 7);
  Call& sibling = post(world, calls, 1, Coll::bcast, 0);
  world.tree.run();
  EXPECT_EQ(completed(world, 1), 1) << "its node had the data";
  EXPECT_EQ(sibling.dst, std::vector<std::int32_t>(4, 7));
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(world.groups[rank]->verdict()) << rank;
    EXPECT_EQ(world.groups[rank]->verdict()->first_failed, world.groups[2]->verdict()->first_failed);
    world.groups[rank]->leave(world.tree.now);
  }
  EXPECT_TRUE(world.leaf.drops.empty() && world.root.drops.empty());
  world.tree.run();
  for (const auto& group : world.groups) EXPECT_EQ(group->phase(), ClientGroup::Phase::left);
}

TEST(Prompt, a_verdict_may_name_a_bcast_that_stands_though_a_later_reduce_is_over_too) {
  // The root of both is late: the sum of the others waits for it, while its own node tells it the bcast at once.
  for (const std::size_t count : {std::size_t{4}, std::size_t{64}}) {
    SCOPED_TRACE(count);
    TwoNodes world;
    world.make_group();
    std::deque<Call> calls;
    for (const std::uint32_t rank : {1u, 2u}) {
      post(world, calls, rank, Coll::bcast, 0);
      post(world, calls, rank, Coll::reduce, 0, 1, count);
    }
    world.tree.run();
    post(world, calls, 0, Coll::bcast, 0, 7);
    post(world, calls, 0, Coll::reduce, 0, 1, count);
    world.tree.run_to(world.leaf);
    world.tree.run_to(*world.clients[0]);
    world.tree.run_to(*world.clients[1]);
    EXPECT_EQ(completed(world, 0), 2);
    world.tree.cut(world.clients[2]->up);  // The root has not heard of the bcast when it gives its verdict.
    world.tree.run();
    for (const std::uint32_t rank : {0u, 1u}) {
      EXPECT_TRUE(world.groups[rank]->verdict()) << rank;
      EXPECT_TRUE(world.clients[rank]->drops.empty()) << "the node broke no rule";
    }
  }
}

TEST(Prompt, members_that_differ_all_get_the_verdict_and_what_was_answered_stands) {
  // The last member calls something else than the bcast that has been answered already.
  const struct {
    const char* name;
    Coll coll;
    std::uint32_t root;
    std::size_t count;
    std::uint16_t meaning = 0;
  } rows[] = {{"another kind", Coll::allreduce, 0, 4},
              {"another root", Coll::bcast, 1, 4},
              {"itself the source", Coll::bcast, 2, 4},
              {"another count", Coll::bcast, 0, 5},
              {"another type of the caller's", Coll::bcast, 0, 4, 0x8005}};
  for (const auto& row : rows)
    for (const bool early : {true, false}) {
      SCOPED_TRACE(fmt::format("{}, {} its data", row.name, early ? "before" : "after"));
      TwoNodes world;
      world.make_group();
      std::deque<Call> calls;
      const auto differ = [&] {
        Call& call = calls.emplace_back(row.coll, 2, row.root, 3, row.count);
        call.operation.meaning = row.meaning;
        EXPECT_TRUE(world.groups[2]->post(call.operation, world.tree.now));
      };
      if (early) differ();
      post(world, calls, 0, Coll::bcast, 0, 7);
      EXPECT_EQ(completed(world, 0), 1) << "its part is posted";
      world.tree.run();
      if (!early) differ();
      world.tree.run();
      for (std::uint32_t rank = 0; rank < 3; ++rank) {
        const auto& group = *world.groups[rank];
        ASSERT_TRUE(group.verdict()) << rank;
        EXPECT_EQ(group.verdict()->body.reason, wire::TroubleReason::disagree);
        EXPECT_EQ(group.phase(), ClientGroup::Phase::condemned);
        Call next(Coll::barrier, rank, 0, 0, 0);
        EXPECT_EQ(world.groups[rank]->post({.coll = Coll::barrier}, world.tree.now).error(), Errc::verdict);
      }
      EXPECT_EQ(world.groups[2]->outstanding(), 1u) << "its own call is over";
      EXPECT_TRUE(world.leaf.drops.empty() && world.root.drops.empty());
      for (auto& group : world.groups) {
        while (group->next_completion()) {
        }
        group->leave(world.tree.now);
      }
      world.tree.run();
      for (const auto& group : world.groups) EXPECT_EQ(group->phase(), ClientGroup::Phase::left);
    }
}

/// A message about the reduce of one number with the root `root`, as the leaf of two members would send or get it.
wire::AggHeader about_reduce(const TwoNodes& world, AggKind kind, std::uint16_t root) {
  wire::AggHeader h;
  h.kind = kind;
  h.tree_id = test::kTree;
  h.group_id = world.groups[0]->config().group_id;
  h.coll = Coll::reduce;
  h.op = Op::sum;
  h.dtype = Dtype::int32;
  h.root = root;
  h.count = 4;
  h.flags = wire::kFlagFirst | wire::kFlagLast;
  return h;
}

TEST(Prompt, two_roots_of_a_reduce_are_their_groups_fault_and_cost_no_node_its_link) {
  // Rank 2 is at the upper node, and a member below the lower one says that it is rank 2 as well.
  TwoNodes world;
  world.make_group();
  auto h = about_reduce(world, AggKind::contribute, 2);
  h.origin = 0;
  h.members = 1;
  h.payload_bytes = 16;
  const std::array<std::byte, 16> data{};
  world.tree.inject(world.leaf, world.leaf.up, h, data);
  world.tree.run();
  EXPECT_TRUE(world.root.drops.empty()) << world.root.drops.front();
  for (const auto& group : world.groups) EXPECT_TRUE(group->verdict());
}

TEST(Prompt, a_sum_that_a_parent_made_up_is_not_added_to) {
  TwoNodes world;
  world.make_group();
  std::deque<Call> calls;
  post(world, calls, 0, Coll::reduce, 2, 1);
  world.tree.run();
  world.tree.inject(world.root, world.leaf.up, about_reduce(world, AggKind::result, 2), {});
  world.tree.run();
  post(world, calls, 1, Coll::reduce, 2, 2);
  Call& root = post(world, calls, 2, Coll::reduce, 2, 4);
  world.tree.run();
  EXPECT_EQ(root.dst, std::vector<std::int32_t>(4, 7));
}

TEST(Prompt, numbers_that_end_by_the_closed_count_do_not_hold_back_the_window_of_a_node) {
  // Below one node are ranks 0 and 1, below the other rank 2, whose results of reduces to rank 0 never come.
  test::TestTree tree;
  auto &top = tree.add_node(100), &left = tree.add_node(101, false), &right = tree.add_node(102, false);
  for (auto* node : {&top, &left, &right}) ASSERT_TRUE(node->node->grant(test::grant()));
  tree.set_parent(left, top);
  tree.set_parent(right, top);
  std::vector<test::TestTree::End*> clients{&tree.add_client(left, 0), &tree.add_client(left, 1),
                                            &tree.add_client(right, 2)};
  tree.run();
  auto groups = test::join_group(tree, clients, 1, [](ClientGroupConfig& config) {
    config.path = {};
    config.stream_window = config.chunk_bytes = 0;
    config.path.entries[config.path.length++] =
        config.rank < 2 ? wire::PathEntry{NodeId{101}, 2} : wire::PathEntry{NodeId{102}, 1};
    config.path.entries[config.path.length++] = {NodeId{100}, 3};
  });
  std::deque<Call> calls;
  const auto call = [&](std::uint32_t rank, Coll coll, std::uint32_t root) {
    EXPECT_TRUE(groups[rank]->post(calls.emplace_back(coll, rank, root, 1).operation, tree.now));
    tree.run();
  };
  const auto window = groups[0]->shape().osts, closed = window / 2 - 1;
  for (std::uint32_t i = 0; i < closed; ++i)
    for (const std::uint32_t rank : {1u, 2u, 0u}) call(rank, Coll::reduce, 0);
  // Rank 0 runs ahead of all others up to the window's end, which only the closed count of this bcast's result tells the right node.
  for (std::uint32_t i = 0; i + 2 < window; ++i) call(0, Coll::reduce, 2);
  call(0, Coll::bcast, 0);
  for (const auto* end : {&top, &left, &right, clients[0], clients[1], clients[2]})
    EXPECT_TRUE(end->drops.empty()) << end->drops.front();
  for (const std::uint32_t rank : {1u, 2u}) {
    for (std::uint32_t i = 0; i + 2 < window; ++i) call(rank, Coll::reduce, 2);
    call(rank, Coll::bcast, 0);
  }
  EXPECT_EQ(calls.back().dst, std::vector<std::int32_t>(4, 1));
}

TEST(Prompt, leave_waits_for_no_late_member_but_for_the_window) {
  StandingGroup world(2);
  const auto window = world.groups[0]->shape().osts;
  std::deque<Call> calls;
  for (std::uint32_t i = 0; i < window; ++i) post(world, calls, 0, Coll::bcast, 0, 1);
  world.groups[0]->leave(world.tree.now);
  world.tree.run();
  EXPECT_TRUE(world.node.drops.empty()) << "Leave is a number of the window like any other";
  for (std::uint32_t i = 0; i < window; ++i) post(world, calls, 1, Coll::bcast, 0);
  world.groups[1]->leave(world.tree.now);
  world.tree.run();
  EXPECT_EQ(completed(world, 1), static_cast<int>(window));
  for (const auto& group : world.groups) EXPECT_EQ(group->phase(), ClientGroup::Phase::left);
}

TEST(Prompt, a_member_that_reads_nothing_keeps_nobody_within_the_window_waiting) {
  TwoNodes world;
  world.make_group();
  std::deque<Call> calls;
  const auto window = world.groups[0]->shape().osts;
  for (std::uint32_t i = 0; i < window; ++i) {
    post(world, calls, 2, Coll::reduce, 0, 1);
    EXPECT_EQ(completed(world, 2), 1);
  }
  post(world, calls, 2, Coll::reduce, 0, 1);
  EXPECT_EQ(completed(world, 2), 0) << "the window is full";
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    for (std::uint32_t i = 0; i <= window; ++i) post(world, calls, rank, Coll::reduce, 0, 1);
  world.tree.run();
  EXPECT_EQ(completed(world, 0), static_cast<int>(window) + 1);
}

TEST(Prompt, a_result_that_no_honest_node_can_send_ends_the_connection) {
  const struct {
    const char* name;
    std::uint32_t number;
    Coll coll;
    std::uint32_t closed;
  } rows[] = {{"behind the window", 8, Coll::bcast, 0},
              {"of a kind that all members must have contributed", 0, Coll::allreduce, 0},
              {"that counts more than this member has contributed", 1, Coll::bcast, 1}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    StandingGroup world(2);
    wire::AggHeader h;
    h.kind = AggKind::result;
    h.tree_id = test::kTree;
    h.group_id = world.group_id;
    h.sequence = Sequence{row.number};
    h.closed = Sequence{row.closed};
    h.coll = row.coll;
    h.op = row.coll == Coll::bcast ? Op::null : Op::sum;
    h.dtype = Dtype::int32;
    h.count = 1;
    h.flags = wire::kFlagFirst | wire::kFlagLast;
    h.payload_bytes = 4;
    const std::array<std::byte, 4> data{};
    world.tree.inject(world.node, world.clients[0]->up, h, data);
    world.tree.run();
    EXPECT_EQ(world.clients[0]->drops.size(), 1u);
  }
}

}  // namespace
}  // namespace sumac::proto
