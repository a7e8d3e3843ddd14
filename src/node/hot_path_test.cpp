// Limits the cost of a message in a node in steady state: no allocation, no lock, no log line even at the most verbose
// level, and no system calls but the transport's: one to read and one to write the message.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <new>
#include <shared_mutex>

#include "node/data_path.hpp"
#include "node/test_member.hpp"
#include "node/test_system_calls.hpp"

namespace {

// Counts only while the node works, because the members of this test share its one thread.
bool counting = false;
std::size_t allocations = 0, locks = 0, lines = 0;

void* counted(std::size_t bytes, std::size_t alignment) {
  if (counting) ++allocations;
  void* const memory = alignment <= alignof(std::max_align_t)
                           ? std::malloc(bytes)
                           : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

#ifndef __clang_analyzer__  // The analyzer would take each `new` for a leaked malloc.
// Inlining one of a pair alone would make gcc take them for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return counted(bytes, 1); }
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes, 1); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

// Every lock of the C and C++ libraries ends here. Sanitizers replace these functions by their own.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kCountsLocks = false;
#else
constexpr bool kCountsLocks = true;
namespace {
template <class Object>
int locked(const char* name, Object* object) {
  if (counting) ++locks;
  return reinterpret_cast<int (*)(Object*)>(::dlsym(RTLD_NEXT, name))(object);
}
}  // namespace
extern "C" {
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept { return locked("pthread_mutex_lock", mutex); }
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept { return locked("pthread_mutex_trylock", mutex); }
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept { return locked("pthread_rwlock_rdlock", lock); }
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept { return locked("pthread_rwlock_wrlock", lock); }
}
#endif

namespace sumac::node {
namespace {

void count_line(std::string_view) {
  if (counting) ++lines;
}

struct Solo {
  Solo() : log(Logger::Form::daemon, LogLevel::trace, count_line), pool(64u << 20) {
    net::TransportConfig net;
    net.listen = "127.0.0.1:0";
    net.device = "lo";
    data.emplace(DataPathConfig{}, net::make_transport(net, pool).value(), pool, log);
    data->identify(NodeId{1}, TreeId{1}, true, monotonic_now());
    job.job_id = JobId{7};
    job.stream_window = 8;
    job.chunk = 16384;
    job.tree = {{NodeId{1}, NodeId{1}}};
    job.address[NodeId{1}] = data->transport().address();
    job.leaf_of_rank.assign(8, NodeId{1});
    EXPECT_TRUE(data->grant(
        {.job_id = JobId{7},
         .quota = {.osts = 16, .payload_per_ost = 128, .max_groups = 1, .stream_window = 8, .chunk_bytes = 16384}}));
  }
  void progress() {
    ++passes;
    counting = true;
    test::SystemCalls::count(true);
    data->progress(monotonic_now());
    test::SystemCalls::count(false);
    counting = false;
  }

