#pragma once
// Checks that a group ended as it must: exact for every member, or the same verdict for every member, or refused to
// every member. It also checks that nodes hold no more than they may.
#include <string>

#include "sim/members.hpp"

namespace sumac::sim {

struct Judgement {
  const Plan& plan;
  const Session& session;
  const Member* victim;
  bool revoked;

  std::string failure() const;  ///< Returns the fault; empty: the group ended well.
  std::uint32_t operations() const;
  std::uint32_t refused() const;
  std::uint32_t verdict() const;

 private:
  bool is_victims() const { return victim != nullptr && victim->session == &session; }
  /// Whether an operation may succeed at one member and fail at another: a rooted one on ordered hops is over at a
  /// member when that member has what it needs.
  bool may_differ(std::size_t op) const;
  std::string agreement(const Member& a, const Member& b) const;
  /// When a node was lost the members may know different numbers as complete, but only numbers that all of them had in
  /// flight (docs/protocol.md, "When a node is lost").
  std::string doubt(const Member& behind, const Member& ahead) const;
  std::string expectation(const Member& first) const;
};

/// Returns the resources that a node granted without having them; empty: none.
std::string given_too_much(const NodeBox& node);
/// Returns the resources that a node still holds when no group is left; empty: none.
std::string left_behind(const NodeBox& node, bool revoked);

/// Names for each session that is not over the members that it waits for, for people.
std::string still_waiting(const std::vector<std::unique_ptr<Session>>& sessions);

}  // namespace sumac::sim
