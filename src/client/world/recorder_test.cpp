// The pages of ranks that use libsharp_coll without a team (src/recorder).
#include <unistd.h>

#include <algorithm>

#include "client/world/test_world.hpp"
#include "recorder/reader.hpp"

namespace sumac::client::test {
namespace {

/// Returns this process's page, as another process finds it.
recorder::PageView own_page() {
  const auto found = recorder::find_pages();
  const auto own =
      std::find_if(found.processes.begin(), found.processes.end(), [](auto& one) { return one.pid == ::getpid(); });
  RANK_CHECK(own != found.processes.end());
  return own->page;
}

TEST_F(World, APageHasTheCallsOfEachMember) {
  const auto job = new_job_id();
  expect_well(4, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    float in = 1, out = 0;
    auto spec = reduce_spec(&in, &out, 1, Dtype::float32, Op::sum);
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
    void* request = nullptr;
    if (rank.rank != 3) RANK_EQUAL(sharp_coll_do_barrier_nb(comm, &request), 0);
    const auto page = own_page();
    RANK_EQUAL(page.job, job);
    RANK_EQUAL(page.world_rank, rank.rank);
    RANK_EQUAL(page.world_size, 4);
    RANK_EQUAL(page.tracks.size(), std::size_t{1});
    const auto& track = page.tracks.front();
    RANK_CHECK(track.name.starts_with("group "));
    RANK_EQUAL(track.rank, rank.rank);
    RANK_EQUAL(track.begun, rank.rank != 3 ? 2u : 1u);
    RANK_EQUAL(track.ended, 1u);
    RANK_EQUAL(track.newest.back().bytes, sizeof in);
    rank.barrier();
    if (rank.rank == 3) RANK_EQUAL(sharp_coll_do_barrier_nb(comm, &request), 0);
    RANK_EQUAL(sharp_coll_req_wait(request), 0);
    RANK_CHECK(!own_page().tracks.front().is_inside());
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_CHECK(own_page().tracks.empty());
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

}  // namespace
}  // namespace sumac::client::test
