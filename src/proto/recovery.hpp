#pragma once
// The words of recovery: after a group's tree is lost, its members are its tree (docs/adr/0090-members-as-the-tree.md).
//
// Epoch 0 is the group on the tree. In epoch e >= 1 the member (e - 1) mod size is the root, and all others talk to it
// over ordered links. These machines hold no data: who runs them keeps the bytes of a number as long as a machine says
// that it can supply or contribute it, and sends them with the messages `Turn` and `Result`.
#include <bitset>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace sumac::proto::recovery {

using Rank = std::uint32_t;
using Number = std::uint64_t;
using Epoch = std::uint32_t;
constexpr Rank kNobody = ~Rank{0};

/// Numbers that can be spoken of at once: twice the largest window.
constexpr std::size_t kSpanMax = 256;
using Mask = std::bitset<kSpanMax>;

enum class Kind : std::uint8_t {
  all,       ///< Every member contributes, and every member gets the result: allreduce, barrier.
  from_one,  ///< Everybody gets what the root contributes: bcast. The root is done when its part is sent.
  to_one,    ///< The root alone gets the result: reduce. The others are done when their part is sent.
};
struct Operation {
  Kind kind = Kind::all;
  Rank root = 0;
  std::uint64_t terms = 0;  ///< A hash of everything else that the members must agree on.
  bool operator==(const Operation&) const = default;
};

/// Why a group ends before its members leave.
enum class Why : std::uint8_t {
  died,       ///< The manager has declared the culprit dead.
  gave_up,    ///< The culprit itself has said that it cannot go on.
  disagrees,  ///< The culprit has posted another operation than the others.
};

/// Numbers below `first` complete at every survivor, and of those from `first` on the ones in `also` (bit 0 is `first`).
struct Verdict {
  Number first = 0;
  Mask also;
  Rank culprit = kNobody;
  Why why = Why::died;
  bool fails(Number number) const {
    return number >= first && (number - first >= kSpanMax || !also.test(static_cast<std::size_t>(number - first)));
  }
  bool operator==(const Verdict&) const = default;
};

/// To the root of an epoch: what a member has. It has discarded everything of older epochs before it says so.
struct Join {
  Number done = 0;         ///< Its first number that is not complete.
  Number contributed = 0;  ///< Its first number that it has not sent to any root.
  Number oldest = 0;       ///< Bit 0 of `can_supply`.
  Mask can_supply;
  std::optional<Verdict> verdict;
  bool leaves = false;  ///< It has nothing left to do.
};
/// To every member: from which number on the epoch goes, and which member supplies each of them; kNobody: it is contributed again.
struct Joined {
  Number low = 0;
  std::vector<Rank> holders;
  std::optional<Verdict> verdict;
};
/// A member's one message for a number, in order from `low` on.
struct Turn {
  enum class What : std::uint8_t { contributes, supplies, skips };
  Number number = 0;
  What what = What::contributes;
  Operation operation;
};
struct Result {
  Number number = 0;
  Number closed = 0;
};
/// The first number that not every member has had its turn for.
struct Closed {
  Number closed = 0;
};
struct Condemned {
  Verdict verdict;
};
/// There is this epoch: join it.
struct Move {};
/// To a member that was declared dead: it is no member any more.
struct Expelled {};
/// From a member that cannot go on: it counts as dead, by its own word.
struct GivesUp {};
struct Leaves {
  Number end = 0;  ///< The member has posted the numbers below it, and posts no more.
};
/// Everybody has everything: a member may forget the group.
struct Left {};

struct Message {
  Epoch epoch = 0;
  std::variant<Join, Joined, Turn, Result, Closed, Condemned, Move, Expelled, GivesUp, Leaves, Left> body;
};
struct Send {
  Rank to = 0;
  Message message;
};

/// Appends all that these words say, for whoever compares or hashes states.
void append(std::vector<std::uint64_t>& words, const std::optional<Verdict>& verdict);
void append(std::vector<std::uint64_t>& words, const Join& join);

constexpr Rank root_of(Epoch epoch, Rank size) noexcept { return (epoch - 1) % size; }

}  // namespace sumac::proto::recovery
