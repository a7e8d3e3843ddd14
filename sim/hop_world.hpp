#pragma once
// A small group whose nodes are the machine of src/hop, on a network that loses, repeats and reorders. What was ever
// sent may arrive at any time, any number of times or never, so a world holds the set of all frames.
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hop/machine.h"

namespace sumac::sim {

struct HopCase {
  std::string name;
  /// A letter a child: of the root, then behind '/' of a leaf: 'm' a member, 'n' that leaf. Members count from the left.
  std::string tree = "mm";
  unsigned window = 1;
  unsigned slots = 2;
  /// A letter a number: 'a' allreduce, '0'.. bcast of that member, 'A'.. reduce to that member, 't' by TCP.
  std::string kinds;
  unsigned tcp_window = 1;
  bool holds_back = true;  ///< nobody contributes n while a datagram number <= n - W is open
  unsigned slow = 0;       ///< frames that a processor may have begun while others work on
  bool freezes = false;    ///< a verdict may come at any time
  int late_member = -1;    ///< it never calls
  int odd_number = -1;     ///< member 0 calls another operation there
  bool is_wrong = false;   ///< The case shows that some order is wrong.
  bool is_large = false;
  std::size_t most = SIZE_MAX;  ///< so many states are tried, the shortest ways first
};

struct HopStep {
  enum class Kind : std::uint8_t { call, arrives, arrives_slowly, goes_on, tcp_result, freeze } kind;
  unsigned index = 0, number = 0;  ///< arrives: index is a member's, or kFrame and `number` that of the frame
  static constexpr unsigned kFrame = 99;
};

class HopWorld {
 public:
  explicit HopWorld(const HopCase& plan);

  void each_step(const std::function<void(HopStep)>& visit) const;
  std::string apply(HopStep step);  ///< Returns what is wrong, or nothing.
  /// From here nothing more is lost. Returns which number some member never completes, or nothing.
  std::string settle() const;
  std::uint64_t hash() const;
  std::uint64_t hash_without_network() const;
  std::string describe(HopStep step) const;

 private:
  static constexpr unsigned kMembersMax = 3, kNodesMax = 2, kSlotsMax = 4, kNumbersMax = 8;

  struct Frame {
    std::uint8_t node = 0;   ///< a contribution's sender, or a result's
    std::uint8_t kind = 0;   ///< HopKind
    std::uint8_t child = 0;  ///< a result's receiver
    std::uint8_t number = 0;
    std::uint8_t flags = 0;
    std::uint8_t is_odd = 0;
    std::uint64_t value = 0;
    auto operator<=>(const Frame&) const = default;
  };
  struct Member {
    std::uint8_t calls = 0, has = 0, closed = 0;
  };
  struct Begun {
    std::uint8_t node = 0;
    HopFrame frame{};
    HopWork work{};
  };

  bool is_tcp(unsigned number) const { return plan_->kinds[number] == 't'; }
  bool is_bcast(unsigned number) const { return plan_->kinds[number] >= '0' && plan_->kinds[number] <= '9'; }
  bool is_reduce(unsigned number) const { return plan_->kinds[number] >= 'A' && plan_->kinds[number] <= 'Z'; }
  unsigned root_of(unsigned number) const {
    return static_cast<unsigned>(plan_->kinds[number] - (is_reduce(number) ? 'A' : '0'));
  }
  bool is_source(unsigned member, unsigned number) const { return is_bcast(number) && root_of(number) == member; }
  /// It needs no result: its call returns at once.
  bool is_early(unsigned member, unsigned number) const {
    return is_source(member, number) || (is_reduce(number) && root_of(number) != member);
  }
  bool gives(unsigned member, unsigned number) const {
    return is_bcast(number) ? is_source(member, number) : !is_reduce(number) || root_of(number) != member;
  }
  std::uint64_t contribution(unsigned member, unsigned number) const;
  std::uint64_t right(unsigned number) const;
  bool is_done(unsigned member, unsigned number) const;
  bool may_call(unsigned member) const;
  bool tcp_is_complete(unsigned number) const;
  HopSlot& slot(unsigned node, unsigned number) { return slots_[node][(kFirst + number) & (plan_->slots - 1)]; }
  const HopSlot& slot(unsigned node, unsigned number) const {
    return slots_[node][(kFirst + number) & (plan_->slots - 1)];
  }

  Frame from_member(unsigned member, unsigned number) const;
  Begun begin(unsigned node, unsigned child, const Frame& frame);
  bool go_on(Begun& begun, std::vector<Frame>& out);  ///< Returns whether its work is done.
  std::string deliver_result(unsigned member, const Frame& frame);
  void deliver(unsigned node, unsigned child, const Frame& frame, std::vector<Frame>& out);
  std::string receive(const Frame& frame, std::vector<Frame>& out);
  std::string send(const std::vector<Frame>& out);
  void freeze_next();
  std::string judge_verdict() const;

  static constexpr std::uint32_t kFirst = 0xFFFFFFFE;  ///< The numbers of a group pass 0.
  static constexpr std::uint8_t kNone = 255;
  struct Place {
    HopPlace place{};
    std::vector<std::uint8_t> children;  ///< Members; kNone: the leaf.
  };

  const HopCase* plan_;
  std::vector<Place> places_;
  std::array<std::pair<std::uint8_t, std::uint8_t>, kMembersMax> at_{};  ///< A member's node, and its index there.
  std::uint8_t leaf_index_ = 0, members_count_ = 0;
  std::array<Member, kMembersMax> members_{};
  std::array<std::array<HopSlot, kSlotsMax>, kNodesMax> slots_{};
  std::vector<Frame> network_;  ///< Ordered.
  std::vector<Begun> begun_;
  std::uint8_t frozen_ = 0;
  std::uint8_t verdict_ = kNone;  ///< The first number that completes nowhere.
};

}  // namespace sumac::sim
