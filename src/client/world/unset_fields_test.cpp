// Fields that real clients leave unset in the structs of init and comm_init are never read, whatever their content:
// MVAPICH's callbacks ignore their context and its oob_ctx is garbage, so is group_world_ranks; no client sets the
// reserved fields. (reduction_test.cpp tests those of operations.)
#include <gtest/gtest.h>

#include <cstring>

#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

Rank* self = nullptr;  // Such callbacks find their rank here.

int own_bcast(void*, void* buffer, int length, int root) { return oob_bcast(self, buffer, length, root); }
int own_barrier(void*) { return oob_barrier(self); }
int own_gather(void*, int root, void* mine, void* all, int length) { return oob_gather(self, root, mine, all, length); }

TEST_F(World, NoUnsetFieldOfInitAndCommInitIsRead) {
  for (const int pattern : {0x00, 0x01, 0x7F, 0xA5, 0xEE, 0xFF}) {
    SCOPED_TRACE(pattern);
    const auto job = new_job_id();
    const auto ended = run(3, {}, [&](Rank& rank) {
      self = &rank;
      sharp_coll_init_spec init;
      std::memset(&init, pattern, sizeof init);
      init.job_id = job;
      init.world_rank = rank.rank;
      init.world_size = rank.size;
      init.world_local_rank = 0;
      init.progress_func = nullptr;
      init.group_channel_idx = 0;
      init.enable_thread_support = 0;
      init.oob_colls = {own_bcast, own_barrier, own_gather};
      init.config.ib_dev_list = nullptr;
      init.config.user_progress_num_polls = 128;
      init.config.coll_timeout = -1;
      init.config.flags = 0;
      sharp_coll_context* context = nullptr;
      RANK_EQUAL(sharp_coll_init(&init, &context), 0);
      std::memset(&init, ~pattern, sizeof init);  // Nor is it read afterwards.

      sharp_coll_comm_init_spec spec;
      std::memset(&spec, pattern, sizeof spec);
      spec.rank = rank.rank;
      spec.size = rank.size;
      sharp_coll_comm* comm = nullptr;
      RANK_EQUAL(sharp_coll_comm_init(context, &spec, &comm), 0);
      std::memset(&spec, ~pattern, sizeof spec);
      const auto info = info_of(comm);
      RANK_EQUAL(info.group_size, 3u);
      RANK_EQUAL(info.groups, 1u);
      RANK_EQUAL(info.depth, rank.rank < 2 ? 2u : 1u);
      std::int32_t in = rank.rank, out = 0;
      auto sum = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
      RANK_EQUAL(sharp_coll_do_allreduce(comm, &sum), 0);
      RANK_EQUAL(out, 3);
      RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
      RANK_EQUAL(sharp_coll_finalize(context), 0);
    });
    for (const auto& rank : ended) EXPECT_EQ(rank.err, "");
  }
}

}  // namespace
}  // namespace sumac::client::test
