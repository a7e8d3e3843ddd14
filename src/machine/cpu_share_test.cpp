#include "machine/cpu_share.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/test_folder.hpp"

namespace sumac::machine {
namespace {

namespace fs = std::filesystem;

/// A tree of cgroup files in a temporary directory, with the process's own /proc files beside it.
class CgroupTree : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void mount(const std::string& version_line) { mountinfo_ += version_line + "\n"; }
  Quota quota(const std::string& cgroups) {
    write("cgroup", cgroups);
    write("mountinfo", mountinfo_);
    return read_quota({(root_ / "cgroup").string(), (root_ / "mountinfo").string()});
  }
  std::string v2(const std::string& group = "/") {
    return "30 23 0:28 " + group + " " + (root_ / "v2").string() + " rw,relatime shared:4 - cgroup2 cgroup2 rw";
  }
  std::string v1(const std::string& group = "/") {
    return "31 23 0:29 " + group + " " + (root_ / "v1").string() + " rw - cgroup cgroup rw,cpu,cpuacct";
  }

  const TestFolder folder_{"cgroup"};
  const fs::path root_ = folder_.path;
  std::string mountinfo_ = "23 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
};

TEST_F(CgroupTree, version_2_takes_the_least_quota_on_the_way_up) {
  mount(v2());
  write("v2/cpu.max", "max 100000\n");
  write("v2/slurm/cpu.max", "150000 100000\n");
  write("v2/slurm/job/cpu.max", "400000 100000\n");
  write("v2/slurm/job/step/cgroup.procs", "1\n");  // There is no cpu.max, because the controller is not enabled there.
  const auto found = quota("0::/slurm/job/step\n");
  EXPECT_DOUBLE_EQ(found.cpus, 1.5);
  EXPECT_NE(found.group, 0U);
  EXPECT_EQ(quota("0::/slurm\n").group, found.group) << "the same cgroup has it";
}

TEST_F(CgroupTree, version_1_half_a_core) {
  mount(v1());
  mount("32 23 0:30 / " + (root_ / "set").string() + " rw - cgroup cgroup rw,cpuset");
  write("v1/docker/cpu.cfs_quota_us", "-1\n");
  write("v1/docker/cpu.cfs_period_us", "100000\n");
  write("v1/docker/abc/cpu.cfs_quota_us", "50000\n");
  write("v1/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(quota("9:name=systemd:/x\n4:cpuset:/y\n3:cpu,cpuacct:/docker/abc\n").cpus, 0.5);
  EXPECT_EQ(quota("3:cpu,cpuacct:/docker\n").cpus, kNoQuota);
}

TEST_F(CgroupTree, a_container_sees_its_own_group_at_the_mount_point) {
  mount(v1("/docker/abc"));
  write("v1/cpu.cfs_quota_us", "200000\n");
  write("v1/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(quota("3:cpu,cpuacct:/docker/abc\n").cpus, 2.0);
  EXPECT_DOUBLE_EQ(quota("3:cpu,cpuacct:/elsewhere\n").cpus, 2.0) << "outside of what is mounted: the mount point";
  EXPECT_DOUBLE_EQ(quota("3:cpu,cpuacct:/../..\n").cpus, 2.0);
}

TEST_F(CgroupTree, what_is_missing_or_malformed_restricts_nothing) {
  EXPECT_EQ(quota("0::/\n").cpus, kNoQuota) << "no cgroup file system";
  mount(v2());
  for (const char* text : {"", "max", "max 100000", "50000", "x y", "50000 0", "-1 100000", "50000 -5"}) {
    write("v2/cpu.max", text);
    EXPECT_EQ(quota("0::/\n").cpus, kNoQuota) << text;
  }
  EXPECT_EQ(quota("rubbish\n:\n").cpus, kNoQuota);
  EXPECT_EQ(read_quota({"/nonexistent/cgroup", "/nonexistent/mountinfo"}).cpus, kNoQuota);
}

CpuMask mask(std::initializer_list<std::size_t> cpus) {
  CpuMask found;
  for (const auto cpu : cpus) found.set(cpu);
  return found;
}

TEST_F(CgroupTree, memory_of_the_group_that_has_least_left) {
  const auto limit = [&](const std::string& cgroups) {
    write("cgroup", cgroups);
    write("mountinfo", mountinfo_);
    return read_memory_limit({(root_ / "cgroup").string(), (root_ / "mountinfo").string()});
  };
  mount(v2());
  write("v2/memory.max", "max\n");
  write("v2/job/memory.max", "1000\n");
  write("v2/job/memory.current", "900\n");
  write("v2/job/step/memory.max", "500\n");
  write("v2/job/step/memory.current", "100\n");
  const auto found = limit("0::/job/step\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bytes, 1000U);
  EXPECT_EQ(found->used_bytes, 900U);
  EXPECT_FALSE(limit("0::/\n")) << "max is no limit";
  mount("33 23 0:31 / " + (root_ / "v1").string() + " rw - cgroup cgroup rw,memory");
  write("v1/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(limit("4:memory:/\n")) << "the largest number is no limit";
  write("v1/a/memory.limit_in_bytes", "4096\n");
  EXPECT_EQ(limit("4:memory:/a\n")->bytes, 4096U);
  EXPECT_FALSE(read_memory_limit({"/nonexistent/cgroup", "/nonexistent/mountinfo"}));
}

TEST(CpuShare, ranks_together) {
  const struct {
    const char* name;
    std::vector<CpuShare> shares;
    double cpus;
  } rows[] = {
      {"nobody", {}, 0},
      {"each bound to its own core", {{mask({0})}, {mask({1})}, {mask({70})}}, 3},
      {"both on the same core", {{mask({5})}, {mask({5})}}, 1},
      {"unbound: the machine", {{mask({0, 1, 2, 3})}, {mask({0, 1, 2, 3})}}, 4},
      {"one container with half a core", {{mask({0, 1}), 0.5, 7}, {mask({0, 1}), 0.5, 7}}, 0.5},
      {"two containers with half a core each", {{mask({0, 1}), 0.5, 7}, {mask({0, 1}), 0.5, 8}}, 1},
      {"a quota that is wider than the machine", {{mask({0, 1}), 64, 7}}, 2},
      {"one rank without quota may use all", {{mask({0, 1}), 0.5, 7}, {mask({0, 1})}}, 2},
      {"a mask that could not be read", {{CpuMask{}}}, 1},
      {"hardly anything", {{mask({0}), 0.001, 7}}, 0.01},
  };
  for (const auto& row : rows) EXPECT_DOUBLE_EQ(together(row.shares), row.cpus) << row.name;
}

TEST(CpuShare, a_mask_knows_its_numbers) {
  const auto some = mask({0, 63, 64, 4095});
  EXPECT_EQ(some.numbers(), (std::vector<std::int32_t>{0, 63, 64, 4095}));
  EXPECT_EQ(some.count(), 4U);
  EXPECT_TRUE(some.has(64));
  EXPECT_FALSE(some.has(65));
  EXPECT_FALSE(some.has(1'000'000));
  EXPECT_TRUE(CpuMask{}.empty());
}

TEST(CpuShare, this_process_may_run_somewhere) {
  const auto share = own_cpu_share();
  EXPECT_GE(share.allowed.count(), 1U);
  EXPECT_GT(share.quota_cpus, 0);
}

}  // namespace
}  // namespace sumac::machine
