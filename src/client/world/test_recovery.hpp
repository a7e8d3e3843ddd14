#pragma once
// Ranks that run a loop of operations, and a pipe by which they tell the test how far they are.
#include <dirent.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "client/world/test_world.hpp"

namespace sumac::client::test {

inline const Environment kOn{{"SUMAC_RECOVERY", "1"}};

/// Operation `i` of a loop of all kinds, checked. Returns its status.
inline int operate(sharp_coll_comm* comm, int rank, int size, int i) {
  std::int64_t in[32], out[32];
  const std::size_t count = i % 5 == 0 ? 32 : 1;
  for (std::size_t k = 0; k < count; ++k) in[k] = (rank + 1) * (i + static_cast<std::int64_t>(k)), out[k] = -1;
  const auto sum = [&](std::size_t k) { return size * (size + 1) / 2 * (i + static_cast<std::int64_t>(k)); };
  const int root = i % size;
  int status = 0;
  switch (i % 4) {
    case 0: {
      auto spec = reduce_spec(in, i % 3 == 0 ? in : out, count, Dtype::int64, Op::sum);
      if ((status = sharp_coll_do_allreduce(comm, &spec)) != 0) return status;
      const auto* result = i % 3 == 0 ? in : out;
      for (std::size_t k = 0; k < count; ++k) RANK_EQUAL(result[k], sum(k));
      return 0;
    }
    case 1: {
      auto spec = reduce_spec(in, out, count, Dtype::int64, Op::sum);
      spec.root = root;
      if ((status = sharp_coll_do_reduce(comm, &spec)) != 0) return status;
      for (std::size_t k = 0; rank == root && k < count; ++k) RANK_EQUAL(out[k], sum(k));
      return 0;
    }
    case 2: {
      for (std::size_t k = 0; k < count; ++k) out[k] = rank == root ? i + static_cast<std::int64_t>(k) : -1;
      sharp_coll_bcast_spec spec;
      std::memset(&spec, 0xA5, sizeof spec);
      spec.root = root;
      spec.buf_desc = {SHARP_DATA_BUFFER, SHARP_MEM_TYPE_HOST, {}, {{out, count * 8, nullptr}}};
      spec.size = count * 8;
      if ((status = sharp_coll_do_bcast(comm, &spec)) != 0) return status;
      for (std::size_t k = 0; k < count; ++k) RANK_EQUAL(out[k], i + static_cast<std::int64_t>(k));
      return 0;
    }
    default: return sharp_coll_do_barrier(comm);
  }
}

inline std::uint32_t group_of(sharp_coll_comm* comm) {
  struct sumac_comm_info info {};
  info.struct_bytes = sizeof info;
  RANK_EQUAL(sumac_comm_query_info(comm, &info), 0);
  return info.group_id;
}

/// Counts the threads named `name`. `runs`: the processor time of the first in ns, its time of waiting for one, and how often it ran.
inline int threads_named(const std::string& name, std::string* runs = nullptr) {
  int found = 0;
  DIR* const tasks = ::opendir("/proc/self/task");
  while (const dirent* task = ::readdir(tasks)) {
    const auto folder = std::string("/proc/self/task/") + task->d_name;
    std::string is;
    std::ifstream(folder + "/comm") >> is;
    if (is != name) continue;
    if (found++ == 0 && runs != nullptr) std::getline(std::ifstream(folder + "/schedstat"), *runs);
  }
  ::closedir(tasks);
  return found;
}

/// A pipe by which ranks tell the test that they have come so far.
struct Signal {
  int ends[2];
  Signal() { EXPECT_EQ(::pipe(ends), 0); }
  ~Signal() { ::close(ends[0]), ::close(ends[1]); }
  void give() const { RANK_EQUAL(::write(ends[1], "x", 1), 1); }
  void await(int times = 1) const {
    char one;
    pollfd readable{ends[0], POLLIN, 0};
    for (int i = 0; i < times && ::poll(&readable, 1, 30'000) == 1; ++i) EXPECT_EQ(::read(ends[0], &one, 1), 1);
  }
};

}  // namespace sumac::client::test
