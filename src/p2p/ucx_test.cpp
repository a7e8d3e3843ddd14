// Groups over UCX's ways to move a message: its own rendezvous, and the shared memory of a host.
#include "net/test_harness.hpp"
#include "p2p/test_exercise.hpp"
#include "p2p/test_members.hpp"

#ifdef SUMAC_TEST_NO_LEAK_CHECK
// The leak checker of gcc 12 crashes on UCX's thread at exit ("Tracer caught signal 11").
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

namespace sumac::p2p {
namespace {

using net::Variable;

void run_every_kind(std::uint64_t seeds) {
  test::each_member(4, [&](Group& group, std::uint32_t rank) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const test::Exercise exercise(seed, 4, 60000);
      auto mine = exercise.make(rank);
      exercise.aim(rank, mine);
      void* request = nullptr;
      const auto progress = group.start_by(mine.operation, exercise.algorithm, request);
      ASSERT_EQ(test::finish(group, progress, request), Group::Progress::done)
          << exercise.name() << ": " << group.error();
      ASSERT_EQ(exercise.check(rank, mine), "");
    }
    EXPECT_GT(group.stats().placed, 0u);
    // A member that leaves must have what the others need.
    ASSERT_EQ(test::run(group, {.kind = coll::Kind::barrier}), Group::Progress::done) << group.error();
  });
}

TEST(UcxGroup, EveryKindByTheRendezvousOfUcx) {
  const Variable rendezvous("SUMAC_UCX_RNDV_THRESH", "1000");
  run_every_kind(60);
}

/// UCX 1.13 reports no peer's death over shared memory, so its active messages go by tcp and the bytes by either.
TEST(UcxGroup, EveryKindWithSharedMemoryBesideTcp) {
  const Variable ways("SUMAC_UCX_TLS", "tcp,sm,self");
  const Variable rendezvous("SUMAC_UCX_RNDV_THRESH", "20000");
  run_every_kind(60);
}

TEST(UcxGroup, ADeviceThatIsNotThereIsNamed) {
  GroupConfig config{.rank = 0, .size = 1};
  config.transport.backend = "ucx";
  config.transport.device = "nope0";
  const auto group = Group::make(std::move(config));
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().context, "ucx: this host has no device nope0");
}

TEST(UcxGroup, AMemberWithAnotherTransportIsNamedAtAll) {
  test::Meeting meeting(2);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      GroupConfig config = test::config_of(meeting, rank, 2);
      if (rank == 1) config.transport.backend = "tcp";
      const auto group = Group::make(std::move(config));
      ASSERT_FALSE(group);
      EXPECT_EQ(group.error().context,
                "rank 1 (host h1) uses the transport tcp, rank 0 (host h0) ucx: set SUMAC_TRANSPORT alike everywhere");
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace sumac::p2p
