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

}  // namespace
}  // namespace sumac::proto
