// sumac-explore-hop tries every order of events in small groups whose nodes are the machine of src/hop, and prints a shortest
// way to what must not be: a wrong result, or a state from which even a network without loss does not help.
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "hop/rule.h"
#include "sim/hop_world.hpp"
#include "sim/search.hpp"

namespace {

using sumac::sim::HopCase;
using sumac::sim::HopStep;
using sumac::sim::HopWorld;

constexpr const char* kRules[] = {"stored_once",         "late_is_dropped", "answers_again", "up_again",
                                  "counts_after_answer", "asks_up",         "agreement",     "frozen_is_silent",
                                  "value_is_whole",      "awaits_all_parts"};
static_assert(std::size(kRules) == kHopMachineRules);

/// Broadcasts under a leaf with W = 2 have more orders than an hour tries.
constexpr std::size_t kMostOfAnEndlessCase = 4'000'000;

std::vector<HopCase> cases() {
  std::vector<HopCase> made;
  // Fewer slots than twice the window are a wrong machine; so are the other cases that say so.
  for (const char* tree : {"mm", "nm/m", "n/mm"})
    for (const unsigned window : {1u, 2u})
      for (unsigned slots = window; slots <= 2 * window; slots *= 2)
        made.push_back({.name = "sums",
                        .tree = tree,
                        .window = window,
                        .slots = slots,
                        .kinds = std::string(2 * window + (tree[0] == 'm' ? 2 : 1), 'a'),
                        .is_wrong = slots < 2 * window,
                        .is_large = tree[1] == '/' && window == 2});
  made.push_back({.name = "a bcast beside a member that is late", .tree = "nm/mm", .kinds = "0", .late_member = 2});
  made.push_back({.name = "a bcast beside a member that is late", .tree = "nm/mm", .kinds = "1", .late_member = 0});
  made.push_back({.name = "three members", .tree = "nm/mm", .kinds = "a0"});
  made.push_back({.name = "streams behind datagrams, without holding back",
                  .kinds = "attta",
                  .tcp_window = 4,
                  .holds_back = false,
                  .is_wrong = true});
  made.push_back({.name = "streams behind datagrams", .kinds = "attta", .tcp_window = 4});
  made.push_back({.name = "streams behind datagrams",
                  .window = 2,
                  .slots = 4,
                  .kinds = "aattaata",
                  .tcp_window = 4,
                  .is_large = true});
  made.push_back({.name = "members that disagree", .tree = "nm/m", .kinds = "aaa", .odd_number = 1});
  made.push_back({.name = "a verdict", .kinds = "aaaa", .freezes = true});
  made.push_back({.name = "a verdict", .tree = "nm/m", .kinds = "a0a", .freezes = true});
  made.push_back({.name = "a verdict", .window = 2, .slots = 4, .kinds = "aaaa", .freezes = true});
  made.push_back({.name = "two processors", .kinds = "aaa", .slow = 2});
  made.push_back({.name = "two processors", .kinds = "00a", .slow = 2});
  made.push_back({.name = "two processors", .tree = "nm/m", .kinds = "a", .slow = 2});
  made.push_back({.name = "two processors", .tree = "nm/m", .kinds = "0a", .slow = 2, .is_large = true});
  made.push_back({.name = "two processors", .tree = "n/mm", .kinds = "0", .slow = 2, .is_large = true});
  made.push_back({.name = "two processors and a verdict", .kinds = "aa", .slow = 2, .freezes = true});
  for (const char* tree : {"mm", "nm/m", "n/mm"})
    for (const char* kinds : {"00", "0a1", "000", "a01a", "0101"})
      made.push_back(
          {.name = "bcasts",
           .tree = tree,
           .kinds = kinds,
           .is_large = tree[0] == 'n' && std::string_view(kinds) != "00" && (kinds[1] != 'a' || tree[1] == '/')});
  for (const char* tree : {"mm", "nm/m", "n/mm"})
    for (const char* kinds : {"AA", "AaB", "0A", "A0a"})
      made.push_back({.name = "reduces",
                      .tree = tree,
                      .kinds = kinds,
                      .is_large = tree[0] == 'n' && std::string_view(kinds).size() > 2});
  made.push_back({.name = "a reduce of three members", .tree = "nm/mm", .kinds = "A"});
  made.push_back({.name = "a reduce of three members", .tree = "nm/mm", .kinds = "C"});
  made.push_back({.name = "a reduce of three members", .tree = "mmm", .kinds = "AB"});
  made.push_back({.name = "reduces", .window = 2, .slots = 4, .kinds = "AAAAA"});
  made.push_back({.name = "two processors", .kinds = "AAa", .slow = 2});
  made.push_back({.name = "two processors", .tree = "mmm", .kinds = "A", .slow = 2});
  made.push_back({.name = "two processors", .tree = "n/mm", .kinds = "A", .slow = 2, .is_large = true});
  made.push_back({.name = "a verdict", .tree = "nm/m", .kinds = "AaA", .freezes = true, .is_large = true});
  for (const char* tree : {"mm", "nm/m"})
    for (const char* kinds : {"00000", "0a10a"})
      made.push_back({.name = "bcasts",
                      .tree = tree,
                      .window = 2,
                      .slots = 4,
                      .kinds = kinds,
                      .is_large = tree[0] == 'n',
                      .most = tree[0] == 'n' ? kMostOfAnEndlessCase : SIZE_MAX});
  return made;
}

std::string name_of(const HopCase& plan) {
  return fmt::format("{}: {} W={} slots={} {}{}", plan.name, plan.tree, plan.window, plan.slots, plan.kinds,
                     plan.freezes ? " freezes" : "");
}

using Found = sumac::sim::Found<HopStep>;

/// Each world but for what its network carries is tried once for a network that loses nothing more.
Found explore(const HopCase& plan) {
  sumac::sim::Seen settled;
  return sumac::sim::search<HopStep>(HopWorld(plan), plan.most, [&](const HopWorld& world, bool) {
    return settled.insert(world.hash_without_network()) ? world.settle() : std::string();
  });
}

bool report(const HopCase& plan) {
  const Found found = explore(plan);
  const bool as_it_must = found.wrong.empty() != plan.is_wrong;
  fmt::print("{:5} {}: {} states{}{}\n", as_it_must ? "right" : "WRONG", name_of(plan), found.states,
             found.is_whole ? "" : fmt::format(" in {} steps; not all were tried", found.depth),
             found.wrong.empty() ? "" : "; " + found.wrong);
  if (!as_it_must) {
    HopWorld world(plan);
    for (const HopStep& step : found.way) {
      fmt::print("      {}\n", world.describe(step));
      (void)world.apply(step);
    }
  }
  std::fflush(stdout);
  return as_it_must;
}

/// Breaks each rule alone. Returns true if each time some case goes wrong.
bool check_rules(bool large) {
  bool all_found = true;
  for (int rule = 0; rule < kHopMachineRules; ++rule) {
    hop_broken_rule = rule;
    std::string by;
    for (const HopCase& plan : cases()) {
      if (plan.is_wrong || (plan.is_large && !large)) continue;
      if (const Found found = explore(plan); !found.wrong.empty()) {
        by = fmt::format("{} steps of {}: {}", found.way.size(), name_of(plan), found.wrong);
        break;
      }
    }
    all_found = all_found && !by.empty();
    fmt::print("{:5} without `{}`: {}\n", by.empty() ? "WRONG" : "right", kRules[rule],
               by.empty() ? "no case notices" : by);
    std::fflush(stdout);
  }
  hop_broken_rule = -1;
  return all_found;
}

}  // namespace

int main(int argc, char** argv) {
  bool large = false, check = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--large")
      large = true;
    else if (word == "--check")
      check = true;
    else
      return fmt::print("usage: sumac-explore-hop [--large] [--check]\n"), word == "--help" ? 0 : 2;
  }
  if (check) return check_rules(large) ? 0 : 1;
  bool all_right = true;
  for (const HopCase& plan : cases())
    if (large || !plan.is_large) all_right = report(plan) && all_right;
  return all_right ? 0 : 1;
}
