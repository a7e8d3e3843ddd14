#pragma once
// Makes the messages of members and strangers that break the rules: bytes made from a message that was really sent.
#include <cstddef>
#include <vector>

#include "proto/client_group.hpp"
#include "proto/node.hpp"
#include "sim/plan.hpp"

namespace sumac::sim {

/// Returns whether a stranger acts in this scenario.
constexpr bool has_rogue(Scenario scenario) {
  return scenario == Scenario::stranger || scenario == Scenario::false_parent || scenario == Scenario::garbage ||
         scenario == Scenario::false_join;
}

/// Makes a barrier of this member with a number that its window cannot reach.
std::vector<std::byte> far_number(const wire::AggHeader& sent, const proto::ClientGroup& group, std::uint32_t rank);

/// Makes a stranger's imitation of `sent`: as a member (stranger), as a parent (false_parent), or malformed (garbage).
std::vector<std::byte> mischief(Scenario scenario, wire::AggHeader sent, const std::vector<proto::GroupView>& groups,
                                bool coin);

}  // namespace sumac::sim
