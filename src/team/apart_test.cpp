// A thread that must not call MPI moves a team: operations by shared memory and by the tree to their end, any other one up
// to its first step by MPI.
#include <gtest/gtest.h>

#include "shm/test_exercise.hpp"
#include "team/team.hpp"
#include "team/test_world.hpp"

namespace sumac::team {
namespace {

using coll::Kind;
using shm::Exercise;

struct Posted {
  Kind kind;
  std::size_t bytes;
};

/// Operations that were posted one behind the other, and the order of their ends.
class Posts {
 public:
  Posts(const std::vector<Posted>& wanted, int size, int rank) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
      exercises_.push_back(std::make_unique<Exercise>(
          shm::Ask{.kind = wanted[i].kind, .bytes = wanted[i].bytes, .root = 1 % size, .seed = 70 + i}, size, rank));
    ends_.reserve(wanted.size());
  }

  int post(sumac_team_t* team) {
    for (std::size_t i = 0; i < exercises_.size(); ++i) {
      notes_.push_back(std::make_unique<Note>(Note{this, static_cast<int>(i)}));
      sumac_op_t* op = nullptr;
      const int rc = sumac_team_post(
          team, c_call(*exercises_[i]),
          [](void* user, int status) {
            const auto& note = *static_cast<Note*>(user);
            note.posts->ends_.push_back({note.index, status});
            note.posts->ended_.fetch_add(1, std::memory_order_release);
          },
          notes_.back().get(), &op);
      if (rc != SUMAC_TEAM_OK) return rc;
    }
    return SUMAC_TEAM_OK;
  }

  /// Returns "" if the team says beforehand that the first `count` operations need no MPI, and that the next one does.
  std::string fault_of_foresight(const sumac_team_t* team, std::size_t count) const {
    for (std::size_t i = 0; i < std::min(count + 1, exercises_.size()); ++i)
      if (sumac_team_goes_apart(team, c_call(*exercises_[i])) != (i < count))
        return fmt::format("operation {} is said to {}", i, i < count ? "need MPI" : "need no MPI");
    return "";
  }

  std::size_t ended() const { return ended_.load(std::memory_order_acquire); }
  /// Returns "" if the first `count` operations, and no others, have ended in their order with this status.
  std::string fault(std::size_t count, int status = SUMAC_TEAM_OK) const {
    if (ends_.size() != count) return fmt::format("{} operations ended, not {}", ends_.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      if (ends_[i].index != static_cast<int>(i))
        return fmt::format("operation {} ended as number {}", ends_[i].index, i);
      if (ends_[i].status != status) return fmt::format("operation {} ended with {}", i, ends_[i].status);
      if (status != SUMAC_TEAM_OK) continue;
      if (auto wrong = exercises_[i]->check(); !wrong.empty()) return fmt::format("operation {}: {}", i, wrong);
    }
    return "";
  }

