// MPI_THREAD_MULTIPLE: threads of one process use different teams at once, and a helper thread advances all of them.
#include <gtest/gtest.h>

#include "shm/test_exercise.hpp"
#include "team/team.hpp"
#include "team/test_world.hpp"

namespace sumac::team {
namespace {

using shm::Exercise;

/// One thread's work on its team: blocking operations, posted ones that it tests, and posted ones that the helper
/// finishes.
std::string work(sumac_team_t* team, int rank, int size, std::uint64_t seed, bool with_helper) {
  Random shared(seed);
  for (int i = 0; i < 150; ++i) {
    const auto coll = static_cast<coll::Kind>(shared.below(coll::kKinds));
    const Exercise exercise({.kind = coll,
                             .bytes = 8 * shared.below(200),
                             .root = static_cast<int>(shared.below(2)),
                             .seed = shared.next()},
                            size, rank);
    std::atomic<int> told{SUMAC_TEAM_PENDING};
    sumac_op_t* op = nullptr;
    int rc = SUMAC_TEAM_OK;
    switch (shared.below(3)) {
      case 0: rc = sumac_team_run(team, c_call(exercise)); break;
      case 1:
        rc = sumac_team_post(team, c_call(exercise), nullptr, nullptr, &op);
        while (rc == SUMAC_TEAM_OK && (rc = sumac_op_test(op)) == SUMAC_TEAM_PENDING) {
          rc = SUMAC_TEAM_OK;
          ::sched_yield();
        }
        break;
      default:
        rc = sumac_team_post(
            team, c_call(exercise),
            [](void* user, int status) {
              static_cast<std::atomic<int>*>(user)->store(status, std::memory_order_release);
            },
            &told, &op);
        while (rc == SUMAC_TEAM_OK && told.load(std::memory_order_acquire) == SUMAC_TEAM_PENDING) {
          if (!with_helper) sumac_team_progress(team);
          ::sched_yield();
        }
        if (rc == SUMAC_TEAM_OK) rc = told.load();
    }
    if (rc != SUMAC_TEAM_OK) return fmt::format("{}: answer {}: {}", i, rc, sumac_team_error(team));
    if (op != nullptr) sumac_op_free(op);
    if (const auto fault = exercise.check(); !fault.empty()) return fmt::format("{}: {}", i, fault);
  }
  return "";
}

void with_threads(bool with_helper) {
  const auto places = places_of(1, 1, 2);
  const auto options = options_with({});
  EXPECT_EQ("", as_threads(2, 41, [&](World& world) -> std::string {
              constexpr int kTeams = 2;
              sumac_team_t* teams[kTeams];
              auto spec = world.spec(places, as_c(options));
              spec.threads = 1;
              spec.progress = nullptr;  // The world counts without a lock.
              for (auto& team : teams)
                if ((team = world.create(spec)) == nullptr) return world.why;
              std::atomic<bool> is_over{false};
              std::thread helper;
              if (with_helper)
                helper = std::thread([&] {
                  while (!is_over.load(std::memory_order_acquire)) {
                    for (auto* team : teams) sumac_team_progress(team);
                    ::sched_yield();
                  }
                });
              std::string faults[kTeams];
              std::vector<std::thread> workers;
              for (std::size_t t = 0; t < kTeams; ++t)
                workers.emplace_back([&, t] { faults[t] = work(teams[t], world.rank, 2, 50 + t, with_helper); });
              for (auto& worker : workers) worker.join();
              is_over.store(true, std::memory_order_release);
              if (helper.joinable()) helper.join();
              world.meet();
              for (auto* team : teams) sumac_team_destroy(team);
              for (const auto& fault : faults)
                if (!fault.empty()) return fault;
              return "";
            }));
}

TEST(Threads, OnDifferentTeamsAtOnce) { with_threads(false); }
TEST(Threads, AHelperMovesWhatIsPosted) { with_threads(true); }

/// MPI's progress calls ours while we wait in shared memory: ours must return at once, and a collective that is posted
/// from there must not be lost.
TEST(Threads, ProgressFromInsideAWaitIsHarmless) {
  const auto places = places_of(1, 1, 2);
  const auto options = options_with({});
  EXPECT_EQ("", as_threads(2, 42, [&](World& world) -> std::string {
              struct Hook {
                sumac_team_t* team = nullptr;
                std::atomic<std::uint64_t>* told = nullptr;
                std::unique_ptr<Exercise> exercise;
                sumac_op_t* op = nullptr;
                int posted = SUMAC_TEAM_PENDING;
              } hook;
              hook.exercise = std::make_unique<Exercise>(
                  shm::Ask{.kind = coll::Kind::allreduce, .bytes = 64, .seed = 9}, 2, world.rank);
              hook.told = &world.common.notes[0];
              auto spec = world.spec(places, as_c(options));
              spec.progress_context = &hook;
              spec.progress = [](void* context) {
                auto& self = *static_cast<Hook*>(context);
                if (self.team == nullptr) return;
                if (self.posted == SUMAC_TEAM_PENDING)
                  self.posted = sumac_team_post(self.team, c_call(*self.exercise), nullptr, nullptr, &self.op);
                sumac_team_progress(self.team);
                self.told->store(1, std::memory_order_release);
              };
              sumac_team_t* team = world.create(spec);
              if (team == nullptr) return world.why;
              // Rank 0 waits in a barrier until its hook has posted an operation; rank 1 comes only then.
              if (world.rank == 0) hook.team = team;
              sumac_call_t barrier{};
              if (world.rank == 0) {
                if (sumac_team_run(team, &barrier) != SUMAC_TEAM_OK) return sumac_team_error(team);
                if (hook.posted != SUMAC_TEAM_OK) return fmt::format("posted: {}", hook.posted);
              } else {
                while (world.common.notes[0].load(std::memory_order_acquire) == 0) ::sched_yield();
                if (sumac_team_run(team, &barrier) != SUMAC_TEAM_OK) return sumac_team_error(team);
                hook.posted = sumac_team_post(team, c_call(*hook.exercise), nullptr, nullptr, &hook.op);
              }
              hook.team = nullptr;
              int rc = SUMAC_TEAM_PENDING;
              while ((rc = sumac_op_test(hook.op)) == SUMAC_TEAM_PENDING) ::sched_yield();
              world.meet();
              const auto fault = rc == SUMAC_TEAM_OK ? hook.exercise->check() : "failed";
              sumac_team_destroy(team);
              return fault;
            }));
}

}  // namespace
}  // namespace sumac::team
