// The report that a communicator's caller gets about the bound of each path.
#include "client/tree/pays.hpp"

#include <gtest/gtest.h>

namespace sumac::client {
namespace {

Job job_of(std::uint64_t port, std::uint32_t hosts, std::vector<JobTree> trees) {
  Job job;
  job.granted.host_rate_bits_per_s = port;
  job.hosts = hosts;
  job.granted.rails = 1;
  job.trees = std::move(trees);
  return job;
}

JobTree tree_of(std::uint64_t rate, std::uint64_t delay_ns, std::uint32_t member_nodes = 0) {
  JobTree tree;
  tree.body.rate_bits_per_s = rate;
  tree.body.delay_ns = delay_ns;
  tree.body.member_nodes = member_nodes;
  return tree;
}

TEST(TreePays, AtSwitchesAtAnySizeOnOneSpareHostUpToACrossover) {
  const auto at_switches = ways_of(job_of(60'000'000, 8, {tree_of(0, 50'000)}), 8);
  EXPECT_EQ(at_switches.hop_delay_ns, 100'000u);
  EXPECT_EQ(cost::tree_bytes_max(at_switches), cost::kNoLimit);
  const auto spare = ways_of(job_of(60'000'000, 8, {tree_of(7'500'000, 100'000)}), 8);
  EXPECT_EQ(spare.hop_delay_ns, 100'000u);
  EXPECT_GT(cost::tree_bytes_max(spare), 0);
  EXPECT_LT(cost::tree_bytes_max(spare), 1000);
  const std::vector<JobTree> all(8, tree_of(7'500'000, 100'000));
  EXPECT_EQ(cost::tree_bytes_max(ways_of(job_of(60'000'000, 8, all), 8)), cost::kNoLimit);
}

TEST(TreePays, ACommunicatorSpansNoMoreHostsThanItHasMembers) {
  const auto job = job_of(60'000'000, 8, {tree_of(0, 50'000)});
  EXPECT_EQ(ways_of(job, 3).hosts, 3u);
  EXPECT_EQ(ways_of(job, 16).hosts, 8u) << "two members on each host";
}

TEST(TreePays, NothingIsDecidedWhereTheFabricSaysNothing) {
  EXPECT_EQ(cost::tree_bytes_max(ways_of(job_of(0, 8, {tree_of(0, 0)}), 8)), cost::kNoLimit);
  Job bare = job_of(0, 0, {tree_of(0, 0)});
  bare.granted.rails = 0;
  EXPECT_EQ(ways_of(bare, 4).rails, 1u);
}

}  // namespace
}  // namespace sumac::client
