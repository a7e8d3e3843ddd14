// sumac-explore tries every order of events in small groups that lose their tree, links and members, on the machines that the
// product has (proto/recovery_*), and prints a shortest way to what must not be.
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "proto/recovery_rule.hpp"
#include "sim/recovery_world.hpp"
#include "sim/return_world.hpp"
#include "sim/search.hpp"

namespace {

using sumac::proto::recovery::Rule;
using sumac::sim::Case;
using sumac::sim::RecoveryWorld;
using sumac::sim::Step;

constexpr const char* kHelp =
    "usage: sumac-explore [--large] [--check] [CASE]\n"
    "  no option   every case of some seconds; a line each, and a shortest way to what is wrong\n"
    "  --large     the large cases too (minutes, 8 GB)\n"
    "  --check     breaks each rule of recovery alone: some case must go wrong then\n"
    "  CASE        words NAME=VALUE: members, window, kinds, pipelined, trees, deaths, alarms, zombies, gives_up, "
    "most\n";

struct Planned {
  Case plan;
  bool is_large = false;
};

const std::vector<Planned>& cases() {
  static const std::vector<Planned> made{
      {{.trees = 0}},
      {{.trees = 1}},
      {{.window = 2, .trees = 1}},
      {{.window = 2, .pipelined = true, .trees = 1}},
      {{.trees = 0, .deaths = 1}},
      {{.trees = 1, .deaths = 1}},
      {{.kinds = "b0r0b1r1", .trees = 1, .deaths = 1}},
      {{.window = 2, .trees = 1, .deaths = 1}},
      {{.window = 2, .kinds = "r1b0a", .pipelined = true, .trees = 1, .deaths = 1}},
      {{.trees = 0, .alarms = 2}},
      {{.trees = 1, .alarms = 1}},
      {{.kinds = "ab0", .trees = 1, .deaths = 1, .alarms = 1}},
      {{.kinds = "b0a", .trees = 1, .deaths = 1, .zombies = true}},
      {{.trees = 1, .deaths = 1, .gives_up = true}},
      {{.window = 2, .kinds = "r1b0a", .trees = 0, .deaths = 1, .alarms = 1, .gives_up = true}},
      {{.members = 3, .kinds = "r0", .trees = 1, .deaths = 1, .gives_up = true}, true},
      {{.members = 3, .kinds = "b0", .trees = 1}, true},
      {{.members = 3, .kinds = "b0r1a", .trees = 0, .deaths = 1}},
      {{.members = 3, .window = 2, .kinds = "r1b0", .trees = 0, .deaths = 1}},
      {{.members = 3, .kinds = "a", .trees = 1, .deaths = 1}, true},
      {{.members = 3, .kinds = "r0", .trees = 1, .deaths = 1}},
      {{.window = 2, .pipelined = true, .trees = 1, .deaths = 1}, true},
      {{.trees = 1, .deaths = 1, .zombies = true}, true},
      {{.trees = 1, .deaths = 1, .alarms = 1}, true},
      {{.members = 3, .trees = 1}, true},
      {{.members = 3, .window = 2, .kinds = "b0r1a", .trees = 1}, true},
      {{.members = 3, .kinds = "b0a", .trees = 1, .deaths = 1}, true},
      {{.members = 3, .kinds = "r0b1", .trees = 1, .deaths = 1}, true},
      {{.members = 3, .kinds = "b0r1a", .trees = 0, .alarms = 1}, true},
      {{.members = 3, .kinds = "ab0", .trees = 0, .deaths = 1, .alarms = 1}, true},
      {{.members = 3, .kinds = "b0", .trees = 1, .deaths = 1, .zombies = true}, true},
  };
  return made;
}

std::string name_of(const Case& plan) {
  return fmt::format(
      "members={} window={} kinds={} pipelined={:d} trees={} deaths={} alarms={} zombies={:d} gives_up={:d}",
      plan.members, plan.window, plan.kinds, plan.pipelined, plan.trees, plan.deaths, plan.alarms, plan.zombies,
      plan.gives_up);
}

using Found = sumac::sim::Found<Step>;

/// Every counter of a world only grows, so a world never comes back: "nobody waits for ever" is "where nothing is due, everybody has left".
Found explore(const Case& plan, std::size_t most) {
  return sumac::sim::search<Step>(RecoveryWorld(plan), most, [](const RecoveryWorld& world, bool is_end) {
    return is_end ? world.at_the_end() : std::string();
  });
}

const std::vector<sumac::sim::ReturnCase>& returns() {
  static const std::vector<sumac::sim::ReturnCase> made{
      {.members = 2, .proposals = 2, .refusals = 1, .withdrawals = 1, .breaks = 1},
      {.members = 3, .proposals = 1, .breaks = 1},
      {.members = 3, .operations = 1, .proposals = 2, .refusals = 1},
  };
  return made;
}

/// The agreement to go to another tree; the same.
bool report_returns() {
  bool all_right = true;
  for (const auto& plan : returns()) {
    const auto found = sumac::sim::explore_return(plan);
    all_right = all_right && found.wrong.empty();
    fmt::print(
        "{:5} return: {} members, {} operations, {} proposals, {} refused, {} withdrawn, {} breaks: {} states{}\n",
        found.wrong.empty() ? "right" : "WRONG", plan.members, plan.operations, plan.proposals, plan.refusals,
        plan.withdrawals, plan.breaks, found.states, found.wrong.empty() ? "" : "; " + found.wrong);
  }
  return all_right;
}

/// Returns true if nothing is wrong and every order was tried.
bool report(const Case& plan, std::size_t most) {
  const Found found = explore(plan, most);
  const bool is_right = found.wrong.empty() && found.is_whole;
  fmt::print("{:5} {}: {} states, {} steps, {} deep, {} ends{}\n", is_right ? "right" : "WRONG", name_of(plan),
             found.states, found.steps, found.depth, found.ends, found.is_whole ? "" : "; not all of them were tried");
  if (!found.wrong.empty()) fmt::print("  {}\n", found.wrong);
  RecoveryWorld world(plan);
  for (std::size_t i = 0; i < found.way.size(); ++i) {
    fmt::print("  {:3} {}\n", i + 1, world.describe(found.way[i]));
    (void)world.apply(found.way[i]);
  }
  std::fflush(stdout);
  return is_right;
}

/// Breaks each rule alone. Returns true if each time some case goes wrong.
bool check_rules(bool large, std::size_t most) {
  bool all_found = true;
  for (std::size_t rule = 0; rule < sumac::proto::recovery::kExplored; ++rule) {
    sumac::proto::recovery::broken_rule = static_cast<int>(rule);
    std::string by;
    for (const Planned& each : cases())
      if (by.empty() && (large || !each.is_large))
        if (const Found found = explore(each.plan, most); !found.wrong.empty())
          by = fmt::format("{} steps of {}: {}", found.way.size(), name_of(each.plan), found.wrong);
    for (const auto& each : returns())
      if (by.empty()) by = sumac::sim::explore_return(each).wrong;
    all_found = all_found && !by.empty();
    fmt::print("{:5} without `{}`: {}\n", by.empty() ? "WRONG" : "right", to_string(static_cast<Rule>(rule)),
               by.empty() ? "no case notices" : by);
    std::fflush(stdout);
  }
  sumac::proto::recovery::broken_rule = -1;
  return all_found;
}

bool set(Case& plan, std::size_t& most, std::string_view name, const std::string& value) {
  const int number = std::atoi(value.c_str());
  if (name == "members" && number >= 1 && number <= 4) return plan.members = static_cast<unsigned>(number), true;
  if (name == "window" && number >= 1 && number <= 16) return plan.window = static_cast<unsigned>(number), true;
  if (name == "kinds") return plan.kinds = value, true;
  if (name == "pipelined") return plan.pipelined = number != 0, true;
  if (name == "trees") return plan.trees = number, true;
  if (name == "deaths") return plan.deaths = number, true;
  if (name == "alarms") return plan.alarms = number, true;
  if (name == "gives_up") return plan.gives_up = number != 0, true;
  if (name == "zombies") return plan.zombies = number != 0, true;
  if (name == "most" && number > 0) return most = static_cast<std::size_t>(number), true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  bool large = false, check = false, one = false;
  Case plan;
  std::size_t most = 20'000'000;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto equals = std::min(word.find('='), word.size());
    if (word == "-h" || word == "--help") return fmt::print("{}", kHelp), 0;
    if (word == "--large")
      large = true;
    else if (word == "--check")
      check = true;
    else if (equals < word.size() && set(plan, most, word.substr(0, equals), std::string(word.substr(equals + 1))))
      one = true;
    else
      return fmt::print(stderr, "sumac-explore: {}: see --help\n", word), 2;
  }
  if (one) return report(plan, most) ? 0 : 1;
  if (check) return check_rules(large, most) ? 0 : 1;
  bool all_right = report_returns();
  for (const Planned& each : cases())
    if (large || !each.is_large) all_right = report(each.plan, most) && all_right;
  return all_right ? 0 : 1;
}
