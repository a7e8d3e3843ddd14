#pragma once
// The members of a group that has lost its tree agree here to go on in another group, which they have on a new tree. Member 0
// proposes that group; all join it while the old one goes on. When all stand, they hold: nobody begins another operation. Each says
// how many it has begun, and the most of these is where the old group ends. Everybody begins the same operations in the
// same order, so all agree which go where, and nothing is under way on both.
//
// Until member 0 has said where the old group ends the try may fail at no cost: the members stay the tree. From then on it cannot.
// Each message is the whole state of its sender, so a link that was lost needs the latest one only.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "proto/recovery_codec.hpp"

namespace sumac::proto::recovery {

/// From member 0 to all others.
struct Proposal {
  enum class Stage : std::uint8_t {
    none,  ///< The group is not to be used.
    join,
    hold,
    go,
  };
  std::uint32_t attempt = 0;
  Stage stage = Stage::none;
  TreeId tree{};
  GroupId group{};
  std::uint32_t first = 0;  ///< go: the first operation of the new group, counted from the first one of the old group.
  bool operator==(const Proposal&) const = default;
};
/// To member 0.
struct Readiness {
  enum class State : std::uint8_t { none, cannot, stands, holds };
  std::uint32_t attempt = 0;
  State state = State::none;
  std::uint32_t begun = 0;  ///< holds: operations that it has begun.
  bool operator==(const Readiness&) const = default;
};

class Return {
 public:
  enum class Action : std::uint8_t {
    join,  ///< Join the group of proposal().
    drop,  ///< Leave it: it is not used.
    hold,  ///< Begin no further operation, and call holds().
    free,  ///< Begin operations again.
    go,    ///< proposal().first is known.
  };
  Return(Rank self, Rank size) : self_(self), heard_(size) {}

  /// Member 0 has a group on a tree for all.
  void propose(TreeId tree, GroupId group);
  /// Member 0 has reasons of its own against what it has proposed.
  void withdraw();
  bool may_propose() const noexcept { return self_ == 0 && !has_gone() && proposal_.stage == Proposal::Stage::none; }

  void stands();  ///< This member's group of the proposal stands.
  void cannot();  ///< It will not, or this member does not want to go there any more.
  void holds(std::uint32_t begun);

  void hear(Rank from, const Proposal& proposal);
  void hear(Rank from, const Readiness& readiness);
  void lost_link(Rank peer);

  /// Nothing of it is to be done or said.
  bool is_quiet() const noexcept { return proposal_.attempt == 0 && actions_.empty() && sends_.empty(); }
  const Proposal& proposal() const noexcept { return proposal_; }
  bool has_gone() const noexcept { return proposal_.stage == Proposal::Stage::go; }
  std::vector<Action> take_actions() { return std::exchange(actions_, {}); }
  /// The members to which proposal() or readiness() is to be sent, whichever this member speaks.
  std::vector<Rank> take_sends() { return std::exchange(sends_, {}); }
  const Readiness& readiness() const noexcept { return heard_[self_]; }
  const std::vector<Readiness>& heard() const noexcept { return heard_; }

 private:
  void adopt(const Proposal& proposal);
  void say(Readiness::State state, std::uint32_t begun = 0);
  void weigh();
  void announce(Proposal::Stage stage);

  Rank self_;
  Proposal proposal_;
  std::vector<Readiness> heard_;  ///< Member 0 has all, the others their own.
  std::vector<Action> actions_;
  std::vector<Rank> sends_;
};

void encode(GroupKey group, const Proposal& proposal, std::vector<std::byte>& to);
void encode(GroupKey group, const Readiness& readiness, std::vector<std::byte>& to);
/// Returns whether the frame is one of these messages, which Group does not know.
bool speaks_of_return(std::span<const std::byte> frame) noexcept;
/// Returns null, or what is wrong. One of the two is set.
const char* decode(std::span<const std::byte> frame, std::optional<Proposal>& proposal,
                   std::optional<Readiness>& readiness);

}  // namespace sumac::proto::recovery
