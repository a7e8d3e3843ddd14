// When the members of a large operation may begin: who only reads, once the first part is written; and nobody waits for
// what another copies for itself.
#include "shm/turns/turns.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstdlib>

#include "shm/test_exercise.hpp"
#include "shm/test_ranks.hpp"

namespace sumac::shm {
namespace {

TEST(OneWay, WhatWouldFitIntoOneTurnIsCutSoThatReadersBeginEarly) {
  constexpr std::size_t kKiB = 1024;
  const struct {
    const char* name;
    std::size_t total, limit, step, count, turns = 4;
  } rows[] = {
      {"one turn of the limit becomes four", 64 * kKiB, 64 * kKiB, 16 * kKiB, 4},
      {"less has fewer, since none is smaller than the least", 40 * kKiB, 64 * kKiB, 40 * kKiB / 3 / 64 * 64 + 64, 3},
      {"the least is one", kOneWayLeast, 64 * kKiB, kOneWayLeast, 1},
      {"a line more are two", kOneWayLeast + 64, 64 * kKiB, (kOneWayLeast + 64) / 128 * 64 + 64, 2},
      {"from four turns of the limit on, the limit decides", 1024 * kKiB, 64 * kKiB, 64 * kKiB, 16},
      {"as it does where it is below the least", 64 * kKiB, 2 * kKiB, 2 * kKiB, 32},
      {"one turn is enough where ranks share cores", 64 * kKiB, 64 * kKiB, 64 * kKiB, 1, 1},
      {"nothing has no turn", 0, 64 * kKiB, 64, 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const coll::Cut cut = cut_one_way(row.total, row.limit, row.turns, kCacheLine);
    EXPECT_EQ(row.count, cut.count);
    EXPECT_EQ(row.step, cut.step);
  }
}

/// Two members in one process, each driven as far as it gets.
struct Two {
  explicit Two(const Shape& shape)
      : segment(*Segment::create(shape, Backing::memfd)),
        groups{{segment, 0, everybody(2), 0, kTestWait, tuning_for(shape, 2)},
               {segment, 0, everybody(2), 1, kTestWait, tuning_for(shape, 2)}} {}
  Segment segment;
  Group groups[2];
};

/// Returns how many turns the operation took, or 0 if its result is wrong.
std::uint64_t turns_of(const Ask& ask, std::string_view algorithm, bool crowded = false) {
  const Shape shape{.members = 2, .group_sizes = {2}};
  Two two(shape);
  Tuning tuning = default_tuning({.size = 2, .crowded = crowded});
  if (!tuning.force(ask.kind, algorithm)) return 0;
  for (Group& group : two.groups) group.set_tuning(tuning);
  Exercise a(ask, 2, 0), b(ask, 2, 1);
  prepare(two.groups[0], a.operation(), a.task);
  prepare(two.groups[1], b.operation(), b.task);
  for (bool done = false; !done;) {
    const bool first = advance(a.task) == Step::done, second = advance(b.task) == Step::done;
    done = first && second;
  }
  return a.check().empty() && b.check().empty() ? two.groups[0].turning.taken : 0;
}

TEST(OneWay, BroadcastsReductionsAndUnevenBlocksOfOneTurnTakeSeveral) {
  const std::size_t bytes = 64 * 1024;
  EXPECT_EQ(4U, turns_of({.kind = coll::Kind::bcast, .bytes = bytes}, "stream"));
  EXPECT_EQ(4U, turns_of({.kind = coll::Kind::reduce, .bytes = bytes}, "stream"));
  std::uint64_t most = 0;  // Over seeds, since the largest block may be smaller.
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    most = std::max(most, turns_of({.kind = coll::Kind::allgatherv, .bytes = bytes, .seed = seed}, "exchange"));
  EXPECT_EQ(4U, most);
  EXPECT_EQ(1U, turns_of({.kind = coll::Kind::bcast, .bytes = bytes}, "stream", true))
      << "each wait costs a switch of ranks";
  EXPECT_EQ(1U, turns_of({.kind = coll::Kind::allgather, .bytes = bytes}, "exchange")) << "both sides are busy anyway";
}

/// The page of a member's own block, which cannot be written until somebody tries. In a handler of a signal there is
/// nothing but what is global.
struct Guarded {
  char* page = nullptr;
  std::size_t bytes = 0;
  const std::atomic<std::uint64_t>* written = nullptr;
  volatile sig_atomic_t was_told =
      -1;  ///< Whether the block in the slice had been announced when the page was written.
};
Guarded guarded;

void note_and_open(int, siginfo_t*, void*) {
  guarded.was_told = guarded.written->load(std::memory_order_acquire) != 0;
  if (::mprotect(guarded.page, guarded.bytes, PROT_READ | PROT_WRITE) != 0) std::_Exit(3);
}

TEST(Exchange, NobodyWaitsForTheCopyOfAnothersOwnBlock) {
  for (const auto kind : {coll::Kind::allgather, coll::Kind::alltoall}) {
    SCOPED_TRACE(to_string(kind));
    const std::size_t bytes = 1024, page = 64 * 1024;  // No system has larger pages by default.
    Two two(small_shape(2));
    Tuning tuning = tuning_for(two.segment.shape(), 2);
    ASSERT_TRUE(tuning.force(kind, "exchange"));
    two.groups[0].set_tuning(tuning);
    void* const out = ::mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(MAP_FAILED, out);
    guarded.page = static_cast<char*>(out), guarded.bytes = page;
    guarded.was_told = -1;
    guarded.written = &two.groups[0].counter(0, Turns::kWritten);
    ASSERT_EQ(0U, guarded.written->load());
    struct sigaction handle = {}, before = {};
    handle.sa_sigaction = note_and_open;
    handle.sa_flags = SA_SIGINFO;
    ASSERT_EQ(0, ::sigaction(SIGSEGV, &handle, &before));
    const std::vector<std::byte> in(2 * bytes, std::byte{7});
    coll::Operation operation;
    operation.kind = kind, operation.in = in.data(), operation.out = out, operation.bytes = bytes;
    Task task;
    prepare(two.groups[0], operation, task);
    EXPECT_EQ(Step::waiting, advance(task)) << "the other has not come";
    EXPECT_EQ(0, ::sigaction(SIGSEGV, &before, nullptr));
    EXPECT_EQ(1, guarded.was_told);
    EXPECT_EQ(0, std::memcmp(in.data(), out, bytes)) << "its own block is there meanwhile";
    EXPECT_EQ(0, ::munmap(out, page));
  }
}

}  // namespace
}  // namespace sumac::shm
