#pragma once
// Whether a group ended as it must: exact for everybody, or the same verdict for everybody, or refused to everybody. And whether nodes
// hold no more than they may.
#include <string>

#include "sim/members.hpp"

namespace sumac::sim {

struct Judgement {
  const Plan& plan;
  const Session& session;
  const Member* victim;
  bool revoked;

  std::string failure() const;  ///< Empty: it ended well.
  std::uint32_t operations() const;
  std::uint32_t refused() const;
  std::uint32_t verdict() const;

 private:
  bool is_victims() const { return victim != nullptr && victim->session == &session; }
  std::string agreement(const Member& a, const Member& b) const;
  /// Where a node was lost the members may know different numbers as complete, but only such as all of them had under way
  /// (docs/protocol.md, "When a node is lost").
  std::string doubt(const Member& behind, const Member& ahead) const;
  std::string expectation(const Member& first) const;
};

/// What a node has given out that was not there; empty: nothing.
std::string given_too_much(const NodeBox& node);
/// What a node still has when nobody has a group any more; empty: nothing.
std::string left_behind(const NodeBox& node, bool revoked);

/// Whom each session that is not over waits for, for people.
std::string still_waiting(const std::vector<std::unique_ptr<Session>>& sessions);

}  // namespace sumac::sim
