// Checks that the group numbers of a job belong to no other job in the tree.
#include <gtest/gtest.h>

#include <set>

#include "control/quota.hpp"
#include "manager/test_journal.hpp"
#include "manager/test_tree.hpp"

namespace sumac::manager {
namespace {

constexpr Time kNow = at(Seconds(1));
constexpr StreamId kSharpd = 100, kSharpdOfH3 = 103;

using Numbers = std::set<std::uint32_t>;

struct World {
  explicit World(std::uint32_t groups_of_a_leaf = 512, const SavedState& saved = {}) : core(test_core({}, journal)) {
    journal.state = saved;
    if (!saved.jobs.empty()) core.restore(saved, kNow);
    core.node_registers(1, test_register("an-root"), kNow);
    for (StreamId stream : {2, 3}) {
      auto leaf = test_register(stream == 2 ? "an-leaf1" : "an-leaf2");
      if (stream == 2) leaf.set_groups(groups_of_a_leaf);
      core.node_registers(stream, leaf, kNow);
      control::v1::Link link;
      link.set_up(true);
      core.node_link(stream, link, kNow);
    }
    std::vector<control::v1::JobBegin> held;
    for (const auto& job : saved.jobs) held.push_back(test_begin(number_of(job.job_id)));
    core.host_registers(kSharpd, test_host(kSharpd, held), kNow);
    auto third = test_host(kSharpdOfH3);
    third.set_host("h3");
    core.host_registers(kSharpdOfH3, third, kNow);
  }

  /// Returns the numbers that the nodes receive for the job, or nothing if it was refused.
  std::optional<Numbers> begin(std::uint64_t job, std::uint32_t groups, const std::vector<std::string>& hosts) {
    auto request = test_begin(job, hosts);
    request.mutable_quota()->set_max_groups(groups);
    request.mutable_quota()->set_osts(1);
    // Each job belongs to another user, so that the limits of one user play no part.
    request.set_uid(static_cast<std::uint32_t>(job));
    std::optional<Numbers> found;
    for (const auto& action : core.job_begins(hosts.front() == "h1" ? kSharpd : kSharpdOfH3, request, kNow)) {
      const auto* to = std::get_if<ToNode>(&action);
      if (to == nullptr || !to->message.has_grant()) continue;
      const auto& said = to->message.grant().numbers();
      Numbers numbers;
      for (const auto& range : said)
        for (auto n = range.first(); n < range.first() + range.count(); ++n) EXPECT_TRUE(numbers.insert(n).second);
      EXPECT_EQ(found.value_or(numbers), numbers) << "every node of the tree hears the same";
      found = numbers;
      sent.emplace_back(to->stream, to->message.sequence());
    }
    for (const auto& [stream, sequence] : std::exchange(sent, {})) core.node_acks(stream, sequence, kNow);
    return found;
  }
  /// Ends the job; its ranks leave at once.
  void end(std::uint64_t job) {
    for (const auto& action : core.job_ends(kSharpd, test_end(test_begin(job)), kNow))
      if (const auto* to = std::get_if<ToNode>(&action); to != nullptr)
        core.node_acks(to->stream, to->message.sequence(), kNow);
  }

  TestJournal journal;
  Core core;
  std::vector<std::pair<StreamId, std::uint64_t>> sent;
};

const std::vector<std::string> kAll{"h1", "h2", "h3", "h4"};

TEST(GroupNumbers, of_two_jobs_are_never_the_same) {
  World world;
  Numbers all;
  for (std::uint64_t job = 1; job <= 10; ++job) {
    const auto numbers = world.begin(job, 51, kAll);
    ASSERT_TRUE(numbers) << job;
    EXPECT_EQ(numbers->size(), 51u);
    EXPECT_GE(*numbers->begin(), 1u);
    EXPECT_LE(*numbers->rbegin(), 512u);
    for (const auto n : *numbers) EXPECT_TRUE(all.insert(n).second) << n;
  }
}

TEST(GroupNumbers, that_a_node_holds_for_jobs_of_a_former_manager_are_given_last) {
  World world;
  auto leaf = test_register("an-leaf1");
  auto* listens = leaf.mutable_trees(0);
  control::add_ranges(*listens->mutable_held(), {{1, 51}, {101, 400}, {600, 7}});  // No node has the numbers from 600.
  world.core.node_stream_ended(2, kNow);
  world.core.node_registers(4, leaf, kNow);
  control::v1::Link link;
  link.set_up(true);
  world.core.node_link(4, link, kNow);
  const auto first = world.begin(1, 51, kAll);
  ASSERT_TRUE(first);
  EXPECT_GE(*first->begin(), 52u);
  EXPECT_TRUE(first->upper_bound(100) == first->lower_bound(501)) << "101 to 500 are held as well";
  const auto all = world.begin(2, 400, kAll);
  ASSERT_TRUE(all) << "where there are no others";
  EXPECT_EQ(all->size(), 400u);
}

TEST(GroupNumbers, that_are_scattered_still_make_a_job) {
  World world;
  for (std::uint64_t job = 1; job <= 8; ++job) ASSERT_TRUE(world.begin(job, 64, kAll));
  EXPECT_FALSE(world.begin(9, 1, kAll));
  for (const std::uint64_t job : {2, 5, 7}) world.end(job);
  const auto numbers = world.begin(9, 192, kAll);
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->size(), 192u);
}

TEST(GroupNumbers, of_a_job_that_has_just_ended_rest) {
  World world;
  const auto first = world.begin(1, 51, kAll);
  world.end(1);
  const auto second = world.begin(2, 51, kAll);
  ASSERT_TRUE(first && second);
  for (const auto n : *second) EXPECT_FALSE(first->contains(n)) << "its last groups may still stand";
}

TEST(GroupNumbers, that_the_smallest_node_can_have_are_left_to_its_jobs) {
  World world(64);
  ASSERT_TRUE(world.begin(1, 64, {"h3", "h4"})) << "not on the small leaf";
  const auto numbers = world.begin(2, 64, kAll);
  ASSERT_TRUE(numbers);
  EXPECT_EQ(*numbers->rbegin(), 64u);
}

TEST(GroupNumbers, of_a_running_job_are_known_after_a_restart) {
  SavedState saved;
  std::optional<Numbers> first;
  {
    World world;
    first = world.begin(1, 500, kAll);
    saved = world.journal.state;
  }
  ASSERT_EQ(saved.jobs.size(), 1u);
  World world(512, saved);
  const auto second = world.begin(2, 12, kAll);
  ASSERT_TRUE(first && second);
  for (const auto n : *second) EXPECT_FALSE(first->contains(n)) << n;
}

}  // namespace
}  // namespace sumac::manager
