// libsharp_coll through real daemons when a failure occurs: the same error everywhere, the cause by name, never a hang.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

TEST_F(World, RanksThatDisagreeGetAVerdictThatNamesThem) {
  const auto job = new_job_id();
  const auto body = [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    auto* other = rank.comm(context);
    std::int32_t in[4] = {1, 1, 1, 1}, out[4] = {};
    auto spec = reduce_spec(in, out, rank.rank == 2 ? 3 : 4, Dtype::int32, Op::sum);
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), SHARP_COLL_ERROR);
    RANK_EQUAL(sharp_coll_do_barrier(comm), SHARP_COLL_ERROR);  // The group has ended.
    char text[256];
    RANK_EQUAL(sumac_comm_error(comm, text, sizeof text), SHARP_COLL_ERROR);
    RANK_CHECK(std::strstr(text, "rank 2") != nullptr && std::strstr(text, "count") != nullptr);
    spec = reduce_spec(in, out, 4, Dtype::int32, Op::sum);
    RANK_EQUAL(sumac_comm_error(other, text, sizeof text), 0);
    RANK_EQUAL(sharp_coll_do_allreduce(other, &spec), 0);  // Other communicators live on.
    RANK_EQUAL(out[3], 3);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(other), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  };
  const auto ended = run_ranks(on(*daemons_, 3), body);
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
  // Which of the two that differ is the culprit depends on the order of arrival; only one member tells the user.
  std::string said;
  for (const auto& rank : ended) said += rank.err;
  EXPECT_THAT(said, HasSubstr("rank 2"));
  const auto first = said.find("SHArP Error detected.");
  ASSERT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find("SHArP Error detected.", first + 1), std::string::npos) << said;
}

TEST_F(World, ATimeLimitEndsTheCommunicatorAtAllMembers) {
  const auto job = new_job_id();
  auto config = on(*daemons_, 3);
  config.environment.emplace_back("SUMAC_TIMEOUT", "300ms");
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    char text[512] = "";
    if (rank.rank == 2) {  // It never comes, but sees the end all the same.
      while (sumac_comm_error(comm, text, sizeof text) == 0) (void)sharp_coll_progress(context);
    } else {
      RANK_EQUAL(sharp_coll_do_barrier(comm), SHARP_COLL_ERROR);
      RANK_EQUAL(sumac_comm_error(comm, text, sizeof text), SHARP_COLL_ERROR);
    }
    RANK_EQUAL(sharp_coll_do_barrier(comm), SHARP_COLL_ERROR);
    RANK_CHECK(std::strstr(text, "gave up") != nullptr);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
  EXPECT_THAT(ended[0].err + ended[1].err, HasSubstr("timed out after 300 ms at rank "));
}

TEST_F(World, AFailedRequestNeverLooksComplete) {
  const auto job = new_job_id();
  expect_well(2, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    std::int32_t in = 1, out = 0;
    auto spec = reduce_spec(&in, &out, 1, Dtype::int32, rank.rank == 0 ? Op::sum : Op::max);
    void* handle = nullptr;
    RANK_EQUAL(sharp_coll_do_allreduce_nb(comm, &spec, &handle), 0);
    char text[256] = "";
    int status = 0;
    while ((status = sumac_req_status(handle, text, sizeof text)) == 0) {
    }
    RANK_EQUAL(status, SHARP_COLL_ERROR);
    RANK_CHECK(std::strstr(text, "op") != nullptr);
    RANK_EQUAL(sharp_coll_req_test(handle), 0);
    RANK_EQUAL(sharp_coll_req_wait(handle), SHARP_COLL_ERROR);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(World, ADeadRankIsNamedAtTheOthers) {
  const auto job = new_job_id();
  const auto body = [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    if (rank.rank == 1) ::raise(SIGKILL);
    RANK_EQUAL(sharp_coll_do_barrier(comm), SHARP_COLL_ERROR);
    char text[256];
    RANK_EQUAL(sumac_comm_error(comm, text, sizeof text), SHARP_COLL_ERROR);
    RANK_CHECK(std::strstr(text, "rank 1 (host h") != nullptr);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  };
  const auto ended = run_ranks(on(*daemons_, 3), body);
  EXPECT_EQ(ended[0].status, 0) << ended[0].err << daemons_->log();
  EXPECT_EQ(ended[1].status, 128 + SIGKILL);
  EXPECT_EQ(ended[2].status, 0) << ended[2].err;
}

/// As UCC and the NCCL plugin do: it calls only req_test, for ever.
TEST_F(World, AClientThatPollsForEverIsEndedWhereItAsksForThat) {
  const auto job = new_job_id();
  auto config = on(*daemons_, 3);
  config.environment = {{"SUMAC_COLL_ON_FAILURE", "abort"}};
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    std::int32_t in = 1, out = 0;
    auto spec = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
    void* handle = nullptr;
    if (rank.rank != 1) RANK_EQUAL(sharp_coll_do_allreduce_nb(comm, &spec, &handle), 0);
    rank.barrier();
    if (rank.rank == 1) ::raise(SIGKILL);
    while (sharp_coll_req_test(handle) == 0) sharp_coll_progress(context);
  });
  for (const std::size_t rank : {0u, 2u}) EXPECT_EQ(ended[rank].status, 128 + SIGABRT) << ended[rank].err;
  EXPECT_THAT(ended[0].err + ended[2].err, HasSubstr("rank 1"));
}