 private:
  struct Note {
    Posts* posts;
    int index;
  };
  struct End {
    int index, status;
  };
  std::vector<std::unique_ptr<Exercise>> exercises_;
  std::vector<std::unique_ptr<Note>> notes_;
  std::vector<End> ends_;  ///< The holder of the team's turn adds to it.
  std::atomic<std::size_t> ended_{0};
};

/// More rounds than any operation of these tests needs.
constexpr int kRounds = 500;

TEST(Apart, MovesAllUpToTheFirstStepByMpi) {
  constexpr std::size_t kAll = SIZE_MAX, kNone = 0;
  constexpr Posted kSum{Kind::allreduce, 8}, kLargeSum{Kind::allreduce, 9000}, kBarrier{Kind::barrier, 0};
  constexpr Posted kBcast{Kind::bcast, 800}, kReduce{Kind::reduce, 64}, kGather{Kind::allgather, 16};
  constexpr Posted kPairs{Kind::alltoall, 32}, kUnevenPairs{Kind::alltoallv, 3000};
  const struct {
    const char* name;
    int hosts, cores;
    std::size_t tree_max;  ///< The largest operation that the tree takes; kNone: there is no tree.
    std::vector<Posted> posted;
    std::size_t ends;        ///< So many operations end without MPI.
    bool leaders_await_mpi;  ///< Afterwards.
    bool is_network = false;
  } rows[] = {
      {"shared memory alone goes on to its end", 1, 2, kNone, {kSum, kBarrier, kPairs, kBcast}, 4, false},
      {"the tree of hosts with one rank", 3, 1, kAll, {kSum, kBarrier, kBcast, kReduce}, 4, false},
      {"the tree and the parts inside hosts", 2, 2, kAll, {kSum, kBarrier, kBcast, kGather}, 4, false},
      {"chunks in the tree", 2, 2, kAll, {kLargeSum, kLargeSum}, 2, false},
      {"without a tree the leaders' first operation stops all", 2, 2, kNone, {kSum, kBarrier}, 0, true},
      {"an operation of the tree waits behind one of the leaders", 2, 2, 64, {kSum, kLargeSum, kSum}, 1, true},
      {"blocks of all pairs go by the leaders", 2, 2, 16, {kSum, kPairs}, 1, true},
      {"blocks that go from rank to rank are not even started", 2, 2, kAll, {kSum, kUnevenPairs}, 1, true},
      {"a network in place of the MPI goes on to its end", 2, 2, kNone, {kSum, kBarrier, kLargeSum}, 3, false, true},
      {"a network of hosts with one rank", 3, 1, kNone, {kSum, kBarrier, kBcast, kReduce}, 4, false, true},
  };
  const auto options = options_with({{"SUMAC_TEAM_CHUNK", "1k"}});
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto places = places_of(row.hosts, 1, row.cores);
    EXPECT_EQ("", as_threads(row.hosts * row.cores, 61, [&](World& world) -> std::string {
                world.across.has_tree = row.tree_max > 0;
                world.across.is_network = row.is_network;
                world.across.tree_max = row.is_network ? kAll : row.tree_max;
                auto spec = world.spec(places, as_c(options));
                spec.threads = 1;
                sumac_team_t* team = world.create(spec);
                if (team == nullptr) return world.why;
                Posts posts(row.posted, world.size, world.rank);
                if (auto wrong = posts.fault_of_foresight(team, row.ends); !wrong.empty()) return wrong;
                if (posts.post(team) != SUMAC_TEAM_OK) return "post";
                while (posts.ended() < row.ends) {
                  sumac_team_progress_apart(team);
                  ::sched_yield();
                }
                world.meet();
                for (int i = 0; i < kRounds; ++i) {
                  sumac_team_progress_apart(team);
                  ::sched_yield();
                }
                auto fault = posts.fault(row.ends);
                if (world.across.calls != 0) fault += fmt::format("; {} calls of the MPI", world.across.calls.load());
                int leader = -1;
                sumac_team_leaders(team, &leader);
                const bool awaits_mpi = (sumac_team_awaits(team) & SUMAC_AWAITS_MPI) != 0;
                if (leader >= 0 && awaits_mpi != row.leaders_await_mpi)
                  fault += fmt::format("; it awaits {}", sumac_team_awaits(team));
                world.meet();
                // MPI's own thread brings the rest to its end.
                while (posts.ended() < row.posted.size()) {
                  sumac_team_progress(team);
                  ::sched_yield();
                }
                if (fault.empty()) fault = posts.fault(row.posted.size());
                if (sumac_team_awaits(team) != 0) fault += "; it awaits something with nothing posted";
                world.meet();
                sumac_team_destroy(team);
                return fault;
              }));
  }
}

TEST(Apart, KnowsWhatItAwaits) {
  const auto options = options_with({});
  EXPECT_EQ("", as_threads(2, 62, [&](World& world) -> std::string {
              world.across.has_tree = true;
              const auto places = places_of(2, 1, 1);
              auto spec = world.spec(places, as_c(options));
              spec.threads = 1;
              sumac_team_t* team = world.create(spec);
              if (team == nullptr) return world.why;
              Posts posts({{Kind::allreduce, 8}}, 2, world.rank);
              std::string fault;
              // Rank 0 posts first: it can only wait for the other host.
              if (world.rank == 1) world.meet();
              if (posts.post(team) != SUMAC_TEAM_OK) return "post";
              if (sumac_team_awaits(team) != SUMAC_AWAITS_LOOK) fault = "a new operation is not to be looked at";
              if (world.rank == 0) {
                for (int i = 0; i < kRounds; ++i) sumac_team_progress_apart(team);
                if (sumac_team_awaits(team) != SUMAC_AWAITS_TREE) fault += "; it does not await the tree";
                world.meet();
              }
              while (posts.ended() == 0) {
                sumac_team_progress_apart(team);
                ::sched_yield();
              }
              world.meet();
              sumac_team_destroy(team);
              return fault + posts.fault(1);
            }));
}

