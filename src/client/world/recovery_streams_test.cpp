// Streams outlive their tree: large operations, some in place and some rooted, are exact when a node is killed in the middle of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <vector>

#include "client/world/test_recovery.hpp"

namespace sumac::client::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t kCount = (std::size_t{1} << 20) / sizeof(std::int64_t);

class Large {
 public:
  /// Operation `i` of a loop of large ones, checked. Returns its status.
  int operate(sharp_coll_comm* comm, int rank, int size, int i) {
    const auto given = [&](int of, std::size_t k) { return (of + 1) * (i + static_cast<std::int64_t>(k % 1000)); };
    for (std::size_t k = 0; k < kCount; ++k) in_[k] = given(rank, k), out_[k] = -1;
    const int root = i % size, kind = i % 4;
    int status = 0;
    if (kind == 3) {
      sharp_coll_bcast_spec spec;
      std::memset(&spec, 0xA5, sizeof spec);
      spec.root = root;
      spec.buf_desc = {SHARP_DATA_BUFFER, SHARP_MEM_TYPE_HOST, {}, {{in_.data(), kCount * 8, nullptr}}};
      spec.size = kCount * 8;
      if ((status = sharp_coll_do_bcast(comm, &spec)) != 0) return status;
      for (std::size_t k = 0; k < kCount; ++k) RANK_EQUAL(in_[k], given(root, k));
      return 0;
    }
    const bool in_place = kind == 1;
    auto spec = reduce_spec(in_.data(), in_place ? in_.data() : out_.data(), kCount, Dtype::int64, Op::sum);
    spec.root = root;
    status = kind == 2 ? sharp_coll_do_reduce(comm, &spec) : sharp_coll_do_allreduce(comm, &spec);
    if (status != 0 || (kind == 2 && rank != root)) return status;
    const auto& result = in_place ? in_ : out_;
    for (std::size_t k = 0; k < kCount; ++k)
      RANK_EQUAL(result[k], size * (size + 1) / 2 * (i + static_cast<std::int64_t>(k % 1000)));
    return 0;
  }

 private:
  std::vector<std::int64_t> in_ = std::vector<std::int64_t>(kCount), out_ = in_;
};

/// Kills `victim` while the ranks stream, which go on streaming until they are on a tree again, and beyond.
void stream_through_a_kill(const std::string& victim, const std::string& lock_batch) {
  Shape shape = kTwoLeaves;
  shape.environment = {{"SUMAC_AM_NODE_AWAY", "300ms"}};
  Daemons daemons(shape);
  const auto job = new_job_id();
  const Signal ready;
  auto config = on(daemons, 3);
  config.environment = {
      {"SUMAC_RECOVERY", "1"}, {"SHARP_COLL_ENABLE_SAT", "1"}, {"SHARP_COLL_SAT_LOCK_BATCH_SIZE", lock_batch}};
  config.meanwhile = [&] {
    ready.await(3);
    daemons.signal(victim, SIGKILL);
  };
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    const auto first = group_of(comm);
    Large large;
    int i = 0, more = 8;
    for (std::int32_t waits = 1, any = 1; any != 0 || --more > 0; ++i) {
      if (i == 8) ready.give();
      RANK_EQUAL(large.operate(comm, rank.rank, rank.size, i), 0);
      RANK_EQUAL(operate(comm, rank.rank, rank.size, i), 0);
      waits = group_of(comm) == first ? 1 : 0;
      auto spec = reduce_spec(&waits, &any, 1, Dtype::int32, Op::max);
      RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
    }
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons.log();
  EXPECT_THAT(ended[0].err, HasSubstr("go on among themselves"));
}

TEST(RecoveryOfStreams, GoOnWhenTheRootIsKilled) { stream_through_a_kill("an-root", "inf"); }
TEST(RecoveryOfStreams, GoOnWhenALeafIsKilledAndTheLockIsTakenForEach) { stream_through_a_kill("an-leaf1", "1"); }

/// Each keeps two windows of 64 KiB chunks. One that has no room streams on, and ends with its tree, unless somebody asks for the other.
TEST(RecoveryOfStreams, AProcessKeepsThoseOfFewCommunicators) {
  const Daemons daemons(kTwoLeaves);
  for (const char* asked : {"1", "auto"}) {
    SCOPED_TRACE(asked);
    const bool is_asked = asked == std::string("1");
    const auto job = new_job_id();
    auto config = on(daemons, 2);
    config.environment = {{"SUMAC_RECOVERY", asked},
                          {"SHARP_COLL_ENABLE_SAT", "1"},
                          {"SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "9"},
                          {"SHARP_COLL_LOG_LEVEL", is_asked ? "2" : "4"}};
    const auto ended = run_ranks(config, [&](Rank& rank) {
      auto* context = rank.init(job);
      std::vector<sharp_coll_comm*> comms;
      for (int i = 0; i < 8; ++i) {
        comms.push_back(rank.comm(context));
        struct sumac_comm_info info {};
        info.struct_bytes = sizeof info;
        RANK_EQUAL(sumac_comm_query_info(comms.back(), &info), 0);
        RANK_EQUAL(info.stream_window, i < 7 || !is_asked ? 16u : 0u);
      }
      RANK_EQUAL(Large().operate(comms.back(), rank.rank, rank.size, 0), 0);
      for (auto* comm : comms) RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
      RANK_EQUAL(sharp_coll_finalize(context), 0);
    });
    EXPECT_EQ(complaint(ended), "") << daemons.log();
    EXPECT_THAT(ended[0].err, HasSubstr(is_asked ? "has memory for the streams of few communicators"
                                                 : "ends with its tree: its streams would be slower"));
  }
}

}  // namespace
}  // namespace sumac::client::test
