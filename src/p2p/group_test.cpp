// Groups over the real transport on loopback, with a thread for each member.
#include "p2p/group.hpp"

#include <algorithm>

#include "net/test_harness.hpp"
#include "p2p/test_exercise.hpp"
#include "p2p/test_members.hpp"
#include "reduce/reduce.hpp"

namespace sumac::p2p {
namespace {

using coll::Kind;
using coll::Operation;
using Progress = Group::Progress;
using test::each_member;
using test::run;

template <class T>
coll::Fold fold_of(Op op, Dtype dtype) {
  coll::Fold fold;
  fold.kernel = reduce::kernel_for(op, dtype);
  fold.element_bytes = sizeof(T);
  fold.dtype = dtype;
  fold.op = op;
  return fold;
}

std::int64_t value(std::uint32_t rank, std::size_t i) { return static_cast<std::int64_t>((rank + 1) * (i + 3)); }

TEST(Group, AllreducesOfAllSizesBySeveralAlgorithms) {
  const auto fold = fold_of<std::int64_t>(Op::sum, Dtype::int64);
  for (const std::uint32_t size : {1u, 2u, 3u, 5u}) {
    if (test::kBackend != "tcp" && size != 3) continue;  // Other sizes change nothing below the group.
    each_member(size, [&](Group& group, std::uint32_t rank) {
      for (const auto algorithm : {Algorithm::doubling, Algorithm::ring, Algorithm::exchange, Algorithm::blocks})
        for (const std::size_t count : {1u, 24u, 25u, 2048u, 2049u, 40000u, 300000u})
          for (const bool in_place : {false, true}) {
            std::vector<std::int64_t> in(count), out(count);
            for (std::size_t i = 0; i < count; ++i) (in_place ? out : in)[i] = value(rank, i);
            const Operation operation{.kind = Kind::allreduce,
                                      .in = in_place ? nullptr : in.data(),
                                      .out = out.data(),
                                      .bytes = count * 8,
                                      .fold = &fold};
            void* request = nullptr;
            const auto progress = group.start_by(operation, algorithm, request);
            ASSERT_EQ(test::finish(group, progress, request), Progress::done) << group.error();
            for (std::size_t i = 0; i < count; ++i) {
              std::int64_t sum = 0;
              for (std::uint32_t r = 0; r < size; ++r) sum += value(r, i);
              ASSERT_EQ(out[i], sum) << to_string(algorithm) << " " << count << " [" << i << "]";
            }
          }
    });
  }
}

TEST(Group, SeveralOperationsInFlight) {
  const auto fold = fold_of<std::int64_t>(Op::max, Dtype::int64);
  each_member(4, [&](Group& group, std::uint32_t rank) {
    constexpr int kOperations = 50;
    std::vector<std::vector<std::int64_t>> data(kOperations);
    std::vector<Operation> operations(kOperations);
    std::vector<void*> requests(kOperations);
    std::vector<Progress> progress(kOperations);
    for (int k = 0; k < kOperations; ++k) {
      data[k].assign(k % 3 == 0 ? 100000 : 10, static_cast<std::int64_t>(rank) * (k + 1));
      operations[k] = {.kind = k % 5 == 4 ? Kind::bcast : Kind::allreduce,
                       .root = k % 4,
                       .out = data[k].data(),
                       .bytes = data[k].size() * 8,
                       .fold = &fold};
      progress[k] = group.start(operations[k], requests[k]);
    }
    for (int k = kOperations - 1; k >= 0; --k) {
      ASSERT_EQ(test::finish(group, progress[k], requests[k]), Progress::done) << group.error();
      const std::int64_t expected = (k % 5 == 4 ? k % 4 : 3) * (k + 1);
      EXPECT_EQ(std::ranges::count(data[k], expected), static_cast<std::ptrdiff_t>(data[k].size()));
    }
  });
}

TEST(Group, OperationsThatAreStartedCorkedLeaveInOneSystemCall) {
  if (test::kBackend != "tcp") GTEST_SKIP() << "only tcp counts system calls";
  const auto fold = fold_of<std::int64_t>(Op::sum, Dtype::int64);
  each_member(2, [&](Group& group, std::uint32_t rank) {
    constexpr std::size_t kOperations = 8;
    std::vector<std::int64_t> data(kOperations);
    std::vector<Operation> operations(kOperations);
    std::vector<void*> requests(kOperations);
    group.cork();
    const auto before = group.stats().system_calls;
    for (std::size_t k = 0; k < kOperations; ++k) {
      data[k] = value(rank, k);
      operations[k] = {.kind = Kind::allreduce, .out = &data[k], .bytes = 8, .fold = &fold};
      ASSERT_EQ(group.start_by(operations[k], Algorithm::exchange, requests[k]), Progress::pending);
    }
    EXPECT_EQ(group.stats().system_calls, before);
    group.uncork();
    EXPECT_EQ(group.stats().system_calls, before + 1);
    for (std::size_t k = 0; k < kOperations; ++k) {
      ASSERT_EQ(group.wait(requests[k]), Progress::done) << group.error();
      EXPECT_EQ(data[k], value(0, k) + value(1, k));
    }
  });
}

TEST(Group, ATestBehindASleepDoesNotLookAgain) {
  const auto fold = fold_of<std::int64_t>(Op::sum, Dtype::int64);
  each_member(2, [&](Group& group, std::uint32_t rank) {
    for (int round = 0; round < 20; ++round) {
      std::int64_t data = rank + 1;
      const Operation operation{.kind = Kind::allreduce, .out = &data, .bytes = 8, .fold = &fold};
      void* request = nullptr;
      auto progress = group.start_by(operation, Algorithm::exchange, request);
      while (progress == Progress::pending) {
        const auto slept = group.sleep(1000);
        const auto before = group.stats().system_calls;
        progress = group.test(request);
        if (slept == coll::Across::Sleep::test) {
          EXPECT_EQ(group.stats().system_calls, before);
        }
      }
      ASSERT_EQ(progress, Progress::done) << group.error();
      ASSERT_EQ(data, 3);
    }
  });
}

TEST(Group, EveryKindInEveryForm) {
  for (const std::uint32_t size : {1u, 2u, 4u, 7u})
    each_member(size, [&](Group& group, std::uint32_t rank) {
      for (std::uint64_t seed = 1; seed <= (test::kBackend == "tcp" ? 80 : 20); ++seed) {
        const test::Exercise exercise(seed, size, 60000);
        auto mine = exercise.make(rank);
        exercise.aim(rank, mine);
        void* request = nullptr;
        const auto progress = group.start_by(mine.operation, exercise.algorithm, request);
        ASSERT_EQ(test::finish(group, progress, request), Progress::done) << exercise.name() << ": " << group.error();
        ASSERT_EQ(exercise.check(rank, mine), "");
        ASSERT_EQ(run(group, mine.operation), Progress::done) << "by the algorithm that is chosen: " << group.error();
      }
    });
}

TEST(Group, LargeBodiesComeStraightIntoTheirMemory) {
  each_member(3, [&](Group& group, std::uint32_t) {
    const auto fold = fold_of<std::int64_t>(Op::sum, Dtype::int64);
    std::vector<std::int64_t> data(600000);
    const Operation operation{.kind = Kind::allreduce, .out = data.data(), .bytes = data.size() * 8, .fold = &fold};
    const auto before = group.stats().placed;
    void* request = nullptr;
    const auto progress = group.start_by(operation, Algorithm::ring, request);
    ASSERT_EQ(test::finish(group, progress, request), Progress::done);
    EXPECT_GE(group.stats().placed - before, data.size() * 8 / 3 * 4 / kMessageMax);
  });
}

TEST(Group, BlocksBetweenTwoMembersNeedNoThird) {
  each_member(4, [&](Group& group, std::uint32_t rank) {
    // Ranks 0 and 2 exchange, 3 sends to 0, and 1 does not call at all; twice, so that the numbers of pairs differ.
    for (const int words : {5000, 3}) {
      if (rank == 1) break;
      std::vector<std::int64_t> in(static_cast<std::size_t>(4 * words), rank + 10), out(in.size(), -1);
      std::vector<int> to(4), from(4);
      const std::vector<int> at{0, words, 2 * words, 3 * words};
      if (rank == 0) to[2] = words, from[2] = words, from[3] = words;
      if (rank == 2) to[0] = words, from[0] = words;
      if (rank == 3) to[0] = words;
      Operation operation{.kind = Kind::alltoallv, .in = in.data(), .out = out.data()};
      operation.in_blocks = {to.data(), at.data(), 8};
      operation.out_blocks = {from.data(), at.data(), 8};
      void* request = nullptr;
      const auto progress = group.start_direct(operation, request);
      ASSERT_EQ(test::finish(group, progress, request), Progress::done) << group.error();
      for (std::uint32_t r = 0; r < 4; ++r)
        for (int i = 0; i < words; ++i)
          ASSERT_EQ(out[static_cast<std::size_t>(at[r] + i)], from[r] > 0 ? static_cast<std::int64_t>(r) + 10 : -1)
              << rank << " from " << r;
    }
    ASSERT_EQ(run(group, {.kind = Kind::barrier}), Progress::done) << group.error();
  });
}

/// Takes every message as it comes.
class Receiver final : public MessageEvents {
 public:
  std::vector<std::vector<std::byte>> come;
  std::size_t sent = 0, received = 0;
  std::string failed;