TEST_F(World, AKilledNodeIsAnErrorAndNoHang) {
  const auto job = new_job_id();
  auto config = on(*daemons_, 2);
  config.environment = {{"SUMAC_RECOVERY", "0"}};
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  std::thread killer([&] {  // It waits until both ranks have a group.
    char two[2];
    for (int got = 0; got < 2;) got += static_cast<int>(::read(ready[0], two, 2));
    daemons_->signal("an-leaf1", SIGKILL);
  });
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    RANK_EQUAL(::write(ready[1], "x", 1), 1);
    int status = 0;
    while (status == 0) status = sharp_coll_do_barrier(comm);
    RANK_EQUAL(status, SHARP_COLL_ERROR);
    sharp_coll_comm_destroy(comm);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  killer.join();
  ::close(ready[0]), ::close(ready[1]);
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
  for (const auto& rank : ended) EXPECT_THAT(rank.err, HasSubstr("SHArP Error detected."));
}

/// The member below the dead node reports it before anybody joins: the others would wait for that member until the
/// timeout, which here is longer than the test may take.
TEST(WorldAmiss, ANodeThatDiedBeforeACommunicatorIsMadeIsNotWaitedFor) {
  // The job gets no other trees meanwhile, by which all would be well.
  const Daemons daemons(two_leaves({{"SUMAC_AM_NODE_AWAY", "1h"}}));
  const pid_t victim = daemons.pid("an-leaf2");
  ASSERT_GT(victim, 0);
  auto config = on(daemons, 4);
  config.environment = {{"SHARP_COLL_JOB_CREATE_TIMEOUT", "3600s"}};
  const auto job = new_job_id();
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    if (rank.rank == 2) {
      const int process = static_cast<int>(::syscall(SYS_pidfd_open, victim, 0));
      RANK_CHECK(process >= 0);
      RANK_EQUAL(::kill(victim, SIGKILL), 0);
      pollfd dead{process, POLLIN, 0};
      RANK_EQUAL(::poll(&dead, 1, -1), 1);
      ::close(process);
    }
    rank.barrier();
    sharp_coll_comm* comm = nullptr;
    for (int i = 0; i < 3; ++i) RANK_EQUAL(rank.try_comm(context, comm), SHARP_COLL_ECONN_TREE);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons.log();
  EXPECT_THAT(ended[0].err, ContainsRegex("rank [23] \\(host [^ ]+\\): connection to the aggregation node"));
  const auto first = ended[0].err.find("ERROR");
  EXPECT_EQ(ended[0].err.find("ERROR", first + 1), std::string::npos) << "of three communicators\n" << ended[0].err;
}

TEST_F(World, AFrozenNodeIsAnErrorAndNoHang) {
  const auto job = new_job_id();
  auto config = on(*daemons_, 2);
  config.environment = {{"SUMAC_RECOVERY", "0"}, {"SUMAC_COLL_NODE_LOST_AFTER", "2s"}};
  int ready[2], over[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(over), 0);
  std::thread freezer([&] {
    char two[2];
    for (int got = 0; got < 2;) got += static_cast<int>(::read(ready[0], two, 2));
    daemons_->signal("an-leaf1", SIGSTOP);
  });
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    RANK_EQUAL(::write(ready[1], "x", 1), 1);
    if (rank.rank == 1) {
      // This rank learns of the failure by its own clock, so do not wait for that here. It only stays alive until rank
      // 0 is done, because otherwise rank 0 would hear of its death.
      char done;
      RANK_EQUAL(::read(over[0], &done, 1), 1);
      return;
    }
    int status = 0;
    while (status == 0) status = sharp_coll_do_barrier(comm);
    RANK_EQUAL(::write(over[1], "x", 1), 1);
    RANK_EQUAL(status, SHARP_COLL_ERROR);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  freezer.join();
  daemons_->signal("an-leaf1", SIGCONT);
  for (const int end : {ready[0], ready[1], over[0], over[1]}) ::close(end);
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
  EXPECT_THAT(ended[0].err, HasSubstr("node an-leaf1 (127.0.0.1) stopped answering; rank 0 noticed after 2."));
}

