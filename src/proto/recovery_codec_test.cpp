#include "proto/recovery_codec.hpp"

#include <gtest/gtest.h>

#include "proto/recovery_return.hpp"

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
                              {3, recovery::Turn{8, recovery::Turn::What::skips, operation}},
                              {4, recovery::Result{8, 7}},
                              {5, recovery::Closed{9}},
                              {6, recovery::Condemned{verdict}},
                              {7, recovery::Move{}},
                              {8, recovery::Expelled{}},
                              {9, recovery::GivesUp{}},
                              {10, recovery::Leaves{12}},
                              {11, recovery::Left{}}};
  const wire::VerdictBody word = wire::gave_up(2, 5);
  for (int i = 0; i < 2 * static_cast<int>(std::size(messages)); ++i) {
    const Message& message = messages[i / 2];
    data.word = i % 2 == 0 ? std::nullopt : std::optional(word);
    SCOPED_TRACE(message.body.index());
    std::vector<std::byte> bytes;
    recovery::encode({TreeId{5}, GroupId{9}}, message, data, bytes);
    const auto* turn = std::get_if<recovery::Turn>(&message.body);
    const bool skips = turn != nullptr && turn->what == recovery::Turn::What::skips;
    const bool has_data = (turn != nullptr && !skips) || message.body.index() == 3;
    if (has_data) bytes.insert(bytes.end(), payload.begin(), payload.end());
    recovery::GroupKey group{};
    Message again;
    Data with;
    ASSERT_STREQ(recovery::decode(bytes, {3, 128}, group, again, with), nullptr);
    EXPECT_EQ(group, (recovery::GroupKey{TreeId{5}, GroupId{9}}));
    EXPECT_EQ(again.epoch, message.epoch);
    EXPECT_EQ(with.word.has_value(), data.word && recovery::carries_word(message));
    std::vector<std::byte> twice;
    recovery::encode(group, again, with, twice);
    twice.insert(twice.end(), with.payload.begin(), with.payload.end());
    EXPECT_EQ(twice, bytes);
    for (std::size_t size = 0; size + (message.body.index() == 3 ? payload.size() : 0) < bytes.size(); ++size)
      if (message.body.index() != 2 || size < 16 + 22) {  // a supplied payload may have any size
        EXPECT_NE(recovery::decode(std::span(bytes).first(size), {3, 128}, group, again, with), nullptr) << size;
      }
    if (!skips) continue;
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    EXPECT_STREQ(recovery::decode(bytes, {3, 128}, group, again, with), "a member that skips a number sends data");
  }
}

TEST(RecoveryCodec, AWordThatIsNoVerdictOnAMemberIsRefused) {
  Data data;
  std::vector<std::byte> bytes;
  const auto flaw_of = [&](const wire::VerdictBody& word) -> std::string_view {
    data.word = word;
    recovery::encode({TreeId{5}, GroupId{9}}, {1, recovery::Move{}}, data, bytes);
    recovery::GroupKey group{};
    Message again;
    Data with;
    const char* flaw = recovery::decode(bytes, {3, 128}, group, again, with);
    return flaw == nullptr ? "" : flaw;
  };
  EXPECT_EQ(flaw_of(wire::gave_up(2, 9)), "");
  EXPECT_EQ(flaw_of(wire::gave_up(3, 9)), "a word names no member");
  wire::VerdictBody nameless;
  EXPECT_NE(flaw_of(nameless), "");
}

TEST(RecoveryCodec, TheWordsOfTheReturnComeBackAndNoOtherOneIsBelieved) {
  using recovery::Proposal, recovery::Readiness;
  const recovery::GroupKey key{TreeId{5}, GroupId{9}};
  std::optional<Proposal> proposal;
  std::optional<Readiness> readiness;
  const auto decoded = [&](std::span<const std::byte> frame) {
    proposal.reset();
    readiness.reset();
    return recovery::decode(frame, proposal, readiness);
  };
  std::vector<std::byte> bytes;
  const auto no_other_size = [&] {
    for (std::size_t size = 0; size < bytes.size(); ++size)
      EXPECT_NE(decoded(std::span(bytes).first(size)), nullptr) << size;
    bytes.push_back(std::byte{0});
    EXPECT_NE(decoded(bytes), nullptr);
  };
  const auto wrong_at = [&](std::size_t at, std::byte value) {
    auto wrong = bytes;
    wrong[at] = value;
    return decoded(wrong);
  };

  const Proposal told{3, Proposal::Stage::go, TreeId{6}, GroupId{10}, 77};
  recovery::encode(key, told, bytes);
  EXPECT_TRUE(recovery::speaks_of_return(bytes));
  EXPECT_EQ(recovery::group_of(bytes), key);
  ASSERT_STREQ(decoded(bytes), nullptr);
  EXPECT_EQ(proposal, told);
  EXPECT_FALSE(readiness);
  EXPECT_STREQ(wrong_at(recovery::kHeadBytes, std::byte{4}), "a proposal has no known stage");
  EXPECT_STREQ(wrong_at(8, std::byte{0}), "a word of the return without an attempt");
  EXPECT_STREQ(wrong_at(2, std::byte{3}), "another version: install the same version everywhere");
  no_other_size();

  const Readiness ready{3, Readiness::State::holds, 76};
  recovery::encode(key, ready, bytes);
  EXPECT_TRUE(recovery::speaks_of_return(bytes));
  ASSERT_STREQ(decoded(bytes), nullptr);
  EXPECT_EQ(readiness, ready);
  EXPECT_FALSE(proposal);
  for (const int state : {0, 4})
    EXPECT_STREQ(wrong_at(recovery::kHeadBytes, static_cast<std::byte>(state)),
                 "a member's readiness has no known state");
  no_other_size();

  recovery::encode(key, {1, recovery::Move{}}, {}, bytes);
  EXPECT_FALSE(recovery::speaks_of_return(bytes));
}

}  // namespace
}  // namespace sumac::proto
