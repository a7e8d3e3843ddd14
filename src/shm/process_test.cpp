// Ranks as processes: every backing, no file left behind, a small /dev/shm, and the death of a rank.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>

#include <filesystem>

#include "shm/test_exercise.hpp"
#include "shm/test_ranks.hpp"

namespace sumac::shm {
namespace {

std::size_t files_in_dev_shm() {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    files += entry.path().filename().string().starts_with(fmt::format("sumac-{}-", ::getuid()));
  return files;
}

std::string every_collective(Segment& segment, int rank, int n, int times) {
  Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(segment.shape(), n));
  Random shared(11);
  for (int i = 0; i < times * coll::kKinds; ++i) {
    Exercise exercise({.kind = static_cast<coll::Kind>(i % coll::kKinds),
                       .bytes = shared.below(5000) / 8 * 8,
                       .root = i % n,
                       .reduction = static_cast<std::size_t>(i) % std::size(kReductions),
                       .seed = shared.next()},
                      n, rank);
    if (run(group, exercise.operation()) != Errc::ok) return group.error();
    if (std::string fault = exercise.check(); !fault.empty()) return fault;
  }
  return {};
}

TEST(Processes, WorkOverAMemfd) {
  for (const int n : {1, 2, 5}) {
    const auto texts = run_processes(small_shape(n), Backing::memfd, [&](Segment& segment, int rank) {
      return every_collective(segment, rank, n, 20);
    });
    for (const auto& text : texts) EXPECT_EQ("", text);
  }
}

TEST(Processes, WorkOverAFileThatHasNoNameAnyMore) {
  const auto texts = run_processes(small_shape(3), Backing::devshm, [&](Segment& segment, int rank) -> std::string {
    if (rank == 0 && std::filesystem::exists(segment.handle().path.data())) return "the name is still there";
    return every_collective(segment, rank, 3, 20);
  });
  for (const auto& text : texts) EXPECT_EQ("", text);
}

TEST(Processes, ANameThatAKilledCreatorLeftIsClearedAwayByTheNext) {
  int ends[2];
  ASSERT_EQ(0, ::pipe(ends));
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto segment = Segment::create(small_shape(2), Backing::devshm);
    if (segment) write_all(ends[1], &segment->handle(), sizeof(Handle));
    ::kill(::getpid(), SIGKILL);
  }
  Handle left;
  ASSERT_TRUE(read_all(ends[0], &left, sizeof left));
  ::waitpid(pid, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  const auto next = Segment::create(small_shape(2), Backing::devshm);
  ASSERT_TRUE(next) << next.error().context;
  EXPECT_FALSE(std::filesystem::exists(left.path.data()));
  EXPECT_TRUE(std::filesystem::exists(next->handle().path.data()));
}

/// Runs `function` in a child with a /dev/shm of its own. Returns the child's text; "skip" where this user may not
/// mount.
std::string with_small_dev_shm(const char* size, const std::function<std::string()>& function) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t pid = ::fork();
  if (pid == 0) {
    std::string text = "skip";
    if (::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        ::mount("tmpfs", "/dev/shm", "tmpfs", 0, size) == 0)
      text = function();
    ::_exit(write_all(ends[1], text.data(), text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t got = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status)) : text;
}

TEST(Processes, ASmallDevShmGetsSmallerLargeAreas) {
  Shape shape = small_shape(4);
  shape.large_bytes = 512 * 1024;
  const std::string said = with_small_dev_shm("size=1M", [&]() -> std::string {
    const auto texts = run_processes(shape, Backing::devshm, [&](Segment& segment, int rank) -> std::string {
      if (segment.shape().large_bytes >= shape.large_bytes) return "it fitted?";
      return every_collective(segment, rank, 4, 5);
    });
    for (const auto& text : texts)
      if (!text.empty()) return text;
    return files_in_dev_shm() == 0 ? "good" : "something was left";
  });
  if (said == "skip") GTEST_SKIP() << "this user may not mount a tmpfs";
  EXPECT_EQ("good", said);
}

TEST(Processes, AFullDevShmIsAnErrorWithARemedy) {
  const std::string said = with_small_dev_shm("size=8k", [&]() -> std::string {
    const auto segment = Segment::create(small_shape(4), Backing::devshm);
    if (segment) return "it fitted?";
    return segment.error().code == Errc::exhausted && files_in_dev_shm() == 0 ? segment.error().context : "wrong";
  });
  if (said == "skip") GTEST_SKIP() << "this user may not mount a tmpfs";
  EXPECT_NE(std::string::npos, said.find("docker --shm-size")) << said;
}

TEST(Segment, AHandleOfSomethingElseIsRefused) {
  const Shape shape = small_shape(2);
  auto segment = Segment::create(shape, Backing::memfd);
  ASSERT_TRUE(segment) << segment.error().context;
  EXPECT_TRUE(Segment::attach(segment->handle(), shape, 1));
  Handle stale = segment->handle();
  stale.token += 2;
  EXPECT_FALSE(Segment::attach(stale, shape, 1));
  EXPECT_FALSE(Segment::attach(segment->handle(), small_shape(3), 1));
  Handle other = segment->handle();
  other.fd = 9999;
  EXPECT_FALSE(Segment::attach(other, shape, 1));
}

class DeathIn : public testing::TestWithParam<int> {};

TEST_P(DeathIn, InTheMiddleOfACollectiveIsNamedAtAllOthers) {
  const auto kind = static_cast<coll::Kind>(GetParam());
  const int n = 4, victim = 2;
  const auto texts = run_processes(small_shape(n), Backing::memfd, [&](Segment& segment, int rank) -> std::string {
    Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(segment.shape(), n));
    for (int i = 0; i < 1000000; ++i) {
      Exercise exercise({.kind = kind, .bytes = 2504, .root = i % n, .seed = static_cast<std::uint64_t>(i)}, n, rank);
      if (rank == victim && i == 20) {  // It does some steps and dies.
        prepare(group, exercise.operation(), exercise.task);
        for (int step = 0; step < 3; ++step) advance(exercise.task);
        ::kill(::getpid(), SIGKILL);
      }
      const Errc code = run(group, exercise.operation());
      if (code == Errc::ok) {
        if (std::string fault = exercise.check(); !fault.empty()) return fault;
        continue;
      }
      // From now on every call fails at once and for the same reason.
      const Errc again = run(group, exercise.operation());
      return code == Errc::lost && again == code ? group.error() : "another code";
    }
    return "it never failed";
  });
  for (int rank = 0; rank < n; ++rank) {
    const std::string& text = texts[static_cast<std::size_t>(rank)];
    if (rank == victim) {
      EXPECT_EQ("signal 9", text);
    } else {
      EXPECT_NE(std::string::npos, text.find("rank 102 ")) << text;
      EXPECT_NE(std::string::npos, text.find("died")) << text;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(EachCollective, DeathIn, testing::Range(0, coll::kKinds));

TEST(Death, IsNamedAlsoInGroupsThatTheDeadWasNotIn) {
  // There are two sockets of two ranks. Rank 1 dies; rank 0, its leader, gives up; rank 3 waits for rank 2, which waits
  // for rank 0.
  const auto texts =
      run_processes(small_shape(4, {2, 2, 2}), Backing::memfd, [](Segment& segment, int rank) -> std::string {
        const int socket = rank / 2;
        const Tuning tuning = tuning_for(segment.shape(), 2);
        Group in_socket(segment, static_cast<std::size_t>(socket),
                        {{socket * 2, socket * 2}, {socket * 2 + 1, socket * 2 + 1}}, rank % 2, kTestWait, tuning);
        if (rank == 1) ::kill(::getpid(), SIGKILL);
        const coll::Operation barrier;
        if (rank == 2) {
          Group leaders(segment, 2, {{0, 0}, {2, 2}}, 1, kTestWait, tuning);
          return run(leaders, barrier) == Errc::lost ? leaders.error() : "no error";
        }
        return run(in_socket, barrier) == Errc::lost ? in_socket.error() : "no error";
      });
  for (const std::size_t rank : {0, 2, 3}) EXPECT_NE(std::string::npos, texts[rank].find("rank 1 ")) << texts[rank];
}

/// Continues in a new PID namespace, as a rank in a container of its own does.
void enter_pid_namespace() {
  if (::unshare(CLONE_NEWPID) != 0) ::_exit(1);
  const pid_t child = ::fork();
  if (child == 0) return;
  int status = 0;
  ::waitpid(child, &status, 0);
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

bool may_make_pid_namespaces() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::unshare(CLONE_NEWPID) == 0 ? 0 : 1);
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST(Death, OfARankInAnotherPidNamespaceIsNamed) {
  if (!may_make_pid_namespaces()) GTEST_SKIP() << "this user may not make PID namespaces";
  for (const auto backing : {Backing::memfd, Backing::devshm}) {
    const auto texts = run_processes(
        small_shape(3), backing,
        [](Segment& segment, int rank) -> std::string {
          Group group(segment, 0, everybody(3), rank, kTestWait, tuning_for(segment.shape(), 3));
          const coll::Operation barrier;
          for (int i = 0; i < 50; ++i)
            if (run(group, barrier) != Errc::ok) return "early: " + group.error();
          if (group.look_for_dead() != Errc::ok) return "early: " + group.error();
          if (rank == 2) ::_exit(3);  // A SIGKILL from inside does not reach the first process of a namespace.
          return run(group, barrier) == Errc::lost ? group.error() : "no error";
        },
        [](int rank) {
          if (rank != 0) enter_pid_namespace();
        });
    for (const std::size_t rank : {0, 1}) EXPECT_NE(std::string::npos, texts[rank].find("rank 102 ")) << texts[rank];
  }
}

/// In one namespace no process keeps a descriptor, because a program may make thousands of communicators.
TEST(Segment, KeepsNoDescriptorWhereAllAreInOneNamespace) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = descriptors();
  auto segment = Segment::create(small_shape(2), Backing::memfd);
  ASSERT_TRUE(segment) << segment.error().context;
  auto other = Segment::attach(segment->handle(), small_shape(2), 1);
  ASSERT_TRUE(other) << other.error().context;
  segment->all_attached();
  other->all_attached();
  EXPECT_EQ(before, descriptors());
}

TEST(Death, LeavesResultsThatWereThereBeforeToWhoeverHasGivenItsPart) {
  using enum coll::Kind;
  for (const coll::Kind kind : {barrier, allreduce, allgather, alltoall})
    for (const auto when : {WhenBroken::fails, WhenBroken::takes_results}) {
      SCOPED_TRACE(to_string(kind));
      auto segment = Segment::create(small_shape(2), Backing::memfd);
      ASSERT_TRUE(segment) << segment.error().context;
      segment->all_attached();
      for (int m = 0; m < 2; ++m) segment->entry(m).process = this_process();
      Group quick(*segment, 0, everybody(2), 0, kTestWait, tuning_for(segment->shape(), 2));
      Group slow(*segment, 0, everybody(2), 1, kTestWait, tuning_for(segment->shape(), 2));
      Exercise of_quick({.kind = kind, .bytes = 8}, 2, 0), of_slow({.kind = kind, .bytes = 8}, 2, 1);
      Task &quick_task = of_quick.task, &slow_task = of_slow.task;
      prepare(quick, of_quick.operation(), quick_task);
      prepare(slow, of_slow.operation(), slow_task);
      do ASSERT_EQ(Step::waiting, advance(slow_task));
      while (advance(quick_task) == Step::waiting);
      quick.break_because(Errc::timeout, "the next operation failed");
      EXPECT_NE(Errc::ok, slow.look_for_dead());
      if (when == WhenBroken::fails) {
        EXPECT_EQ(Step::failed, advance(slow_task, when));
        continue;
      }
      EXPECT_EQ(Step::done, advance(slow_task, when));
      EXPECT_EQ("", of_slow.check());
    }
}

TEST(Death, OfATeamForAnotherReasonIsToldToAllWhoWait) {
  const auto texts = run_processes(small_shape(2), Backing::memfd, [](Segment& segment, int rank) -> std::string {
    Group group(segment, 0, everybody(2), rank, kTestWait, tuning_for(segment.shape(), 2));
    if (rank == 0) group.break_because(Errc::timeout, "the network is gone");
    const coll::Operation barrier;
    const Errc code = run(group, barrier);
    return fmt::format("{}: {}", to_string(code), group.error());
  });
  EXPECT_NE(std::string::npos, texts[0].find("the network is gone")) << texts[0];
  EXPECT_NE(std::string::npos, texts[1].find("rank 100 ")) << texts[1];
  EXPECT_NE(std::string::npos, texts[1].find("gave up")) << texts[1];
}

}  // namespace
}  // namespace sumac::shm