TEST(Apart, AFailureOfTheTreeEndsAllThatIsPosted) {
  const auto options = options_with({});
  EXPECT_EQ("", as_threads(4, 63, [&](World& world) -> std::string {
              world.across.has_tree = true;
              world.across.fail_at = 1;
              const auto places = places_of(2, 1, 2);
              auto spec = world.spec(places, as_c(options));
              spec.threads = 1;
              sumac_team_t* team = world.create(spec);
              if (team == nullptr) return world.why;
              Posts first({{Kind::allreduce, 8}}, 4, world.rank);
              Posts others({{Kind::allreduce, 16}, {Kind::barrier, 0}}, 4, world.rank);
              if (first.post(team) != SUMAC_TEAM_OK) return "post";
              while (first.ended() < 1) {
                sumac_team_progress_apart(team);
                ::sched_yield();
              }
              auto fault = first.fault(1);
              world.meet();  // Otherwise the failure of a leader could refuse the posts of another rank.
              if (others.post(team) != SUMAC_TEAM_OK) return "post of the others";
              world.meet();
              while (others.ended() < 2) {
                sumac_team_progress_apart(team);
                ::sched_yield();
              }
              fault += others.fault(2, SUMAC_TEAM_BROKEN);
              const std::string_view words = sumac_team_error(team);
              if (words.find("the network is gone") == words.npos) fault += fmt::format("; error '{}'", words);
              world.meet();
              sumac_team_destroy(team);
              return fault;
            }));
}

/// One rank's own thread posts, runs blocking operations and is sometimes away, while a helper moves its team.
std::string work_beside_a_helper(sumac_team_t* team, World& world) {
  Random shared(64);
  for (int i = 0; i < 120; ++i) {
    const auto kind = static_cast<Kind>(shared.below(coll::kKinds));
    const std::uint64_t most =
        coll::collective(kind).is_pairwise ? 8 : 200;  // The next module does larger pairwise ones.
    const std::vector<Posted> some = {{kind, 8 * shared.below(most)}, {Kind::allreduce, 8 * (1 + shared.below(20))}};
    Posts posts(some, world.size, world.rank);
    const bool blocks = shared.below(3) == 0;
    Exercise last({.kind = Kind::allreduce, .bytes = 8 * (1 + shared.below(30)), .seed = shared.next()}, world.size,
                  world.rank);
    if (posts.post(team) != SUMAC_TEAM_OK) return fmt::format("{}: post", i);
    if (blocks && sumac_team_run(team, c_call(last)) != SUMAC_TEAM_OK) return fmt::format("{}: run", i);
    while (posts.ended() < some.size()) {
      // Only this thread makes the steps by MPI; the others are left to the helper.
      if ((sumac_team_awaits(team) & SUMAC_AWAITS_MPI) != 0) sumac_team_progress(team);
      ::sched_yield();
    }
    if (auto fault = posts.fault(some.size()); !fault.empty()) return fmt::format("{}: {}", i, fault);
    if (auto fault = blocks ? last.check() : ""; !fault.empty()) return fmt::format("{}: blocking: {}", i, fault);
  }
  return "";
}

TEST(Apart, AHelperNeverCallsMpi) {
  const auto options = options_with({{"SUMAC_TEAM_CHUNK", "1k"}});
  EXPECT_EQ("", as_threads(4, 65, [&](World& world) -> std::string {
              world.across.has_tree = true;
              world.across.tree_max = 128;
              const auto places = places_of(2, 1, 2);
              auto spec = world.spec(places, as_c(options));
              spec.threads = 1;
              spec.progress = nullptr;  // The world counts without a lock.
              sumac_team_t* team = world.create(spec);
              if (team == nullptr) return world.why;
              std::atomic<bool> is_over{false};
              std::thread helper([&] {
                while (!is_over.load(std::memory_order_acquire)) {
                  sumac_team_progress_apart(team);
                  ::sched_yield();
                }
              });
              auto fault = work_beside_a_helper(team, world);
              is_over.store(true, std::memory_order_release);
              helper.join();
              if (world.across.by_others != 0) fault += fmt::format("; {} calls", world.across.by_others.load());
              world.meet();
              sumac_team_destroy(team);
              return fault;
            }));
}

}  // namespace
}  // namespace sumac::team
