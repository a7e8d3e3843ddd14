// Calls far larger than a message, a window or 32 bits can hold: each is one call that is cut inside. Their memory
// repeats the same pages.
#include <gtest/gtest.h>

#include <cstring>

#include "base/test_repeated_memory.hpp"
#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

using sumac::test::RepeatedMemory;

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// The operation of two ranks on one vector of `total` bytes; rank 0 is the root if there is one.
enum class Kind { allreduce, reduce, bcast, reduce_scatter, allgather };
constexpr std::pair<Kind, const char*> kKinds[] = {{Kind::allreduce, "allreduce"},
                                                   {Kind::reduce, "reduce"},
                                                   {Kind::bcast, "bcast"},
                                                   {Kind::reduce_scatter, "reduce_scatter"},
                                                   {Kind::allgather, "allgather"}};
bool has_parts(Kind kind) { return kind == Kind::reduce_scatter || kind == Kind::allgather; }

void* post(sharp_coll_comm* comm, Kind kind, const Rank& rank, std::size_t total, void* in, void* out) {
  auto reduce = reduce_spec(in, out, total, Dtype::uint8, Op::sum);
  reduce.root = 0;
  reduce.offset = 0;
  if (kind == Kind::reduce_scatter) reduce.rbuf_desc.buffer.length = total / 2;
  if (kind == Kind::allgather) reduce.sbuf_desc.buffer.length = total / 2;
  sharp_coll_bcast_spec bcast{};
  bcast.buf_desc = rank.rank == 0 ? reduce.sbuf_desc : reduce.rbuf_desc;
  bcast.size = total;
  sharp_coll_gather_spec gather{};
  gather.sbuf_desc = reduce.sbuf_desc;
  gather.rbuf_desc = reduce.rbuf_desc;
  void* handle = nullptr;
  switch (kind) {
    case Kind::allreduce: RANK_EQUAL(sharp_coll_do_allreduce_nb(comm, &reduce, &handle), 0); break;
    case Kind::reduce: RANK_EQUAL(sharp_coll_do_reduce_nb(comm, &reduce, &handle), 0); break;
    case Kind::bcast: RANK_EQUAL(sharp_coll_do_bcast_nb(comm, &bcast, &handle), 0); break;
    case Kind::reduce_scatter: RANK_EQUAL(sharp_coll_do_reduce_scatter_nb(comm, &reduce, &handle), 0); break;
    case Kind::allgather: RANK_EQUAL(sharp_coll_do_allgather_nb(comm, &gather, &handle), 0); break;
  }
  return handle;
}

/// The period of the memory behind a vector; neither a chunk nor a power of two is a multiple of it.
constexpr std::size_t kPeriod = 3 * kMiB;

std::uint8_t given(int rank, std::size_t phase) {
  return static_cast<std::uint8_t>(phase * 7 + phase / 251 + phase / 65'537 + static_cast<unsigned>(rank) * 31);
}

/// Returns a byte of the result; 0xEE where this rank gets none.
std::uint8_t kept(Kind kind, int rank, std::size_t phase) {
  constexpr std::uint8_t kAsBefore = 0xEE;
  const auto sum = static_cast<std::uint8_t>(given(0, phase) + given(1, phase));
  switch (kind) {
    case Kind::reduce: return rank == 0 ? sum : kAsBefore;
    case Kind::bcast: return rank == 0 ? kAsBefore : given(0, phase);
    case Kind::allgather: return given(0, phase);
    default: return sum;
  }
}

void call_exactly(sharp_coll_comm* comm, Kind kind, const Rank& rank, std::size_t at_least) {
  // Parts are whole repetitions, so that all begin in the same phase; a vector without parts ends in the middle of a
  // chunk.
  const std::size_t part = (at_least / 2 / kPeriod + 1) * kPeriod;
  const std::size_t total = 2 * part + (has_parts(kind) ? 0 : 100'001);
  constexpr auto kAtOnce = RepeatedMemory::Pages::at_once;
  const RepeatedMemory in(kPeriod, total, kAtOnce), out(kPeriod, total, kAtOnce);
  // Parts of an allgather overlap in this memory, so both ranks contribute the same.
  for (std::size_t i = 0; i < kPeriod; ++i) in.data()[i] = std::byte{given(kind == Kind::allgather ? 0 : rank.rank, i)};
  std::memset(out.data(), 0xEE, kPeriod);
  RANK_EQUAL(sharp_coll_req_wait(post(comm, kind, rank, total, in.data(), out.data())), 0);
  for (std::size_t i = 0; i < kPeriod; ++i) {
    if (out.data()[i] == std::byte{kept(kind, rank.rank, i)}) continue;
    std::fprintf(stderr, "%s: byte %zu of each repetition\n", kKinds[static_cast<int>(kind)].second, i);
    RANK_CHECK(false);
  }
}

class Large : public World, public testing::WithParamInterface<std::pair<Kind, const char*>> {
 protected:
  void expect_well(const std::function<void(Rank&)>& body, Environment environment) {
    auto config = on(*daemons_, 2);
    config.environment = std::move(environment);
    config.limit = std::chrono::seconds(170);  // Under a sanitizer every byte takes its time.
    EXPECT_EQ(complaint(run_ranks(config, body)), "") << daemons_->log();
  }
};
INSTANTIATE_TEST_SUITE_P(, Large, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.second); });

