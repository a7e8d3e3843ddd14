#include "proto/client_group.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "proto/test_tree.hpp"

namespace sumac::proto {
namespace {

using test::StandingGroup;
using wire::Coll;

struct Vectors {
  explicit Vectors(std::size_t count, float value) : src(count, value), dst(count, -1) {}
  Operation sum(bool streaming = false, std::uint64_t token = 0, std::uint32_t chunk = 0) {
    return {.coll = Coll::allreduce,
            .op = Op::sum,
            .dtype = Dtype::float32,
            .count = src.size(),
            .src = std::as_bytes(std::span(src)),
            .dst = std::as_writable_bytes(std::span(dst)),
            .streaming = streaming,
            .chunk = chunk,
            .token = token};
  }
  std::vector<float> src, dst;
};

TEST(ClientGroup, adds_up_at_every_size_around_a_fragment) {
  StandingGroup world(3);
  const struct {
    const char* name;
    std::size_t count;
    bool streaming;
    std::size_t fragments;
    std::uint32_t chunk = 0;
  } rows[] = {
      {"one element", 1, false, 1},
      {"one below the payload", 31, false, 1},
      {"the payload of 128 bytes", 32, false, 1},
      {"one above it", 33, false, 2},
      {"many fragments", 1000, false, 32},
      {"one below the chunk", 127, true, 1},
      {"the chunk of 512 bytes", 128, true, 1},
      {"one above the chunk", 129, true, 2},
      {"many chunks", 5000, true, 40},
      {"no element at all", 0, false, 1},
      {"chunks of a quarter", 128, true, 4, 128},
      {"and one element", 129, true, 5, 128},
      {"a chunk of more than the most is the most", 129, true, 2, 4096},
      {"a chunk has room for any element", 32, true, 2, 1},
      {"what does not stream has no chunks", 32, false, 1, 64},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    std::vector<Vectors> vectors;
    for (std::size_t rank = 0; rank < 3; ++rank) vectors.emplace_back(row.count, static_cast<float>(rank + 1));
    const std::size_t before = world.clients[0]->sent.size();
    for (std::size_t rank = 0; rank < 3; ++rank)
      ASSERT_TRUE(world.groups[rank]->post(vectors[rank].sum(row.streaming, 5, row.chunk), {}));
    world.tree.run();
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const auto completion = world.groups[rank]->next_completion();
      ASSERT_TRUE(completion);
      EXPECT_EQ(completion->status, Errc::ok);
      EXPECT_EQ(completion->token, 5u);
      EXPECT_EQ(vectors[rank].dst, std::vector<float>(row.count, 6));
    }
    EXPECT_EQ(world.clients[0]->sent.size() - before, row.fragments);
  }
}

TEST(ClientGroup, in_place_is_the_same) {
  StandingGroup world(2);
  std::vector<std::int32_t> a(100, 3), b(100, 4);
  const auto in_place = [](std::vector<std::int32_t>& v) {
    return Operation{.coll = Coll::allreduce,
                     .op = Op::sum,
                     .dtype = Dtype::int32,
                     .count = v.size(),
                     .src = std::as_bytes(std::span(v)),
                     .dst = std::as_writable_bytes(std::span(v))};
  };
  ASSERT_TRUE(world.groups[0]->post(in_place(a), {}));
  ASSERT_TRUE(world.groups[1]->post(in_place(b), {}));
  world.tree.run();
  EXPECT_EQ(a, std::vector<std::int32_t>(100, 7));
  EXPECT_EQ(b, a);
}

TEST(ClientGroup, sends_no_more_than_its_window_and_depth) {
  const struct {
    const char* name;
    std::uint32_t depth;
    bool streaming;
    std::uint32_t in_flight;
  } rows[] = {
      {"the window is the group's 8 OSTs", 64, false, 8},
      {"the depth of one operation is less", 3, false, 3},
      {"streaming has its own window of 4 and no depth", 1, true, 4},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    StandingGroup world(2, {}, test::grant(32, 4), {.pipeline_depth = row.depth});
    EXPECT_EQ(world.groups[0]->shape().osts, 8u);
    Vectors large(4000, 1);
    ASSERT_TRUE(world.groups[0]->post(large.sum(row.streaming), {}));
    EXPECT_EQ(world.groups[0]->in_flight(), row.in_flight);
    Vectors other(4000, 2);
    ASSERT_TRUE(world.groups[1]->post(other.sum(row.streaming), {}));
    world.tree.run();
    EXPECT_EQ(large.dst, std::vector<float>(4000, 3));
  }
}

TEST(ClientGroup, parts_of_an_allgather_go_in_turns_so_that_every_members_link_works) {
  const struct {
    const char* name;
    std::uint64_t block, first_block, count;
    std::vector<std::uint64_t> firsts;
  } rows[] = {
      {"two fragments and a short one of each", 70, 0, 210, {0, 70, 140, 32, 102, 172, 64, 134, 204}},
      {"one fragment exactly", 32, 0, 96, {0, 32, 64}},
      {"less than a fragment", 5, 0, 15, {0, 5, 10}},
      {"a window that begins within a block goes as it comes", 70, 20, 160, {0, 20, 52, 84, 90, 122, 154}},
      {"a window that ends within a block goes as it comes", 70, 0, 150, {0, 32, 64, 70, 102, 134, 140}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    StandingGroup world(3);
    std::vector<std::vector<std::int32_t>> parts, all(3, std::vector<std::int32_t>(row.count, -1));
    for (std::uint64_t rank = 0; rank < 3; ++rank) {
      const auto edge = [&](std::uint64_t i) {
        return i == 0 ? 0
                      : std::min(row.count, (row.first_block == 0 ? row.block : row.first_block) + (i - 1) * row.block);
      };
      const Range give{edge(rank), edge(rank + 1)};
      auto& mine = parts.emplace_back(give.size());
      std::iota(mine.begin(), mine.end(), static_cast<std::int32_t>(give.from));
      const std::size_t before = world.clients[rank]->sent.size();
      ASSERT_TRUE(world.groups[rank]->post({.coll = Coll::allgather,
                                            .op = Op::null,
                                            .dtype = Dtype::int32,
                                            .count = row.count,
                                            .give = give,
                                            .src = std::as_bytes(std::span(mine)),
                                            .dst = std::as_writable_bytes(std::span(all[rank])),
                                            .block = row.block,
                                            .first_block = row.first_block},
                                           {}));
      if (rank != 2) continue;
      world.tree.run();
      std::vector<std::uint64_t> firsts;
      for (std::size_t i = before; i < world.clients[rank]->sent.size(); ++i)
        firsts.push_back(world.clients[rank]->sent[i].first);
      EXPECT_EQ(firsts, row.firsts);
    }
    std::vector<std::int32_t> expected(row.count);
    std::iota(expected.begin(), expected.end(), 0);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(world.groups[rank]->next_completion()->status, Errc::ok);
      EXPECT_EQ(all[rank], expected) << rank;
    }
  }
}

TEST(ClientGroup, holds_512_outstanding_operations_and_not_one_more) {
  StandingGroup world(2);
  for (std::uint32_t i = 0; i < kOperationsMax; ++i) {
    for (auto& group : world.groups) {
      const auto posted = group->post({.coll = Coll::barrier, .token = i}, {});
      ASSERT_TRUE(posted) << i;
      EXPECT_EQ(posted->value, i);
    }
  }
  EXPECT_EQ(world.groups[0]->post({}, {}).error(), Errc::again);
  world.tree.run();
  EXPECT_EQ(world.groups[0]->post({}, {}).error(), Errc::again) << "completions not taken are outstanding";
  for (std::uint32_t i = 0; i < kOperationsMax; ++i)
    EXPECT_EQ(world.groups[0]->next_completion()->token, i) << "in the order of posting";
  EXPECT_FALSE(world.groups[0]->next_completion());
  EXPECT_TRUE(world.groups[0]->post({}, {}));
}

TEST(ClientGroup, refuses_what_cannot_be_done) {
  StandingGroup world(2);
  Vectors v(10, 1);
  const auto with = [&](auto change) {
    Operation operation = v.sum();
    change(operation);
    return world.groups[0]->post(operation, {}).error();
  };
  EXPECT_EQ(with([](Operation& o) { o.coll = Coll::bcast; }), Errc::invalid) << "a bcast adds nothing up";
  EXPECT_EQ(with([](Operation& o) { o.give = {0, 5}; }), Errc::invalid) << "everybody gives all to a sum";
  EXPECT_EQ(with([](Operation& o) { o.keep = {5, 4}; }), Errc::invalid);
  EXPECT_EQ(with([](Operation& o) {
              o.coll = Coll::allgather;
              o.op = Op::null;
              o.block = 5;
              o.give = {4, 9};
            }),
            Errc::invalid)
      << "not a whole block";
  EXPECT_EQ(with([](Operation& o) {
              o.coll = Coll::reduce;
              o.root = 2;
            }),
            Errc::invalid)
      << "no such member";
  EXPECT_EQ(with([](Operation& o) { o.op = Op::band; }), Errc::invalid);
  EXPECT_EQ(with([](Operation& o) { o.dtype = Dtype::null; }), Errc::invalid);
  EXPECT_EQ(with([](Operation& o) { o.tag_dtype = Dtype::int32; }), Errc::invalid);
  EXPECT_EQ(with([](Operation& o) { o.count = 11; }), Errc::invalid);
  EXPECT_EQ(with([](Operation& o) { o.count = ~0ull; }), Errc::invalid);
  EXPECT_EQ(with([](Operation& o) { o.dst = o.dst.first(39); }), Errc::invalid);
  EXPECT_EQ(world.groups[0]->outstanding(), 0u);
}

TEST(ClientGroup, streams_only_where_the_job_was_granted_it) {
  JobGrant job = test::grant();
  job.quota.stream_window = 0;
  StandingGroup world(2, {}, job);
  Vectors v(10, 1);
  EXPECT_EQ(world.groups[0]->post(v.sum(true), {}).error(), Errc::unsupported);
}

TEST(ClientGroup, a_disagreement_names_types_and_operations) {
  const struct {
    void (*change)(Operation&);
    const char* words;
  } rows[] = {
      {[](Operation& o) { o.dtype = Dtype::int32; }, "rank 1 differs from rank 0 in dtype: int32, not float32"},
      {[](Operation& o) { o.op = Op::max; }, "rank 1 differs from rank 0 in op: max, not sum"},
  };
  for (const auto& row : rows) {
    StandingGroup world(2);
    Vectors mine(4, 1), theirs(4, 1);
    ASSERT_TRUE(world.groups[0]->post(mine.sum(), {}));
    Operation other = theirs.sum();
    row.change(other);
    ASSERT_TRUE(world.groups[1]->post(other, {}));
    world.tree.run();
    for (auto& group : world.groups) {
      EXPECT_EQ(group->next_completion()->status, Errc::verdict);
      EXPECT_EQ(group->why(), row.words);
    }
  }
}

TEST(ClientGroup, a_disagreement_fails_for_everybody_with_the_same_words) {
  StandingGroup world(3);
  Vectors four(4, 1), five(5, 1), other(4, 1);
  ASSERT_TRUE(world.groups[0]->post(four.sum(), {}));
  ASSERT_TRUE(world.groups[1]->post(five.sum(), {}));
  ASSERT_TRUE(world.groups[2]->post(other.sum(), {}));
  world.tree.run();
  for (auto& group : world.groups) {
    EXPECT_EQ(group->next_completion()->status, Errc::verdict);
    EXPECT_EQ(group->why(), "rank 1 differs from rank 0 in count: 5, not 4");
    EXPECT_EQ(group->phase(), ClientGroup::Phase::condemned);
    EXPECT_EQ(group->post({}, {}).error(), Errc::verdict);
    group->leave({});
  }
  world.tree.run();
  for (auto& group : world.groups) EXPECT_EQ(group->phase(), ClientGroup::Phase::left);
  EXPECT_TRUE(world.node.node->idle());
}

TEST(ClientGroup, a_lost_member_is_named_to_the_others) {
  StandingGroup world(3);
  world.tree.cut(world.clients[1]->up);
  world.tree.run();
  EXPECT_EQ(world.groups[1]->phase(), ClientGroup::Phase::lost);
  EXPECT_EQ(world.groups[1]->post({}, {}).error(), Errc::lost);
  EXPECT_EQ(world.groups[0]->why(), "rank 1 lost its connection to the tree");
  const std::string names[] = {"rank 0 (host a)", "rank 4 (host b)", "rank 8 (host c)"};
  EXPECT_EQ(world.groups[0]->why(names), "rank 4 (host b) lost its connection to the tree");
  world.groups[0]->leave({});
  world.groups[2]->leave({});
  world.tree.run();
  EXPECT_EQ(world.groups[2]->phase(), ClientGroup::Phase::left);
  EXPECT_TRUE(world.node.node->idle());
}

TEST(ClientGroup, what_is_let_go_is_neither_read_nor_written_and_ends_the_group_for_all) {
  for (const bool streaming : {false, true}) {
    SCOPED_TRACE(streaming);
    StandingGroup world(2, {}, test::grant(32, 4));
    Vectors gone(4000, 1), late(4000, 2);  // More fragments than a window has: most of them were not sent.
    ASSERT_TRUE(world.groups[0]->post(gone.sum(streaming), {}));
    world.tree.run();
    const auto sent = world.clients[0]->sent.size();
    world.groups[0]->let_go();
    gone.src.assign(4000, -5);
    gone.dst = gone.src;
    ASSERT_TRUE(world.groups[1]->post(late.sum(streaming), {}));
    world.tree.run();
    for (std::size_t i = sent; i < world.clients[0]->sent.size(); ++i)
      EXPECT_NE(world.clients[0]->sent[i].kind, wire::AggKind::contribute);
    EXPECT_EQ(gone.dst, std::vector<float>(4000, -5));
    for (auto& group : world.groups) {
      EXPECT_EQ(group->next_completion()->status, Errc::verdict);
      EXPECT_EQ(group->phase(), ClientGroup::Phase::condemned);
      group->leave({});
    }
    world.tree.run();
    for (auto& group : world.groups) EXPECT_EQ(group->phase(), ClientGroup::Phase::left);
    EXPECT_TRUE(world.node.node->idle());
  }
}

TEST(ClientGroup, numbers_wrap_around) {
  StandingGroup world(2, {.first_sequence = Sequence{0xFFFFFFFCu}});
  for (std::uint32_t i = 0; i < 40; ++i)
    for (auto& group : world.groups) ASSERT_TRUE(group->post({.coll = Coll::barrier, .token = i}, {}));
  world.tree.run();
  for (std::uint32_t i = 0; i < 40; ++i) EXPECT_EQ(world.groups[1]->next_completion()->token, i);
  for (auto& group : world.groups) group->leave({});
  world.tree.run();
  EXPECT_EQ(world.groups[0]->phase(), ClientGroup::Phase::left);
}

TEST(ClientGroup, leaves_after_what_it_posted_and_takes_nothing_more) {
  StandingGroup world(2);
  ASSERT_TRUE(world.groups[0]->post({.coll = Coll::barrier}, {}));
  world.groups[0]->leave({});
  EXPECT_EQ(world.groups[0]->post({}, {}).error(), Errc::denied);
  world.tree.run();
  EXPECT_EQ(world.groups[0]->phase(), ClientGroup::Phase::leaving);
  ASSERT_TRUE(world.groups[1]->post({.coll = Coll::barrier}, {}));
  world.groups[1]->leave({});
  world.tree.run();
  EXPECT_EQ(world.groups[0]->next_completion()->status, Errc::ok);
  EXPECT_EQ(world.groups[0]->phase(), ClientGroup::Phase::left);
  EXPECT_EQ(world.groups[1]->phase(), ClientGroup::Phase::left);
}

TEST(ClientGroup, make_says_which_setting_is_out_of_range) {
  StandingGroup world(2);
  const auto why = [&](auto change) {
    ClientGroupConfig config = world.groups[0]->config();
    change(config);
    return ClientGroup::make(config, *world.clients[0], world.clients[0]->up).error().context;
  };
  EXPECT_EQ(why([](auto& c) { c.rank = 2; }), "group: rank 2 of 2 members");
  EXPECT_EQ(why([](auto& c) { c.path.length = 9; }), "group: a path of 9 nodes; 1 to 8 are possible");
  EXPECT_EQ(why([](auto& c) { c.pipeline_depth = 0; }), "group: pipeline depth is 0");
  EXPECT_EQ(why([](auto& c) { c.osts = 0; }), "group: 0 OSTs of 128 bytes, chunk 512: out of range");
}

}  // namespace
}  // namespace sumac::proto
