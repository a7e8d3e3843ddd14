// Counts that differ between the ranks of a call, for each kind and size: all ranks get a verdict that names the one
// that differs, at the latest in the next call, and other communicators go on.
#include <gtest/gtest.h>

#include <cstring>

#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

using Call = int (*)(sharp_coll_comm* comm, std::int32_t* in, std::int32_t* out, std::size_t count);

int allreduce(sharp_coll_comm* comm, std::int32_t* in, std::int32_t* out, std::size_t count) {
  auto spec = reduce_spec(in, out, count, Dtype::int32, Op::sum);
  return sharp_coll_do_allreduce(comm, &spec);
}
int reduce(sharp_coll_comm* comm, std::int32_t* in, std::int32_t* out, std::size_t count) {
  auto spec = reduce_spec(in, out, count, Dtype::int32, Op::sum);
  spec.root = 1;
  return sharp_coll_do_reduce(comm, &spec);
}
int bcast(sharp_coll_comm* comm, std::int32_t* in, std::int32_t*, std::size_t count) {
  sharp_coll_bcast_spec spec{};
  spec.root = 0;
  spec.buf_desc = reduce_spec(in, in, count, Dtype::int32, Op::sum).sbuf_desc;
  spec.size = count * sizeof *in;
  return sharp_coll_do_bcast(comm, &spec);
}
/// `count` elements for each of the three ranks.
int reduce_scatter(sharp_coll_comm* comm, std::int32_t* in, std::int32_t* out, std::size_t count) {
  auto spec = reduce_spec(in, out, count, Dtype::int32, Op::sum);
  spec.sbuf_desc.buffer.length *= 3;
  spec.offset = 0;
  return sharp_coll_do_reduce_scatter(comm, &spec);
}
int allgather(sharp_coll_comm* comm, std::int32_t* in, std::int32_t* out, std::size_t count) {
  const auto both = reduce_spec(in, out, count, Dtype::int32, Op::sum);
  sharp_coll_gather_spec spec{};
  spec.sbuf_desc = both.sbuf_desc;
  spec.rbuf_desc = both.rbuf_desc;
  spec.rbuf_desc.buffer.length *= 3;
  spec.dtype = SHARP_DTYPE_INT;
  return sharp_coll_do_allgather(comm, &spec);
}

const struct {
  const char* name;
  Call call;
  std::size_t usual, different;  ///< The second at one rank.
} kRows[] = {
    {"one more element", allreduce, 1, 2},
    {"nothing where the others have something", allreduce, 5, 0},
    {"something where the others have nothing", allreduce, 0, 5},
    {"one fragment more", allreduce, 96, 97},
    {"one element more in the last of many fragments", allreduce, 4000, 4001},
    {"below the threshold of streaming where the others are above", allreduce, 4096, 4095},
    {"above it where the others are below", allreduce, 4095, 4096},
    {"one chunk more of a stream", allreduce, 65'536, 65'537},
    {"a reduce", reduce, 100, 101},
    {"a reduce that streams", reduce, 65'536, 65'500},
    {"a broadcast", bcast, 100, 99},
    {"a broadcast that streams", bcast, 65'536, 65'537},
    {"a broadcast of nothing", bcast, 100, 0},
    {"a reduce-scatter", reduce_scatter, 10, 11},
    {"a reduce-scatter that streams", reduce_scatter, 30'000, 30'001},
    {"an allgather of small parts", allgather, 2, 3},
    {"an allgather of large parts", allgather, 1000, 1001},
    {"an allgather that streams", allgather, 30'000, 30'001},
};

TEST_F(World, CountsThatDifferAreAVerdictInEachKindAndAtEachSize) {
  const auto job = new_job_id();
  const auto body = [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* lives_on = rank.comm(context);
    for (const auto& row : kRows)
      for (const int odd_one : {0, 2}) {
        auto* comm = rank.comm(context);
        std::vector<std::int32_t> in(3 * 70'000, 1), out(3 * 70'000);
        const std::size_t count = rank.rank == odd_one ? row.different : row.usual;
        // A rank that needs nobody in this call learns of the disagreement in its next one.
        int status = row.call(comm, in.data(), out.data(), count);
        if (status == 0) status = sharp_coll_do_barrier(comm);
        char text[512] = "";
        const int over = sumac_comm_error(comm, text, sizeof text);
        const bool is_named = std::strstr(text, "differs from") != nullptr || std::strstr(text, "called") != nullptr;
        if (status != SHARP_COLL_ERROR || over != SHARP_COLL_ERROR || !is_named)
          std::fprintf(stderr, "%s, rank %d alone: %d, %s\n", row.name, odd_one, status, text);
        RANK_EQUAL(status, SHARP_COLL_ERROR);
        RANK_EQUAL(over, SHARP_COLL_ERROR);
        RANK_CHECK(is_named);
        RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
        RANK_EQUAL(allreduce(lives_on, in.data(), out.data(), 1000), 0);
        RANK_EQUAL(out[999], rank.size);
      }
    RANK_EQUAL(sharp_coll_comm_destroy(lives_on), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  };
  expect_well(3, body, {{"SHARP_COLL_ENABLE_SAT", "1"}});
}

}  // namespace
}  // namespace sumac::client::test
