// Compares the log of a user at SHARP_COLL_LOG_LEVEL=3, line by line.
#include <gtest/gtest.h>

#include <regex>

#include "base/test_golden.hpp"
#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

/// Masks the parts that differ from run to run.
std::string masked(const std::string& text) {
  const std::pair<std::regex, const char*> masks[] = {
      {std::regex(R"(\[[^\[\]:]+:(\d+):\d+ - \w+\.cpp:\d+\])"), "[HOST:$1:PID - FILE:LINE]"},
      {std::regex(R"(job \(ID: \d+\))"), "job (ID: JOB)"},
      {std::regex(R"(job \d+)"), "job JOB"},
      {std::regex(R"(group id: [0-9a-f]+)"), "group id: GROUP"},
  };
  std::string plain = text;
  for (const auto& [pattern, word] : masks) plain = std::regex_replace(plain, pattern, word);
  return plain;
}

void expect_golden(const std::string& name, const std::string& text) {
  sumac::test::expect_golden("tests/golden/" + name + ".golden", masked(text));
}

/// Runs two ranks, on a host each, that log at level 3 with `environment`; `body` runs in each. The expected lines were
/// recorded when a job asked for 128 bytes of an OST by default, so the job does unless the environment changes that.
std::vector<Ended> run_pair(const Daemons& daemons, Environment environment, const std::function<void(Rank&)>& body) {
  environment.emplace(environment.begin(), "SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST", "128");
  environment.emplace_back("SHARP_COLL_LOG_LEVEL", "3");
  auto ended = run_well(daemons, 2, std::move(environment), body);
  EXPECT_EQ(ended[1].err, "") << "rank 0 speaks for all";
  return ended;
}

/// Returns the log of rank 0 for a job that begins and has a barrier.
std::string said_of_a_barrier(const Daemons& daemons, const Environment& environment) {
  const auto job = new_job_id();
  return run_pair(daemons, environment,
                  [&](Rank& rank) {
                    auto* context = rank.init(job);
                    auto* comm = rank.comm(context);
                    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
                    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
                    RANK_EQUAL(sharp_coll_finalize(context), 0);
                  })[0]
      .err;
}

std::string said_of_a_refused_job(const Daemons& daemons, const Environment& environment) {
  const auto job = new_job_id();
  return run_pair(daemons, environment,
                  [&](Rank& rank) {
                    auto spec = rank.init_spec(job);
                    sharp_coll_context* context = nullptr;
                    RANK_EQUAL(sharp_coll_init(&spec, &context), SHARP_COLL_EJOB_CREATE);
                  })[0]
      .err;
}

/// The lines were recorded with nodes of 512 OSTs.
class Lines : public World {
  Shape shape() const override { return two_leaves({{"SUMAC_NODE_OST_COUNT", "512"}}); }
};

TEST_F(Lines, WhatAJobAskedForAndGot) {
  const std::pair<const char*, Environment> cases[] = {
      {"default-51-51-128", {}},
      {"quota-128-8-256",
       {{"SHARP_COLL_JOB_QUOTA_OSTS", "128"},
        {"SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "8"},
        {"SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST", "256"}}},
      {"quota-128-16-256",
       {{"SHARP_COLL_JOB_QUOTA_OSTS", "128"},
        {"SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "16"},
        {"SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST", "256"}}},
      {"more-trees-than-there-are", {{"SHARP_COLL_JOB_NUM_TREES", "4"}}},
  };
  for (const auto& [name, environment] : cases) {
    SCOPED_TRACE(name);
    expect_golden(name, said_of_a_barrier(*daemons_, environment));
  }
}

TEST_F(Lines, MoreCommunicatorsThanGroups) {
  const auto job = new_job_id();
  const auto ended = run_pair(*daemons_, {{"SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "1"}}, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* one = rank.comm(context);
    sharp_coll_comm* two = nullptr;
    RANK_EQUAL(rank.try_comm(context, two), SHARP_COLL_EGROUP_ALLOC);
    RANK_EQUAL(sharp_coll_comm_destroy(one), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  expect_golden("max-groups-1", ended[0].err);
}

TEST(Stranger, AJobWithAHostThatNobodyKnowsIsRefusedByItsName) {
  const Daemons daemons(Shape{.leaves = {"leaf1"}, .hosts_per_leaf = 1, .stranger = "n17"});
  expect_golden("refused-unknown-host", said_of_a_refused_job(daemons, {}));
}

TEST_F(Lines, AJobThatIsRefusedNamesTheLimitAndTheVariable) {
  const std::pair<const char*, Environment> cases[] = {
      {"refused-osts", {{"SHARP_COLL_JOB_QUOTA_OSTS", "600"}}},
      {"refused-groups", {{"SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "600"}}},
  };
  for (const auto& [name, environment] : cases) {
    SCOPED_TRACE(name);
    expect_golden(name, said_of_a_refused_job(*daemons_, environment));
  }
}

}  // namespace
}  // namespace sumac::client::test
