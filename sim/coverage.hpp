#pragma once
// Counts the pairs of state and event that the machines met, and switches guards off for the mutation check. Both exist
// only when the simulator is built with sumac_proto_mutable.
#include <cstdint>

namespace sumac::sim {

struct Coverage {
  static constexpr std::size_t kMachines = 5, kStates = 12, kEvents = 16;
  std::uint64_t counts[kMachines][kStates][kEvents]{};
  void add(const Coverage& other);
  void print() const;
};

Coverage coverage_of_this_process();
bool mutable_build();
void disable_guard(int guard);
void break_rule(int rule);  ///< One of proto::recovery::Rule.

}  // namespace sumac::sim