TEST_P(Large, ACallOfMoreThan512MiBIsOneCall) {
  const auto job = new_job_id();
  const Kind kind = GetParam().first;
  const auto body = [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    call_exactly(comm, kind, rank, 512 * kMiB);
    std::uint64_t streamed = 0;
    for (const auto& counts : stats_of(context).per_coll) streamed += counts.streamed;
    RANK_EQUAL(streamed, 1u);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  };
  expect_well(body, {{"SHARP_COLL_ENABLE_SAT", "1"}});
}

class LargeInFragments : public Large {};
INSTANTIATE_TEST_SUITE_P(, LargeInFragments, testing::Values(kKinds[0]),
                         [](const auto& kind) { return std::string(kind.param.second); });

TEST_P(LargeInFragments, ACallOfMoreThan512MiBIsOneCall) {
  const auto job = new_job_id();
  const auto body = [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    call_exactly(comm, GetParam().first, rank, 512 * kMiB);
    const auto& counts = stats_of(context).per_coll[SUMAC_STATS_ALLREDUCE];
    RANK_EQUAL(counts.answered, 1u);
    RANK_EQUAL(counts.streamed, 0u);
    RANK_CHECK(counts.fragments > 512 * 1024);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  };
  expect_well(body, {{"SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST", "1024"},
                     {"SHARP_COLL_JOB_QUOTA_OSTS", "512"},
                     {"SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "4"}});
}

TEST_P(Large, ATiBIsWorkedOnAndCanBeLeft) {
  constexpr std::size_t kTiB = std::size_t{1} << 40;
  for (const char* sat : {"0", "1"}) {
    SCOPED_TRACE(*sat == '1' ? "streaming" : "in small fragments");
    const auto job = new_job_id();
    const auto body = [&, kind = GetParam().first](Rank& rank) {
      auto init = rank.init_spec(job);
      init.config.coll_timeout = 300;
      sharp_coll_context* context = nullptr;
      RANK_EQUAL(sharp_coll_init(&init, &context), 0);
      auto *comm = rank.comm(context), *other = rank.comm(context);
      const RepeatedMemory in(64 * kMiB, kTiB), out(64 * kMiB, kTiB);
      const auto before = stats_of(context).bytes_in + stats_of(context).bytes_out;
      void* handle = post(comm, kind, rank, kTiB, in.data(), out.data());
      do {  // It makes progress.
        RANK_EQUAL(sharp_coll_req_test(handle), 0);
      } while (stats_of(context).bytes_in + stats_of(context).bytes_out < before + kMiB);
      RANK_EQUAL(sharp_coll_do_barrier(other), 0);
      // No rank waits a day for it: destroy gives up after coll_timeout.
      RANK_EQUAL(sharp_coll_comm_destroy(comm), SHARP_COLL_ERROR);
      RANK_EQUAL(sharp_coll_do_barrier(other), 0);
      RANK_EQUAL(sharp_coll_comm_destroy(other), 0);
      RANK_EQUAL(sharp_coll_finalize(context), 0);
    };
    expect_well(body, {{"SHARP_COLL_ENABLE_SAT", sat}});
  }
}

}  // namespace
}  // namespace sumac::client::test