  Logger log;
  BufferPool pool;
  std::optional<DataPath> data;
  TestJob job;
  std::uint64_t passes = 0;
};

struct Cost {
  std::size_t allocations = 0, locks = 0, lines = 0;
  std::uint64_t messages = 0, calls = 0;  ///< The member `calls` leaves out the one look at epoll of each pass.
  std::uint64_t other_calls = 0;          ///< Calls of the process beyond those that the transport counts.
};

Cost cost_of(Solo& node, const std::function<void()>& work) {
  const auto before = node.data->transport().stats();
  const auto passes = node.passes;
  allocations = locks = lines = 0;
  test::SystemCalls::counted = 0;
  const bool counts_calls = test::SystemCalls::start();
  work();
  const auto after = node.data->transport().stats();
  return {allocations,
          locks,
          lines,
          after.messages_in - before.messages_in + after.messages_out - before.messages_out,
          after.system_calls - before.system_calls - (node.passes - passes),
          counts_calls ? test::SystemCalls::counted - (after.system_calls - before.system_calls) : 0};
}

/// Returns the cost of `work` once nothing grows any more. Several things grow at first: the pool, to as many messages
/// as the members' windows allow at once; the queue to a child that reads slowly, and the copy buffer behind it; and
/// the transport's lists of waiting connections. The kernel's sockets decide when and how far they grow. But growth
/// must end: a cost per message would appear in every round.
Cost steady_cost_of(Solo& node, const std::function<void()>& work) {
  constexpr int kAtMost = 10;
  Cost cost;
  for (int i = 0; i < kAtMost; ++i) {
    cost = cost_of(node, work);
    if (cost.allocations == 0) break;
  }
  return cost;
}

TEST(HotPath, what_is_counted_is_counted) {
  std::mutex mutex;
  std::shared_mutex shared;
  const Logger log(Logger::Form::daemon, LogLevel::trace, count_line);
  allocations = locks = lines = 0;
  counting = true;
  ::operator delete(::operator new(1));
  { const std::lock_guard lock(mutex); }
  { const std::unique_lock lock(mutex, std::try_to_lock); }
  { const std::lock_guard lock(shared); }
  { const std::shared_lock lock(shared); }
  counting = false;
  EXPECT_EQ(allocations, 1u);
  EXPECT_EQ(locks, kCountsLocks ? 4u : 0u);
  counting = true;
  SUMAC_TRACE(log, "one");
  counting = false;
  EXPECT_EQ(lines, 1u);
  if (!test::SystemCalls::start()) return;
  test::SystemCalls::counted = 0;
  test::SystemCalls::count(true);
  const pid_t parent = ::getppid();
  const long result = ::syscall(SYS_close, -1);
  test::SystemCalls::count(false);
  EXPECT_EQ(test::SystemCalls::counted, 2u);
  EXPECT_EQ(parent, ::getppid()) << "a call does what it is to do";
  EXPECT_TRUE(result == -1 && errno == EBADF);
}

TEST(HotPath, small_messages_cost_no_allocation_and_one_call_each_way) {
  Solo node;
  TestGroup group(node.job, [&] { node.progress(); });
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  // These rounds let queues and free lists grow to their final size.
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(group.allreduce(1, i));
  const Cost cost = cost_of(node, [&] {
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(group.allreduce(1, i));
  });
  EXPECT_EQ(cost.allocations, 0u);
  EXPECT_EQ(cost.locks, 0u);
  EXPECT_EQ(cost.lines, 0u);
  EXPECT_EQ(cost.other_calls, 0u);
  EXPECT_EQ(cost.messages, 300u * 16);
  EXPECT_LE(cost.calls, cost.messages);
}

TEST(HotPath, many_fragments_share_system_calls) {
  Solo node;
  TestGroup group(node.job, [&] { node.progress(); });
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  constexpr std::size_t kCount = 16 * 64;  // An operation of this size has 64 fragments of 128 bytes.
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(group.allreduce(kCount, i));
  // The kernel decides how many frames one read finds. We only demand that a frame never costs more than one call of
  // its own.
  const Cost cost = steady_cost_of(node, [&] {
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(group.allreduce(kCount, i));
  });
  EXPECT_EQ(cost.allocations, 0u);
  EXPECT_EQ(cost.locks, 0u);
  EXPECT_EQ(cost.lines, 0u);
  EXPECT_EQ(cost.other_calls, 0u);
  EXPECT_EQ(cost.messages, 50u * 64 * 16);
  EXPECT_LE(cost.calls, cost.messages);
}

TEST(HotPath, streaming_allocates_nothing_once_its_buffers_are_there) {
  Solo node;
  TestGroup group(node.job, [&] { node.progress(); });
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  // Reserves all the buffers that the windows of 8 children can need, so that no later interleaving needs one more.
  node.pool.reserve(16384 + 64, 8 * 2 * 8 + 8);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(group.allreduce(50'000, i, true));
  const Cost cost = steady_cost_of(node, [&] {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(group.allreduce(50'000, i, true));
  });
  EXPECT_EQ(cost.messages, 20u * 25 * 16);
  EXPECT_EQ(cost.allocations, 0u);
  EXPECT_EQ(cost.locks, 0u);
  EXPECT_EQ(cost.lines, 0u);
  EXPECT_EQ(cost.other_calls, 0u);
}

}  // namespace
}  // namespace sumac::node
