// A root of bcast and scatter and a leaf of reduce and gather return from many calls before their partner calls, in all
// forms. Nothing depends on time: the partner enters when the other rank has returned from all calls, or has waited.
#include <gtest/gtest.h>

#include "shm/test_exercise.hpp"
#include "team/team.hpp"
#include "team/test_world.hpp"

namespace sumac::team {
namespace {

using shm::Exercise;

enum class Form { blocking, posted, persistent };
constexpr Form kForms[] = {Form::blocking, Form::posted, Form::persistent};
const char* name_of(Form form) {
  return form == Form::blocking ? "blocking" : form == Form::posted ? "posted" : "persistent";
}

constexpr std::uint64_t kReturned = 1, kWaited = 2;

/// Does `exercise` a number of times; the fault, if any. `at_once`: a posted call must be done at its first test.
std::string do_many(sumac_team_t* team, const Exercise& exercise, Form form, int calls, bool at_once) {
  const sumac_call_t* const call = as_c(exercise.operation());
  const auto finish = [&](sumac_op_t* op) {
    int rc = sumac_op_test(op);
    if (at_once && rc == SUMAC_TEAM_PENDING) return rc;
    while (rc == SUMAC_TEAM_PENDING) {
      ::sched_yield();
      rc = sumac_op_test(op);
    }
    return rc;
  };
  sumac_op_t* op = nullptr;
  int rc = form == Form::persistent ? sumac_op_create(team, call, nullptr, nullptr, &op) : SUMAC_TEAM_OK;
  for (int i = 0; i < calls && rc == SUMAC_TEAM_OK; ++i) {
    switch (form) {
      case Form::blocking: rc = sumac_team_run(team, call); break;
      case Form::posted:
        rc = sumac_team_post(team, call, nullptr, nullptr, &op);
        if (rc == SUMAC_TEAM_OK) rc = finish(op);
        if (op != nullptr) sumac_op_free(op);
        op = nullptr;
        break;
      case Form::persistent:
        rc = sumac_op_start(op);
        if (rc == SUMAC_TEAM_OK) rc = finish(op);
        break;
    }
    if (rc != SUMAC_TEAM_OK) return fmt::format("call {}: answer {}: {}", i, rc, sumac_team_error(team));
  }
  if (op != nullptr) sumac_op_free(op);
  return exercise.check();
}

struct Case {
  coll::Kind kind;
  std::size_t bytes;
  int calls;
};

/// Rank `writer` of the team does all its calls before any other rank begins.
std::string run_ahead(World& world, const OptionsHandle& options, const std::vector<sumac_place_t>& places,
                      const Case& what, int root, int writer, Form form) {
  auto spec = world.spec(places, as_c(options));
  spec.progress = [](void* self) {
    auto& state = static_cast<World*>(self)->common.notes[0];
    std::uint64_t nothing = 0;
    state.compare_exchange_strong(nothing, kWaited, std::memory_order_relaxed);
  };
  sumac_team_t* team = world.create(spec);
  if (team == nullptr) return world.why;
  auto& state = world.common.notes[0];
  world.meet();  // Making a team waits as well.
  if (world.rank == 0) state.store(0, std::memory_order_relaxed);
  world.meet();
  std::string fault;
  if (world.rank != writer) {
    while (state.load(std::memory_order_acquire) == 0) ::sched_yield();
    if (state.load(std::memory_order_relaxed) == kWaited) fault = "the writer waited for its partner";
  }
  const Exercise exercise({.kind = what.kind, .bytes = what.bytes, .root = root, .seed = 3}, world.size, world.rank);
  const std::string said = do_many(team, exercise, form, what.calls, world.rank == writer);
  if (world.rank == writer) {
    std::uint64_t nothing = 0;
    state.compare_exchange_strong(nothing, kReturned, std::memory_order_release);
  }
  world.meet();
  sumac_team_destroy(team);
  return fault.empty() ? said : fault;
}

TEST(Rooted, ARootOrLeafReturnsFromManyCallsBeforeItsPartnerCalls) {
  const auto places = places_of(1, 1, 2);
  const auto options = options_with({});
  for (const Form form : kForms)
    for (const auto kind : {coll::Kind::bcast, coll::Kind::scatter, coll::Kind::reduce, coll::Kind::gather})
      for (const auto& [bytes, calls] : {std::pair{8, 64}, std::pair{256, 64}, std::pair{4096, 16}})
        for (const int root : {0, 1}) {
          SCOPED_TRACE(fmt::format("{} of {} bytes, {}, root {}", to_string(kind), bytes, name_of(form), root));
          const bool root_writes = kind == coll::Kind::bcast || kind == coll::Kind::scatter;
          const Case what{kind, static_cast<std::size_t>(bytes), calls};
          EXPECT_EQ("", as_threads(2, 61, [&](World& world) {
                      return run_ahead(world, options, places, what, root, root_writes ? root : 1 - root, form);
                    }));
        }
}

TEST(Rooted, ARootOfSeveralDomainsReturnsBeforeAnybodyElseCalls) {
  const auto places = places_of(1, 2, 2);
  const auto options = options_with({{"SUMAC_TEAM_LEVELS", "always"}});
  for (const Form form : kForms)
    for (int root = 0; root < 4; ++root) {
      SCOPED_TRACE(fmt::format("{}, root {}", name_of(form), root));
      EXPECT_EQ("", as_threads(4, 62, [&](World& world) {
                  return run_ahead(world, options, places, {coll::Kind::bcast, 8, 64}, root, root, form);
                }));
    }
}

}  // namespace
}  // namespace sumac::team