 private:
  bool on_arrived(std::uint32_t, std::uint32_t, std::span<const std::byte> bytes) override {
    come.emplace_back(bytes.begin(), bytes.end());
    ++received;
    return true;
  }
  Answer on_offer(std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t bytes) override {
    return {Answer::What::take, come.emplace_back(bytes).data(), this};
  }
  void on_received(void*) override { ++received; }
  void on_sent(void*) override { ++sent; }
  void on_note(std::uint32_t, std::uint32_t, std::uint32_t) override {}
  void on_left(std::uint32_t) override {}
  void on_failed(const Error& why) override { failed = why.context; }
};

TEST(Group, MessagesComeBesideOperationsAndTheLongOnesStraightIntoTheirMemory) {
  std::vector<Receiver> receivers(2);
  each_member(
      2,
      [&](Group& group, std::uint32_t rank) {
        const auto fold = fold_of<std::int64_t>(Op::sum, Dtype::int64);
        std::vector<std::int64_t> data(300000);
        const std::size_t sizes[] = {0, 100, 5000000, 20000, 16384};
        std::vector<std::vector<std::byte>> out;
        const auto before = group.stats().placed;
        for (const std::size_t size : sizes) {
          out.emplace_back(size, static_cast<std::byte>(rank + 1));
          ASSERT_TRUE(group.messages()->post(1 - rank, 0, out.back(), &receivers[rank]));
        }
        const Operation operation{.kind = Kind::allreduce, .out = data.data(), .bytes = data.size() * 8, .fold = &fold};
        ASSERT_EQ(run(group, operation), Progress::done) << group.error();
        const Receiver& receiver = receivers[rank];
        while ((receiver.sent < std::size(sizes) || receiver.received < std::size(sizes)) && receiver.failed.empty())
          (void)group.await_message(10000);
        ASSERT_EQ(receiver.failed, "");
        for (std::size_t i = 0; i < std::size(sizes); ++i)
          EXPECT_EQ(receiver.come[i], std::vector<std::byte>(sizes[i], static_cast<std::byte>(2 - rank)));
        EXPECT_GE(group.stats().placed - before, 5000000 / kMessageMax);
        // A member may leave only when the other has everything, as at the end of any group.
        ASSERT_EQ(run(group, {.kind = Kind::barrier}), Progress::done) << group.error();
      },
      [&](GroupConfig& config) { config.messages = &receivers[config.rank]; });
}

TEST(Group, TheOthersReadWhyAMemberBreaksIt) {
  std::vector<Receiver> receivers(3);
  each_member(
      3,
      [&](Group& group, std::uint32_t rank) {
        if (rank == 1) return group.break_because({Errc::timeout, "rank 5 has lost its patience"});
        ASSERT_EQ(run(group, {.kind = Kind::barrier}), Progress::failed);
        EXPECT_EQ(group.error(), "rank 5 has lost its patience");
        EXPECT_EQ(receivers[rank].failed, "rank 5 has lost its patience");
      },
      [&](GroupConfig& config) { config.messages = &receivers[config.rank]; });
}

TEST(Group, MembersThatDisagreeAreToldAtEveryMember) {
  each_member(4, [&](Group& group, std::uint32_t rank) {
    std::vector<std::int64_t> data(rank == 2 ? 3 : 4);
    const Operation operation{.kind = Kind::bcast, .root = 1, .out = data.data(), .bytes = data.size() * 8};
    // The root, and those that had their data before rank 2 complained, learn of it in the next operation.
    const auto progress = run(group, operation);
    EXPECT_TRUE(rank != 2 || progress == Progress::failed);
    ASSERT_EQ(run(group, {.kind = Kind::barrier}), Progress::failed);
    EXPECT_NE(group.error().find("rank 2 (host h2)"), std::string_view::npos) << group.error();
    EXPECT_NE(group.error().find("all members must call the same"), std::string_view::npos) << group.error();
    EXPECT_EQ(run(group, {.kind = Kind::barrier}), Progress::failed);
  });
}

TEST(Group, TwoRootsThatBothOnlyWaitAreTold) {
  each_member(2, [&](Group& group, std::uint32_t rank) {
    std::int64_t word = 0;
    // Each takes the other for the root: no message would ever be sent.
    const Operation operation{.kind = Kind::bcast, .root = rank == 0 ? 1 : 0, .out = &word, .bytes = 8};
    ASSERT_EQ(run(group, operation), Progress::failed);
    EXPECT_NE(group.error().find("root 0"), std::string_view::npos) << group.error();
    EXPECT_NE(group.error().find("root 1"), std::string_view::npos) << group.error();
  });
}

TEST(Group, AMemberThatLeavesEarlyEndsTheOthers) {
  each_member(4, [&](Group& group, std::uint32_t rank) {
    // It may fail already for a member that is late: another one has begun the next, which rank 3 does not enter.
    const auto first = run(group, {.kind = Kind::barrier});
    if (rank == 3) {
      EXPECT_EQ(first, Progress::done);
      return;
    }
    ASSERT_EQ(run(group, {.kind = Kind::barrier}), Progress::failed);
    EXPECT_NE(group.error().find("rank 3 (host h3)"), std::string_view::npos) << group.error();
  });
}

TEST(Group, AMemberThatEndsWithAnOperationUnderWayEndsTheOthers) {
  // They outlive the groups: the transport may still read them while a group ends.
  std::vector<std::vector<std::int64_t>> buffers(3, std::vector<std::int64_t>(1000000));
  each_member(3, [&](Group& group, std::uint32_t rank) {
    auto& data = buffers[rank];
    const auto fold = fold_of<std::int64_t>(Op::sum, Dtype::int64);
    const Operation operation{.kind = Kind::allreduce, .out = data.data(), .bytes = data.size() * 8, .fold = &fold};
    void* request = nullptr;
    const auto progress = group.start(operation, request);
    if (rank == 0) {
      ASSERT_EQ(progress, Progress::pending);
      return;
    }
    ASSERT_EQ(test::finish(group, progress, request), Progress::failed);
    EXPECT_NE(group.error().find("rank 0 (host h0)"), std::string_view::npos) << group.error();
  });
}

TEST(Group, AMemberThatEndsAtOnceStillServesTheOthers) {
  for (int i = 0; i < (test::kBackend == "tcp" ? 20 : 5); ++i)
    each_member(3, [&](Group& group, std::uint32_t) {
      ASSERT_EQ(run(group, {.kind = Kind::barrier}), Progress::done) << group.error();
    });
}

TEST(Group, ReproducibleSumsHaveTheBitsOfTheCanonicalTree) {
  constexpr std::uint32_t kSize = 5;
  constexpr std::size_t kCount = 70000;
  const auto in_of = [](std::uint32_t rank) {
    std::vector<double> in(kCount);
    Random random(rank + 1);
    for (double& x : in) x = static_cast<double>(random.next()) * (random.below(2) == 0 ? 1e-20 : 1.0);
    return in;
  };
  std::vector<double> expected(kCount);
  std::vector<std::vector<double>> all;
  for (std::uint32_t r = 0; r < kSize; ++r) all.push_back(in_of(r));
  for (std::size_t i = 0; i < kCount; ++i)
    expected[i] = ((all[0][i] + all[1][i]) + (all[2][i] + all[3][i])) + all[4][i];
  each_member(
      kSize,
      [&](Group& group, std::uint32_t rank) {
        const auto fold = fold_of<double>(Op::sum, Dtype::float64);
        EXPECT_TRUE(group.adds_canonically(Kind::allreduce));
        for (const std::size_t count : {std::size_t{1}, std::size_t{3000}, kCount}) {
          std::vector<double> out(count);
          const Operation operation{
              .kind = Kind::allreduce, .in = all[rank].data(), .out = out.data(), .bytes = count * 8, .fold = &fold};
          ASSERT_EQ(run(group, operation), Progress::done);
          const std::string words = group.explain(Kind::allreduce, count * 8, &fold);
          EXPECT_EQ(std::memcmp(out.data(), expected.data(), count * 8), 0) << words;
          const auto algorithm = group.algorithm(Kind::allreduce, count * 8, &fold);
          EXPECT_NE(algorithm, "ring");
          EXPECT_NE(words.find(fmt::format("bytes: {}, at least", algorithm)), std::string::npos) << words;
        }
      },
      // Rank 0 decides for all.
      [](GroupConfig& config) { config.reproducible = config.rank == 0; });
}

TEST(Group, AMemberWithAnotherKeyIsRefused) {
  test::Meeting meeting(2);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      GroupConfig config = test::config_of(meeting, rank, 2);
      config.connect_within = Millis{300};
      config.exchange = [&, rank](std::span<const std::byte> mine) {
        auto all = meeting.exchange(rank, mine);
        // Rank 1 is a process that read everything but the key.
        if (rank == 1) test::spoil_key(*all);
        return all;
      };
      const auto group = Group::make(std::move(config));
      ASSERT_FALSE(group);
      // Rank 1 connects, and finds that the acceptor's proof is none under its key.
      const char* words = rank == 1 ? "does not know the group's key" : "rank 1 (host h1)";
      EXPECT_NE(group.error().context.find(words), std::string::npos) << group.error().context;
    });
  for (auto& thread : threads) thread.join();
}

