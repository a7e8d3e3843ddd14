#include "proto/recovery_codec.hpp"

#include <gtest/gtest.h>

namespace sumac::proto {
namespace {

using recovery::Data;
using recovery::Message;

TEST(RecoveryCodec, EveryMessageComesBackAsItWasAndNoShorterOneIsBelieved) {
  recovery::Verdict verdict{.first = 7, .culprit = 1, .why = recovery::Why::disagrees};
  verdict.also.set(200);
  recovery::Join join{.done = 5, .contributed = 6, .oldest = 3, .verdict = verdict, .leaves = true};
  join.can_supply.set(1);
  Data data;
  data.header = {.kind = wire::AggKind::contribute,
                 .group_id = GroupId{9},
                 .coll = wire::Coll::allreduce,
                 .op = Op::sum,
                 .dtype = Dtype::int64,
                 .flags = wire::kFlagFirst | wire::kFlagLast,
                 .count = 2,
                 .origin = 1,
                 .members = 1};
  data.header.payload_bytes = 16;
  data.elements = 2;
  const std::vector<std::byte> payload(16, std::byte{3});
  const recovery::Operation operation{recovery::Kind::all, 0, recovery::terms_of(data.header, 2)};
  const Message messages[] = {{1, join},
                              {2, recovery::Joined{4, {0, recovery::kNobody}, verdict}},
                              {3, recovery::Turn{8, recovery::Turn::What::contributes, operation}},
                              {3, recovery::Turn{8, recovery::Turn::What::supplies, operation}},
                              {4, recovery::Result{8, 7}},
                              {5, recovery::Closed{9}},
                              {6, recovery::Condemned{verdict}},
                              {7, recovery::Move{}},
                              {8, recovery::Expelled{}},
                              {9, recovery::GivesUp{}},
                              {10, recovery::Leaves{12}},
                              {11, recovery::Left{}}};
  for (const Message& message : messages) {
    SCOPED_TRACE(message.body.index());
    std::vector<std::byte> bytes;
    recovery::encode({TreeId{5}, GroupId{9}}, message, data, bytes);
    const bool has_data = message.body.index() == 2 || message.body.index() == 3;
    if (has_data) bytes.insert(bytes.end(), payload.begin(), payload.end());
    recovery::GroupKey group{};
    Message again;
    Data with;
    ASSERT_STREQ(recovery::decode(bytes, {3, 128}, group, again, with), nullptr);
    EXPECT_EQ(group, (recovery::GroupKey{TreeId{5}, GroupId{9}}));
    EXPECT_EQ(again.epoch, message.epoch);
    std::vector<std::byte> twice;
    recovery::encode(group, again, with, twice);
    twice.insert(twice.end(), with.payload.begin(), with.payload.end());
    EXPECT_EQ(twice, bytes);
    for (std::size_t size = 0; size + (message.body.index() == 3 ? payload.size() : 0) < bytes.size(); ++size)
      if (message.body.index() != 2 || size < 16 + 22) {  // a supplied payload may have any size
        EXPECT_NE(recovery::decode(std::span(bytes).first(size), {3, 128}, group, again, with), nullptr) << size;
      }
  }
}

}  // namespace
}  // namespace sumac::proto