TEST_F(World, ATransportThatTheNodeDoesNotOfferIsNamed) {
  const auto job = new_job_id();
  auto config = on(*daemons_, 2);
  config.environment = {{"SUMAC_TRANSPORT", "ucx"}};
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto spec = rank.init_spec(job);
    sharp_coll_context* context = nullptr;
    RANK_EQUAL(sharp_coll_init(&spec, &context), SHARP_COLL_ECONN_TREE);
  });
  EXPECT_EQ(complaint(ended), "");
  EXPECT_THAT(ended[0].err, HasSubstr("SUMAC_TRANSPORT=ucx"));
}

struct Failing {
  const char* name;
  Shape shape;
  int status;
  const char* words;
};

TEST(WorldAmiss, InitFailsAlikeOnAllRanksWithOneLine) {
  const Failing rows[] = {
      {"no sharpd",
       {.leaves = {"leaf1"}, .hosts_per_leaf = 2, .manager = false, .nodes = false, .without_sharpd = {"h1", "h2"}},
       SHARP_COLL_ESESS_INIT,
       "failed to open sharp session with SHARPD daemon"},
      {"one host without sharpd",
       {.leaves = {"leaf1"}, .hosts_per_leaf = 2, .without_sharpd = {"h2"}},
       SHARP_COLL_ESESS_INIT,
       "rank 1 (host "},
      {"no manager",
       {.leaves = {"leaf1"}, .hosts_per_leaf = 2, .manager = false, .nodes = false},
       SHARP_COLL_EJOB_CREATE,
       "No Aggregation Manager (sharp_am) detected(-52)"},
      {"no node", {.leaves = {"leaf1"}, .hosts_per_leaf = 2, .nodes = false}, SHARP_COLL_EJOB_CREATE, "Job error(-35)"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Daemons daemons(row.shape);
    const auto job = new_job_id();
    auto config = on(daemons, 2);
    config.environment = {{"SHARP_COLL_JOB_CREATE_TIMEOUT", "20000"}};
    const auto ended = run_ranks(config, [&](Rank& rank) {
      auto spec = rank.init_spec(job);
      sharp_coll_context* context = nullptr;
      RANK_EQUAL(sharp_coll_init(&spec, &context), row.status);
      spec.config.flags = SHARP_COLL_HIDE_ERRORS;
      RANK_EQUAL(sharp_coll_init(&spec, &context), row.status);
    });
    EXPECT_EQ(complaint(ended), "") << daemons.log();
    EXPECT_THAT(ended[0].err, HasSubstr(row.words));
    EXPECT_EQ(std::ranges::count(ended[0].err, '\n'), 1)
        << "one line, and none when errors are to be hidden: " << ended[0].err;
    EXPECT_EQ(ended[1].err, "");
  }
}

TEST(WorldAmiss, BadSettingsAreNamed) {
  const Failing rows[] = {{"SUMAC_NET_DEVICE=nosuch0",
                           {},
                           SHARP_COLL_EDEV,
                           "SUMAC_NET_DEVICE=nosuch0: this host has no device nosuch0; there are "},
                          {"SHARP_COLL_IB_DEV_LIST=lo,lo:1", {}, SHARP_COLL_EDEV, "lo:1 is named twice, first as lo"},
                          {"SHARP_COLL_PIPELINE_DEPTH=none", {}, SHARP_COLL_EINVAL, "SHARP_COLL_PIPELINE_DEPTH"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    RanksConfig config;
    const std::string setting = row.name;
    const auto sign = setting.find('=');
    config.environment = {{setting.substr(0, sign), setting.substr(sign + 1)}};
    const auto job = new_job_id();
    const auto ended = run_ranks(config, [&](Rank& rank) {
      auto spec = rank.init_spec(job);
      sharp_coll_context* context = nullptr;
      RANK_EQUAL(sharp_coll_init(&spec, &context), row.status);
      spec.job_id = 0;
      RANK_EQUAL(sharp_coll_init(&spec, &context), SHARP_COLL_EINVAL);
      spec.job_id = job;
      spec.oob_colls.gather = nullptr;
      RANK_EQUAL(sharp_coll_init(&spec, &context), SHARP_COLL_EINVAL);
    });
    EXPECT_EQ(complaint(ended), "");
    EXPECT_THAT(ended[0].err, HasSubstr(row.words));
  }
}

}  // namespace
}  // namespace sumac::client::test
