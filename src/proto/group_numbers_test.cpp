// Each job has group numbers of its own: a node believes no child that uses another job's.
#include <gtest/gtest.h>

#include "proto/id_pool.hpp"
#include "proto/job_table.hpp"

namespace sumac::proto {
namespace {

JobGrant grant(std::uint64_t job_id, std::uint32_t groups, std::vector<wire::NumberRange> numbers) {
  return {.job_id = JobId{job_id},
          .quota = {.osts = 8, .payload_per_ost = 128, .max_groups = groups},
          .numbers = std::move(numbers)};
}

TEST(GroupNumbers, are_one_jobs) {
  const auto some = grant(1, 4, {{3, 2}, {9, 2}});
  const auto any = grant(1, 4, {});
  for (std::uint32_t number = 0; number < 14; ++number) {
    EXPECT_EQ(some.may_be_its(number), number == 3 || number == 4 || number == 9 || number == 10) << number;
    EXPECT_TRUE(any.may_be_its(number));
  }
}

TEST(GroupNumbers, that_make_no_sense_are_refused) {
  const struct {
    const char* name;
    std::vector<wire::NumberRange> numbers;
    Errc code;
  } rows[] = {
      {"all of the node's", {{1, 16}}, Errc::ok},
      {"none said", {}, Errc::ok},
      {"number 0", {{0, 4}}, Errc::invalid},
      {"a range of nothing", {{2, 0}, {4, 4}}, Errc::invalid},
      {"behind the node's last", {{14, 4}}, Errc::invalid},
      {"behind all numbers", {{5, 0xFFFFFFFF}}, Errc::invalid},
      {"fewer than groups", {{1, 3}}, Errc::invalid},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    JobTable jobs(NodeLimits{.osts = 64, .groups = 16});
    const auto done = jobs.grant(grant(1, 4, row.numbers));
    EXPECT_EQ(done ? Errc::ok : done.error().code, row.code);
  }
}

TEST(GroupNumbers, of_a_job_that_still_has_groups_are_given_to_nobody) {
  JobTable jobs(NodeLimits{.osts = 64, .groups = 16});
  ASSERT_TRUE(jobs.grant(grant(1, 4, {{1, 4}})));
  jobs.find(JobId{1})->groups_here = 1;
  ASSERT_TRUE(jobs.revoke(JobId{1}, kNever));
  jobs.sweep();
  EXPECT_TRUE(jobs.grant(grant(2, 4, {{5, 4}})));
  const auto waits = jobs.grant(grant(3, 4, {{4, 1}, {10, 3}}));
  ASSERT_FALSE(waits);
  EXPECT_EQ(waits.error().code, Errc::exhausted);
  jobs.find(JobId{1})->groups_here = 0;
  jobs.sweep();
  EXPECT_TRUE(jobs.grant(grant(3, 4, {{4, 1}, {10, 3}})));
}

TEST(GroupNumbers, are_what_opens_are_answered_with) {
  IdPool pool(16);
  Job one{.grant = grant(1, 2, {{7, 1}, {12, 1}})}, two{.grant = grant(2, 2, {{8, 2}})};
  const auto numbers = [&](Job& job, std::uint64_t token) {
    return id_number(pool.open({job.grant.job_id, token}, &job).group_id);
  };
  EXPECT_EQ(numbers(one, 1), 7u);
  EXPECT_EQ(numbers(two, 1), 8u);
  EXPECT_EQ(numbers(one, 2), 12u);
  EXPECT_EQ(numbers(one, 3), 0u) << "none of its own is left";
  EXPECT_EQ(numbers(two, 2), 9u);
}

TEST(GroupNumbers, a_job_that_asks_without_end_pushes_out_its_own_answers_only) {
  IdPool pool(16);
  Job quiet{.grant = grant(1, 8, {{1, 8}})}, greedy{.grant = grant(2, 1, {{9, 1}})};
  std::vector<GroupId> answers;
  for (std::uint64_t token = 0; token < 8; ++token) {
    answers.push_back(pool.open({JobId{1}, token}, &quiet).group_id);
    ASSERT_NE(answers.back(), GroupId{});
  }
  for (const auto id : answers) pool.release(id);
  quiet.ids_used = 0;
  const auto first = pool.open({JobId{2}, 0}, &greedy).group_id;
  pool.release(first);
  for (std::uint64_t token = 1; token < 20000; ++token)
    EXPECT_EQ(pool.open({JobId{2}, token}, &greedy).group_id, GroupId{});
  greedy.ids_used = 0;
  EXPECT_NE(pool.open({JobId{2}, 0}, &greedy).group_id, first) << "20,000 answers are not remembered";
  for (std::uint64_t token = 0; token < 8; ++token)
    EXPECT_EQ(pool.open({JobId{1}, token}, &quiet).group_id, answers[token]) << "of another job";
}

}  // namespace
}  // namespace sumac::proto
