// The shell receives results directly in the user's memory (ClientGroup::place(), expect()): the same operations
// complete with the same bytes as with results in frames, and the memory offered never belongs to another owner, nor
// may it become another's meanwhile.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "proto/test_multicast.hpp"
#include "proto/test_tree.hpp"

namespace sumac::proto {
namespace {

using test::StandingGroup;
using wire::Coll;
using Placing = test::TestTree::Placing;

constexpr std::uint32_t kRanks = 3;

/// One member's part of an operation on a vector of `count` numbers.
struct Part {
  std::vector<std::int32_t> src, dst;
  Operation operation{};

  Part(Coll coll, std::uint64_t count, bool streaming, std::uint32_t rank) : dst(count, -1) {
    src.resize(count);
    std::iota(src.begin(), src.end(), static_cast<std::int32_t>(rank * 1000));
    operation = {.coll = coll,
                 .op = Op::sum,
                 .dtype = Dtype::int32,
                 .count = count,
                 .src = std::as_bytes(std::span(src)),
                 .dst = std::as_writable_bytes(std::span(dst)),
                 .streaming = streaming};
    const Range mine{count * rank / kRanks, count * (rank + 1) / kRanks};
    if (coll == Coll::reduce && rank != 1) operation.keep = {};
    if (coll == Coll::reduce) operation.root = 1;
    if (coll == Coll::reduce_scatter) operation.keep = mine;
    if (coll == Coll::bcast) operation.op = Op::null, operation.give = rank == 0 ? Range{0, count} : Range{};
    if (coll == Coll::allgather) {
      operation.op = Op::null;
      operation.give = mine;
      operation.block = count / kRanks;
      operation.src = operation.src.first(mine.size() * sizeof(std::int32_t));
    }
  }
  Part(Part&&) = default;
};

TEST(Placing, every_kind_gives_what_it_gives_by_frames) {
  for (const Coll coll : {Coll::allreduce, Coll::reduce, Coll::reduce_scatter, Coll::bcast, Coll::allgather})
    for (const bool streaming : {false, true})
      for (const std::uint64_t count : {3u, 96u, 999u, 3000u}) {
        SCOPED_TRACE(std::string(wire::to_string(coll)) + (streaming ? " streaming " : " ") + std::to_string(count));
        std::vector<std::vector<std::int32_t>> by_frames;
        for (const auto placing : {Placing::never, Placing::always, Placing::broken_off}) {
          StandingGroup world(kRanks);
          world.tree.placing = placing;
          std::vector<Part> parts;
          for (std::uint32_t rank = 0; rank < kRanks; ++rank) parts.emplace_back(coll, count, streaming, rank);
          for (std::uint32_t rank = 0; rank < kRanks; ++rank)
            ASSERT_TRUE(world.groups[rank]->post(parts[rank].operation, {}));
          world.tree.run();
          for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
            const auto over = world.groups[rank]->next_completion();
            ASSERT_TRUE(over);
            EXPECT_EQ(over->status, Errc::ok);
            if (placing == Placing::never)
              by_frames.push_back(parts[rank].dst);
            else
              EXPECT_EQ(parts[rank].dst, by_frames[rank]);
          }
          const bool is_added = coll == Coll::reduce && !streaming;  // the root adds its own part to the result
          if (placing != Placing::never && count > 96 && !is_added) {
            EXPECT_GT(world.tree.placed, 0u);
          }
        }
      }
}

TEST(Placing, in_place_is_the_same) {
  for (const auto placing : {Placing::always, Placing::broken_off}) {
    StandingGroup world(2);
    world.tree.placing = placing;
    std::vector<Part> parts;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      auto& part = parts.emplace_back(Coll::allreduce, 5000, true, rank);
      part.operation.dst = std::as_writable_bytes(std::span(part.src));
      ASSERT_TRUE(world.groups[rank]->post(part.operation, {}));
    }
    world.tree.run();
    EXPECT_GT(world.tree.placed, 0u);
    for (std::int32_t i = 0; i < 5000; ++i) ASSERT_EQ(parts[0].src[static_cast<std::size_t>(i)], 1000 + 2 * i);
    EXPECT_EQ(parts[1].src, parts[0].src);
  }
}

/// Rank 0 of two has sent its window of a stream; rank 1 sends nothing, so the test makes every answer.
struct Waiting {
  Waiting() : world(2), part(Coll::allreduce, 1000, true, 0) {
    EXPECT_TRUE(world.groups[0]->post(part.operation, {}));
    header = world.clients[0]->sent.at(first);
    header.kind = wire::AggKind::result;
    header.origin = wire::kNoRank;
    header.members = 0;
    header.closed = seq_next(header.sequence);
  }
  ClientGroup& group() { return *world.groups[0]; }
  ClientLink& link() { return *world.clients[0]->client; }
  std::span<std::byte> place(const wire::AggHeader& h, std::size_t payload) {
    return link().place(wire::encoded(h), payload);
  }
  std::span<std::byte> place() { return place(header, header.payload_bytes); }
  bool is_at(std::span<const std::byte> to, std::size_t offset) const {
    return to.data() == part.operation.dst.data() + offset && to.size() == header.payload_bytes;
  }
  void complete() {
    ASSERT_FALSE(place().empty());
    link().on_placed(wire::encoded(header), {});
  }

  StandingGroup world;
  Part part;
  const std::size_t first = 0;
  wire::AggHeader header{};
};