TEST(Group, AMemberThatIsNotThereIsNamed) {
  if (test::kBackend != "tcp") GTEST_SKIP() << "an address of UCX is one of a worker that was there";
  GroupConfig config{.rank = 0, .size = 2, .connect_within = Millis{100}};
  config.transport.listen = "127.0.0.1:0";
  config.exchange = [&](std::span<const std::byte> mine) -> Result<std::vector<std::byte>> {
    const auto other = introduce(1, 2, {.address = "tcp:127.0.0.1:1", .host = "elsewhere"});
    std::vector<std::byte> all(mine.begin(), mine.end());
    all.insert(all.end(), other->begin(), other->end());
    return all;
  };
  const auto group = Group::make(std::move(config));
  ASSERT_FALSE(group);
  EXPECT_NE(group.error().context.find("rank 1 (host elsewhere)"), std::string::npos) << group.error().context;
}

TEST(Group, StrangersCostNobodyAnything) {
  std::mutex mutex;
  std::string address;
  each_member(
      2,
      [&](Group& group, std::uint32_t rank) {
        const std::string at = [&] {
          std::lock_guard guard(mutex);
          return address;
        }();
        for (int i = 0; i < 3 && rank == 1; ++i) {
          net::End stranger({.backend = std::string(test::kBackend), .device = "lo"});
          const auto conn = stranger.connect(at);
          const std::string junk(i == 0 ? 64 : 20, 'x');
          EXPECT_EQ(stranger.send(conn, junk), Errc::ok);
          // The group answers while it waits in the barrier, which rank 1 has yet to enter.
          EXPECT_TRUE(net::drive({&stranger}, [&] { return stranger.closed.contains(conn.value); }));
        }
        ASSERT_EQ(run(group, {.kind = Kind::barrier}), Progress::done) << group.error();
      },
      [&](GroupConfig& config) {
        auto exchange = config.exchange;
        config.exchange = [&, exchange](std::span<const std::byte> mine) {
          auto all = exchange(mine);
          std::lock_guard guard(mutex);
          address = test::address_of(*all, 0);
          return all;
        };
      });
}

}  // namespace
}  // namespace sumac::p2p
