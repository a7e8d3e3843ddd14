// The results of `sumac tune` as teams apply them: the choice itself, explain's text about it, and files that cannot be
// applied. tuning_file_test.cpp tests the content of a file and which files are refused.
#include "team/tuning.hpp"

#include <gtest/gtest.h>

#include "shm/test_exercise.hpp"
#include "team/team.hpp"
#include "team/test_world.hpp"

namespace sumac::team {
namespace {

using shm::Exercise;

/// Options as after `sumac tune`, for any number of processors.
OptionsHandle options_with_file(std::uint32_t ranks, std::vector<std::pair<std::uint64_t, std::string>> from) {
  OptionsHandle options = options_with({});
  options.tuning_path = "/etc/tuning.json";
  for (const bool crowded : {false, true})
    for (const auto& [bytes, algorithm] : from)
      options.tuning.choices.push_back({"allreduce", ranks, crowded, bytes, algorithm});
  digest(options);
  return options;
}

std::string allreduce_by(const sumac_team_t* team, std::size_t bytes) {
  sumac_choice_t choice;
  sumac_team_choice(team, SUMAC_COLL_ALLREDUCE, bytes, nullptr, &choice);
  return choice.how;
}

TEST(Tuning, AFileOfMeasuredChoicesIsApplied) {
  const auto places = places_of(1, 1, 3);
  const auto plain = options_with({});
  const auto whole = options_with_file(3, {{0, "flat"}});
  const auto cut = options_with_file(2, {{0, "flat"}, {5000, "stream"}, {70000, "flat"}});
  const auto wrong = options_with_file(3, {{0, "flat"}, {5000, "swift"}});
  EXPECT_EQ(
      "", as_threads(3, 14, [&](World& world) -> std::string {
        const auto make = [&](const OptionsHandle& options) { return world.create(world.spec(places, as_c(options))); };
        sumac_team_t *const built_in = make(plain), *const flat = make(whole), *const steps = make(cut),
                            *const refused = make(wrong);
        if (built_in == nullptr || flat == nullptr || steps == nullptr || refused == nullptr) return world.why;
        if (built_in->uses_tuning_file || explained(built_in).find("measured") != std::string::npos)
          return "there is no file";
        if (allreduce_by(built_in, 1 << 20) == "flat") return "the test needs another choice";
        if (allreduce_by(flat, 1 << 20) != "flat" || allreduce_by(flat, 8) != "flat") return explained(flat);
        if (explained(flat).find("  choices measured on this machine: /etc/tuning.json\n") == std::string::npos)
          return explained(flat);
        // The choices are those of the nearest smaller team, from the byte on that the file names.
        for (const auto& [bytes, name] :
             {std::pair{4999, "flat"}, {5000, "stream"}, {69999, "stream"}, {70000, "flat"}})
          if (allreduce_by(steps, static_cast<std::size_t>(bytes)) != name) return explained(steps);
        if (explained(refused).find("allreduce by \"swift\" refused: there is none of that name") == std::string::npos)
          return explained(refused);
        if (allreduce_by(refused, 1 << 20) != allreduce_by(built_in, 1 << 20)) return explained(refused);
        for (sumac_team_t* team : {flat, steps, refused}) {
          Exercise exercise({.kind = coll::Kind::allreduce, .bytes = 6000, .seed = 3}, 3, world.rank);
          if (sumac_team_run(team, as_c(exercise.operation())) != SUMAC_TEAM_OK) return sumac_team_error(team);
          if (const auto fault = exercise.check(); !fault.empty()) return fault;
        }
        world.meet();
        for (sumac_team_t* team : {built_in, flat, steps, refused}) sumac_team_destroy(team);
        return "";
      }));
}

TEST(Tuning, FilesThatDifferFromHostToHostAreLeftAlone) {
  const auto places = places_of(2, 1, 2);
  const auto here = options_with_file(2, {{0, "flat"}}), there = options_with_file(2, {{0, "stream"}}),
             none = options_with({});
  for (const OptionsHandle* other : {&there, &none}) {
    EXPECT_EQ(
        "", as_threads(4, 15, [&](World& world) -> std::string {
          const OptionsHandle& own = world.rank < 2 ? here : *other;
          sumac_team_t* team = world.create(world.spec(places, as_c(own)));
          if (team == nullptr) return world.why;
          const std::string text = explained(team);
          if (team->uses_tuning_file || text.find("choices measured") != std::string::npos) return text;
          if (text.find("the hosts have different tuning files: the built-in choice is used") == std::string::npos)
            return text;
          world.meet();
          sumac_team_destroy(team);
          return "";
        }));
  }
}

}  // namespace
}  // namespace sumac::team