TEST(Placing, only_the_very_result_that_comes_next_has_a_place) {
  Waiting w;
  ASSERT_TRUE(w.is_at(w.place(), 0));
  ASSERT_TRUE(w.is_at(w.place(), 0)) << "asking changes nothing";
  const struct {
    const char* name;
    std::function<void(wire::AggHeader&)> change;
  } rows[] = {
      {"a later number: it waits for its turn",
       [](auto& h) {
         h.sequence = seq_next(h.sequence);
         h.first += 128;
         h.flags &= static_cast<std::uint16_t>(~wire::kFlagFirst);
       }},
      {"a number that was not sent", [](auto& h) { h.sequence = seq_next(h.sequence, 100); }},
      {"a former number", [](auto& h) { h.sequence = seq_previous(h.sequence); }},
      {"another group", [](auto& h) { h.group_id = GroupId{number_of(h.group_id) + 1}; }},
      {"a former group of the same number", [](auto& h) { h.group_id = GroupId{number_of(h.group_id) + 0x10000}; }},
      {"another tree", [](auto& h) { h.tree_id = TreeId{8}; }},
      {"another operation", [](auto& h) { h.op = Op::max; }},
      {"another type of the same width", [](auto& h) { h.dtype = Dtype::uint32; }},
      {"another count", [](auto& h) { ++h.count; }},
      {"fewer bytes than asked for", [](auto& h) { h.payload_bytes -= 4; }},
      {"more bytes than asked for", [](auto& h) { h.payload_bytes += 4; }},
      {"what is no result", [](auto& h) { h.kind = wire::AggKind::contribute, h.origin = 0, h.members = 1; }},
      {"what no node says", [](auto& h) { h.magic = 0; }},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto changed = w.header;
    row.change(changed);
    EXPECT_TRUE(w.place(changed, changed.payload_bytes).empty());
  }
  EXPECT_TRUE(w.place(w.header, w.header.payload_bytes - 4).empty()) << "the header does not say what follows";
  EXPECT_TRUE(w.is_at(w.place(), 0)) << "none of them cost anything";
}

TEST(Placing, a_place_is_named_once_the_result_before_is_complete_and_not_again) {
  Waiting w;
  w.complete();
  EXPECT_TRUE(w.place().empty()) << "the memory may be read by its user already";
  w.link().on_placed(wire::encoded(w.header), {});  // a copy that landed in place: it is reported, and has no effect
  EXPECT_FALSE(w.link().closed());
  auto next = w.world.clients[0]->sent.at(1);
  next.kind = wire::AggKind::result;
  next.origin = wire::kNoRank;
  next.members = 0;
  next.closed = seq_next(next.sequence);
  EXPECT_TRUE(w.is_at(w.place(next, next.payload_bytes), 512));
}

TEST(Placing, nothing_has_a_place_behind_the_end) {
  const struct {
    const char* name;
    std::function<void(Waiting&)> end;
  } rows[] = {
      {"of the link", [](Waiting& w) { w.world.tree.cut(w.world.clients[0]->up); }},
      {"of the group, by a verdict",
       [](Waiting& w) {
         w.world.groups[1]->give_up();
         w.world.tree.run();
       }},
      {"of the group's attachment", [](Waiting& w) { w.link().detach(w.group()); }},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Waiting w;
    w.complete();
    wire::AggHeader expected;
    ASSERT_FALSE(w.group().expect(expected).empty());
    row.end(w);
    EXPECT_TRUE(w.place(expected, expected.payload_bytes).empty());
    EXPECT_TRUE(w.link().expect(std::span<std::byte, 64>(std::as_writable_bytes(std::span(&expected, 1)))).empty());
    w.link().on_placed(wire::encoded(w.header), {});  // this copy landed before
    while (w.group().next_completion()) {
    }
    EXPECT_TRUE(w.world.clients[0]->drops.empty());
  }
}

TEST(Placing, what_may_come_by_multicast_has_no_place) {
  test::MulticastGroup world(2);
  world.post_all(1);
  world.run_upwards();
  const auto& datagram = world.node.datagrams.at(0);
  EXPECT_TRUE(world.groups[0]->place(datagram.header).empty())
      << "the datagram could complete it while the link's copy is landing";
  world.groups[0]->listen(false);
  EXPECT_TRUE(world.groups[0]->place(datagram.header).empty()) << "it was sent as one that listens";
}

TEST(Placing, a_fragment_that_is_kept_in_part_comes_in_a_frame) {
  StandingGroup world(kRanks);
  world.tree.placing = Placing::always;
  std::vector<Part> parts;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    ASSERT_TRUE(world.groups[rank]->post(parts.emplace_back(Coll::reduce_scatter, 300, false, rank).operation, {}));
  world.tree.run();
  // The 300 elements make ten fragments; the edges at 100 and 200 lie within the fourth and the seventh.
  EXPECT_EQ(world.tree.placed, 3u + 2u + 3u);
}

TEST(Placing, what_comes_next_is_known_where_it_may_be_spoilt) {
  Waiting w;
  wire::AggHeader expected;
  EXPECT_TRUE(w.is_at(w.group().expect(expected), 0));
  EXPECT_EQ(wire::encoded(expected), wire::encoded(w.header)) << "as the node says it";
  std::array<std::byte, wire::kAggHeaderBytes> head;
  EXPECT_TRUE(w.link().expect(head).empty()) << "no result was placed yet: whose turn it is, nobody knows";
  w.complete();
  EXPECT_TRUE(w.is_at(w.link().expect(head), 512));

  StandingGroup in_place(2);
  Part part(Coll::allreduce, 1000, true, 0);
  part.operation.dst = std::as_writable_bytes(std::span(part.src));
  ASSERT_TRUE(in_place.groups[0]->post(part.operation, {}));
  EXPECT_TRUE(in_place.groups[0]->expect(expected).empty())
      << "what comes instead would spoil what is still to be sent";
  EXPECT_FALSE(StandingGroup(2).groups[0]->expect(expected).size()) << "nothing is under way";
}

}  // namespace
}  // namespace sumac::proto
