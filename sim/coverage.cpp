#include "sim/coverage.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <iterator>
#include <string>
#include <variant>

#include "proto/group_life.hpp"
#include "proto/guard.hpp"
#include "proto/member_number.hpp"
#include "proto/membership.hpp"
#include "proto/node_number.hpp"
#include "proto/open_request.hpp"
#include "proto/recovery_rule.hpp"

namespace sumac::sim {
namespace {

struct MachineText {
  const char* name;
  std::size_t states, events;
};
template <class State, class Event>
constexpr MachineText text(const char* name) {
  return {name, std::variant_size_v<State>, std::variant_size_v<Event>};
}
// The rows follow the order of proto::Machine.
constexpr MachineText kMachines[] = {
    text<proto::node_number::State, proto::node_number::Event>("number at a node"),
    text<proto::group_life::State, proto::group_life::Event>("group at a node"),
    text<proto::member_number::State, proto::member_number::Event>("number at a member"),
    text<proto::membership::State, proto::membership::Event>("membership"),
    text<proto::open_request::State, proto::open_request::Event>("open"),
};
static_assert(std::size(kMachines) == Coverage::kMachines &&
              Coverage::kMachines == static_cast<std::size_t>(proto::Machine::count));

}  // namespace

void Coverage::add(const Coverage& other) {
  for (std::size_t m = 0; m < kMachines; ++m)
    for (std::size_t s = 0; s < kStates; ++s)
      for (std::size_t e = 0; e < kEvents; ++e) counts[m][s][e] += other.counts[m][s][e];
}

void Coverage::print() const {
  if (!mutable_build()) return;
  std::size_t seen_all = 0, pairs_all = 0;
  fmt::print("states x events met (of those that the types allow; a dot: never met)\n");
  for (std::size_t m = 0; m < kMachines; ++m) {
    const MachineText& machine = sim::kMachines[m];
    std::size_t seen = 0;
    std::string rows;
    for (std::size_t s = 0; s < machine.states; ++s) {
      for (std::size_t e = 0; e < machine.events; ++e) {
        seen += counts[m][s][e] != 0;
        rows += counts[m][s][e] != 0 ? 'x' : '.';
      }
      rows += ' ';
    }
    fmt::print("  {:<20} {:>3} of {:>3}  {}\n", machine.name, seen, machine.states * machine.events, rows);
    seen_all += seen;
    pairs_all += machine.states * machine.events;
  }
  fmt::print("  {:<20} {:>3} of {:>3}\n", "together", seen_all, pairs_all);
}

#ifdef SUMAC_PROTO_MUTABLE
static_assert(proto::kStatesMax == Coverage::kStates && proto::kEventsMax == Coverage::kEvents);
Coverage coverage_of_this_process() {
  Coverage coverage;
  for (std::size_t m = 0; m < Coverage::kMachines; ++m)
    for (std::size_t s = 0; s < Coverage::kStates; ++s)
      for (std::size_t e = 0; e < Coverage::kEvents; ++e) coverage.counts[m][s][e] = proto::step_counts[m][s][e];
  return coverage;
}
bool mutable_build() { return true; }
void disable_guard(int guard) { proto::disabled_guard = guard; }
void break_rule(int rule) { proto::recovery::broken_rule = rule; }
#else
Coverage coverage_of_this_process() { return {}; }
bool mutable_build() { return false; }
void disable_guard(int) {}
void break_rule(int) {}
#endif

}  // namespace sumac::sim
