// sharp_an --pin: the thread of each tree runs on the given processor, and no other thread of the node does.
#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>

#include "tests/daemons/test_tree.hpp"

namespace sumac::tests {
namespace {

using node::TestGroup;

std::vector<int> processors_of(pid_t thread) {
  cpu_set_t set;
  std::vector<int> found;
  if (::sched_getaffinity(thread, sizeof set, &set) != 0) return found;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &set)) found.push_back(processor);
  return found;
}

/// The processors of a node's threads: those of each tree's, by its name, and those of all the others.
struct Threads {
  std::map<std::string, std::vector<int>> trees;
  std::vector<std::vector<int>> others;
  explicit Threads(pid_t node) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(node) + "/task")) {
      std::string name;
      std::getline(std::ifstream(task.path() / "comm"), name);
      const auto processors = processors_of(std::stoi(task.path().filename()));
      if (processors.empty()) continue;  // a thread of gRPC that has just ended
      if (name.starts_with("tree-"))
        trees[name] = processors;
      else
        others.push_back(processors);
    }
  }
};

TEST(Pin, the_thread_of_each_tree_runs_on_its_own_processor_and_the_others_anywhere) {
  const auto legal = processors_of(0);
  if (legal.size() < 2) GTEST_SKIP() << "this machine has one processor";
  const auto pin = fmt::format("{},{}", legal[1], legal[0]);
  Tree tree{Tree::TwoTrees{}, {"--pin", pin}};
  Holder holder(tree, 1, 0, 64, 2);
  ASSERT_EQ(holder.trees.size(), 2u) << holder.refused;
  ASSERT_TRUE(tree.one->says(" bytes in 2 trees: "));  // waits until the leaf's second thread runs
  const Threads threads(tree.one->pid());
  EXPECT_EQ(threads.trees, (std::map<std::string, std::vector<int>>{{"tree-0", {legal[1]}}, {"tree-1", {legal[0]}}}));
  ASSERT_FALSE(threads.others.empty());
  for (const auto& processors : threads.others) EXPECT_EQ(processors, legal);
  {
    TestGroup one(holder.trees[0]), other(holder.trees[1]);
    ASSERT_EQ(one.form(1).state, proto::OpenOutcome::State::opened);
    ASSERT_EQ(other.form(2).state, proto::OpenOutcome::State::opened);
    EXPECT_TRUE(one.allreduce(100, 1));
    EXPECT_TRUE(other.allreduce(100, 2));
    EXPECT_TRUE(one.leave());
    EXPECT_TRUE(other.leave());
  }
  EXPECT_TRUE(holder.end());
}

TEST(Pin, nobody_is_pinned_where_nobody_asked) {
  Tree tree;
  const Threads threads(tree.one->pid());
  EXPECT_EQ(threads.trees, (std::map<std::string, std::vector<int>>{{"tree-0", processors_of(0)}}));
}

}  // namespace
}  // namespace sumac::tests
