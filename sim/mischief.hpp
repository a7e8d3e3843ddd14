#pragma once
// What members and strangers say when they break the rules: bytes made of a message that was really sent.
#include <cstddef>
#include <vector>

#include "proto/client_group.hpp"
#include "proto/node.hpp"
#include "sim/plan.hpp"

namespace sumac::sim {

/// Scenarios in which a stranger acts.
constexpr bool has_rogue(Scenario scenario) {
  return scenario == Scenario::stranger || scenario == Scenario::false_parent || scenario == Scenario::garbage ||
         scenario == Scenario::false_join;
}

/// A barrier of this member with a number that its window cannot reach.
std::vector<std::byte> far_number(const wire::AggHeader& sent, const proto::ClientGroup& group, std::uint32_t rank);

/// A stranger's imitation of `sent`: as a member (stranger), as a parent (false_parent), or malformed (garbage).
std::vector<std::byte> mischief(Scenario scenario, wire::AggHeader sent, const std::vector<proto::GroupView>& groups,
                                bool coin);

}  // namespace sumac::sim
