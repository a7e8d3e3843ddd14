#include <gtest/gtest.h>

#include "proto/client_link.hpp"

namespace sumac::proto {
namespace {

std::string words_of(wire::Coll culprit, wire::Coll other) {
  wire::VerdictBody verdict{};
  verdict.reason = wire::TroubleReason::disagree;
  verdict.field = wire::Field::coll;
  verdict.culprit = 1;
  verdict.other = 0;
  verdict.culprit_value = static_cast<std::uint64_t>(culprit);
  verdict.other_value = static_cast<std::uint64_t>(other);
  return describe(verdict);
}

TEST(Describe, says_what_each_of_two_members_did) {
  EXPECT_EQ(words_of(wire::Coll::bcast, wire::Coll::allreduce), "rank 1 called bcast, rank 0 called allreduce");
  EXPECT_EQ(words_of(wire::Coll::leave, wire::Coll::allreduce), "rank 1 left the group, rank 0 called allreduce");
  EXPECT_EQ(words_of(wire::Coll::bcast, wire::Coll::refusal),
            "rank 0 refused its own call (its own output says why), rank 1 called bcast");
}

TEST(Describe, names_the_rank_beside_a_member_that_gave_up_because_of_its_death) {
  const std::string names[] = {"rank 0 (host h1)", "rank 2 (host h2)"};
  EXPECT_EQ(describe(wire::gave_up(1, 3), names), "rank 3 (host h2) is dead");
  EXPECT_EQ(describe(wire::gave_up(1, wire::kNoRank), names), "rank 2 (host h2) gave up (its own output says why)");
  EXPECT_EQ(describe(wire::gave_up(1, 3)), "rank 3 is dead");
}

}  // namespace
}  // namespace sumac::proto
