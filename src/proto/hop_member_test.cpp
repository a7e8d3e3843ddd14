// Members of the datagram way and the nodes' machine (src/hop) in a seeded network that loses, repeats and reorders.
#include "proto/hop_member.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "hop/machine.h"

namespace sumac::proto {
namespace {

constexpr std::uint8_t kSum = 2, kUint64 = 2;
constexpr std::uint32_t kFirst = 0xFFFFFFF0;  // The numbers of a group pass 0.

struct Plan {
  std::uint64_t seed = 0;
  unsigned members = 4, nodes = 1, window = 2, slots = 4, numbers = 30;
  double loss = 0, copies = 0;
  bool reorders = false, has_late_members = false;
  bool goes_by_tcp_too = false;
  bool waits_for_both_ways = true;
};

enum class Kind { allreduce, reduce, bcast, barrier, tcp };

class HopGroupWorld {
 public:
  explicit HopGroupWorld(const Plan& plan) : plan_(plan), random_(plan.seed) {
    nodes_.resize(plan.nodes);
    for (unsigned i = 0; i < plan.nodes; ++i) {
      nodes_[i].slots.resize(plan.slots);
      for (unsigned s = 0; s < plan.slots; ++s) hop_begin(&nodes_[i].slots[s], kFirst, plan.slots, s);
      nodes_[i].place.slots = plan.slots;
      nodes_[i].place.is_root = i == 0 ? 1 : 0;
      if (i > 0) adopt(static_cast<unsigned>(random_.below(i)), {false, i});
    }
    for (unsigned m = 0; m < plan.members; ++m) {
      // A node without children is none of the group's.
      const unsigned leaf = m < plan.nodes ? plan.nodes - 1 - m : static_cast<unsigned>(random_.below(plan.nodes));
      members_.push_back(std::make_unique<Member>(*this, m, leaf, adopt(leaf, {true, m})));
    }
    find_those_alone();
    for (unsigned n = 0; n < plan.numbers; ++n) {
      const Kind kind = static_cast<Kind>(random_.below(plan.goes_by_tcp_too ? 5 : 4));
      calls_.push_back({kind, static_cast<unsigned>(random_.below(plan.members)),
                        kind == Kind::barrier ? 0 : static_cast<unsigned>(random_.below(4)) + 1});
    }
    tcp_.resize(plan.numbers);
  }

  /// Returns what went wrong, or nothing.
  std::string run() {
    for (auto& m : members_) m->machine.probe(now_);
    for (std::uint64_t steps = 0; wrong_.empty(); ++steps) {
      bool is_over = true;
      for (auto& m : members_) {
        progress(*m);
        is_over = is_over && m->taken_count == plan_.numbers && m->machine.is_idle();
      }
      if (is_over) return wrong_;
      if (steps > 200'000) return "somebody waits for ever";
      step();
    }
    return wrong_;
  }

  unsigned frames_sent() const { return frames_sent_; }
  unsigned probes_sent() const { return probes_sent_; }
  unsigned datagram_numbers() const {
    unsigned count = 0;
    for (const Call& call : calls_) count += call.kind != Kind::tcp ? 1 : 0;
    return count;
  }

 private:
  struct Child {
    bool is_member = false;
    unsigned index = 0;
  };
  struct Node {
    HopPlace place{};
    std::vector<HopSlot> slots;
    std::vector<Child> children;
    unsigned parent = 0;
    std::uint8_t child_of_parent = 0;
  };
  struct Call {
    Kind kind;
    unsigned root, words;
  };
  struct Member final : HopOutbox {
    Member(HopGroupWorld& world, unsigned index, unsigned leaf, std::uint8_t child)
        : world_(world), me(index), node(leaf), machine(config(world, index, leaf, child), *this), taken(64) {}
    static HopMemberConfig config(const HopGroupWorld& world, unsigned index, unsigned leaf, std::uint8_t child) {
      HopMemberConfig made;
      made.child = child;
      made.window = world.plan_.window;
      made.levels = world.levels();
      made.up = {{index, 1}};
      made.down = {{leaf, 2}};
      made.first = Sequence{kFirst};
      return made;
    }
    void send_datagram(std::span<const std::byte> frame) override { world_.send_up(*this, frame); }

    HopGroupWorld& world_;
    unsigned me, node;
    HopMember machine;
    unsigned posted = 0, taken_count = 0;
    Time busy_until{};
    std::vector<bool> taken;
  };
  struct Event {
    Time when;
    std::uint64_t order;
    bool to_member;
    unsigned to, from_child;
    std::vector<std::byte> bytes;
    bool operator<(const Event& other) const {
      return when != other.when ? when > other.when : order > other.order;  // The earliest is on top.
    }
  };

  unsigned members_below(unsigned node, unsigned* last) const {
    unsigned count = 0;
    for (const Child& child : nodes_[node].children) {
      if (child.is_member) *last = child.index;
      count += child.is_member ? 1 : members_below(child.index, last);
    }
    return count;
  }
  void find_those_alone() {
    for (Node& node : nodes_)
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        unsigned last = node.children[i].index;
        const bool is_one = node.children[i].is_member || members_below(node.children[i].index, &last) == 1;
        node.place.alone[i] = is_one ? last : kHopMany;
      }
  }
  std::uint8_t adopt(unsigned parent, Child child) {
    Node& node = nodes_[parent];
    if (!child.is_member) {
      nodes_[child.index].parent = parent;
      nodes_[child.index].child_of_parent = static_cast<std::uint8_t>(node.children.size());
    }
    node.children.push_back(child);
    node.place.children = static_cast<std::uint32_t>(node.children.size());
    return static_cast<std::uint8_t>(node.children.size() - 1);
  }

  unsigned levels() const {
    unsigned most = 1;
    for (unsigned node = 0; node < nodes_.size(); ++node) {
      unsigned here = 1;
      for (unsigned at = node; at != 0; at = nodes_[at].parent) ++here;
      most = std::max(most, here);
    }
    return most;
  }
  std::uint64_t part(unsigned member, unsigned n, unsigned word) const {
    return (std::uint64_t{n} + 1) * 1'000'003 + member * 7919 + word;
  }
  std::uint64_t right(unsigned n, unsigned word) const {
    std::uint64_t sum = 0;
    for (unsigned m = 0; m < plan_.members; ++m) sum += gives(m, n) ? part(m, n, word) : 0;
    return sum;
  }
  /// A bcast is of its root's data, a reduce of the others'.
  bool gives(unsigned member, unsigned n) const {
    const Call& call = calls_[n];
    return call.kind == Kind::bcast ? call.root == member : call.kind != Kind::reduce || call.root != member;
  }

  void send(bool to_member, unsigned to, unsigned from_child, std::span<const std::byte> bytes) {
    if (random_.chance(plan_.loss)) return;
    const unsigned copies = random_.chance(plan_.copies) ? 2 : 1;
    for (unsigned i = 0; i < copies; ++i) {
      const Duration flight = plan_.reorders ? Micros(random_.between(50, 900)) : Micros(250);
      events_.push({now_ + flight, order_++, to_member, to, from_child, {bytes.begin(), bytes.end()}});
    }
  }
  void send_up(Member& member, std::span<const std::byte> frame) {
    HopHeader header;
    std::memcpy(&header, frame.data(), sizeof header);
    ++(header.kind == kHopProbe ? probes_sent_ : frames_sent_);
    send(false, member.node, header.child, frame);
  }
  void send_down(const HopFrame& frame, unsigned node, unsigned child) {
    const Child to = nodes_[node].children[child];
    wire::HopFrameBytes bytes;
    send(to.is_member, to.index, 0, wire::seal_hop_frame(frame, {{node, 2}}, bytes));
  }

  void step() {
    Time next = events_.empty() ? kNever : events_.top().when;
    for (auto& m : members_) {
      next = std::min(next, m->machine.next_due());
      if (m->busy_until > now_) next = std::min(next, m->busy_until);
    }
    if (next == kNever) return;
    now_ = std::max(now_, next);
    for (auto& m : members_) m->machine.tick(now_);
    if (events_.empty() || events_.top().when > now_) return;
    const Event event = events_.top();
    events_.pop();
    if (!event.to_member) return receive(event.to, event.bytes);
    if (members_[event.to]->machine.on_datagram(event.bytes, now_) != Errc::ok) wrong_ = "a member refuses a frame";
  }

  /// It does what program.bpf.c does.
  void receive(unsigned node, std::span<const std::byte> bytes) {
    Node& at = nodes_[node];
    HopFrame frame{};
    std::memcpy(&frame, bytes.data(), bytes.size());
    HopHeader& header = frame.header;
    const unsigned child = header.child;
    if (header.kind == kHopProbe) {
      header.kind = kHopProbed;
      return send_down(frame, node, child);
    }
    HopSlot* slot = &at.slots[header.sequence & (plan_.slots - 1)];
    HopWork work = hop_claim(&at.place, slot, &header);
    if (work.todo & kHopStore) {
      hop_store(&slot->buffers, &frame.payload, hop_words(&header), work.part);
      work = hop_stored(&at.place, slot, &header);
    }
    if (work.todo & kHopFold) {
      hop_fold(&slot->buffers, &header, &at.place, slot->given);
      work = hop_folded(&at.place, slot, &header);
    }
    if (work.todo & kHopDaemon) wrong_ = "members disagree";
    HopFrame out = frame;
    if (work.flags & kHopValue) out.payload = slot->buffers.value;
    out.header.flags = static_cast<std::uint8_t>(work.flags);
    if (work.todo & kHopUp) {
      out.header.kind = kHopContribute;
      out.header.flags = static_cast<std::uint8_t>(work.flags & (kHopFull | kHopValue));
      out.header.child = at.child_of_parent;
      wire::HopFrameBytes sealed;
      send(false, at.parent, at.child_of_parent, wire::seal_hop_frame(out, {}, sealed));
    }
    out.header.kind = kHopResult;
    out.header.flags = static_cast<std::uint8_t>(work.flags & (kHopValue | kHopClosed));
    out.header.child = 0;
    if (work.todo & kHopDown)
      for (unsigned each = 0; each < at.children.size(); ++each) send_down(out, node, each);
    else if (work.todo & kHopBack)
      send_down(out, node, child);
  }

  void progress(Member& member) {
    for (unsigned n = 0; n < member.posted; ++n)
      if (!member.taken[n]) take(member, n);
    while (member.busy_until <= now_ && member.posted < plan_.numbers && may_post(member)) {
      post(member, member.posted++);
      if (plan_.has_late_members && random_.chance(0.1)) member.busy_until = now_ + Millis(random_.between(1, 40));
    }
  }
  bool may_post(const Member& member) const {
    const unsigned n = member.posted;
    unsigned waiting = 0;
    for (unsigned k = 0; k < n; ++k) waiting += member.taken[k] ? 0 : 1;
    const unsigned depth = calls_[n].kind == Kind::tcp ? 16 : plan_.window;
    const Sequence number{kFirst + n};
    if (waiting >= depth || calls_[n].kind == Kind::tcp || !plan_.waits_for_both_ways)
      return waiting < depth && member.machine.has_room(number);
    unsigned open = 0;
    while (open < n && (calls_[open].kind != Kind::tcp || member.taken[open])) ++open;
    // A contribution to n + 2 W proves that everybody has n only if whoever sends it knows n + W as closed, by either way.
    return member.machine.has_room(number) && seq_before(number, Sequence{kFirst + open + plan_.window});
  }
  void post(Member& member, unsigned n) {
    const Call& call = calls_[n];
    if (call.kind == Kind::tcp) {
      ++tcp_[n];
      return;
    }
    HopHeader header{};
    header.coll = static_cast<std::uint8_t>(call.kind == Kind::bcast       ? kHopBcast
                                            : call.kind == Kind::reduce    ? kHopReduce
                                            : call.kind == Kind::allreduce ? kHopAllreduce
                                                                           : kHopBarrier);
    header.op = call.kind == Kind::bcast || call.kind == Kind::barrier ? 12 : kSum;
    header.dtype = kUint64;
    header.root = static_cast<std::uint16_t>(call.root);
    header.payload_bytes = static_cast<std::uint16_t>(8 * call.words);
    header.sequence = kFirst + n;
    std::vector<std::uint64_t> words;
    for (unsigned w = 0; gives(member.me, n) && w < call.words; ++w) words.push_back(part(member.me, n, w));
    member.machine.contribute(header, std::as_bytes(std::span(words)), now_);
  }
  void take(Member& member, unsigned n) {
    const Call& call = calls_[n];
    if (call.kind == Kind::tcp) {
      if (tcp_[n] < plan_.members) return;
    } else {
      const bool is_done = call.kind == Kind::reduce && call.root != member.me;
      if (!is_done && !member.machine.is_answered(Sequence{kFirst + n})) return;
      const auto bytes = is_done ? std::span<const std::byte>() : member.machine.result(Sequence{kFirst + n});
      if (!is_done && bytes.size() != 8 * call.words) wrong_ = fmt::format("result {} has {} bytes", n, bytes.size());
      for (unsigned w = 0; wrong_.empty() && w < bytes.size() / 8; ++w) {
        std::uint64_t word = 0;
        std::memcpy(&word, &bytes[8 * w], 8);
        if (word != right(n, w)) wrong_ = fmt::format("member {} takes {} as result of {}", member.me, word, n);
      }
    }
    member.taken[n] = true;
    ++member.taken_count;
  }

  Plan plan_;
  Random random_;
  Time now_{};
  std::uint64_t order_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<Call> calls_;
  std::vector<unsigned> tcp_;  ///< The members that have contributed the number are counted.
  std::priority_queue<Event> events_;
  std::string wrong_;
  unsigned frames_sent_ = 0, probes_sent_ = 0;
};

Plan drawn(std::uint64_t seed) {
  Random random(seed);
  Plan plan{.seed = seed};
  plan.nodes = static_cast<unsigned>(random.between(1, 4));
  plan.members = plan.nodes + static_cast<unsigned>(random.between(1, 6));
  plan.window = 1u << random.below(4);
  plan.slots = 2 * plan.window;
  plan.loss = random.chance(0.8) ? 0.3 * random.unit() : 0;
  plan.copies = 0.2 * random.unit();
  plan.reorders = random.chance(0.7);
  plan.has_late_members = random.chance(0.5);
  plan.goes_by_tcp_too = random.chance(0.5);
  return plan;
}

TEST(HopMember, EverySumIsRightOnALossyNetwork) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) ASSERT_EQ(HopGroupWorld(drawn(seed)).run(), "") << "seed " << seed;
}

TEST(HopMember, FewerSlotsAreNoticed) {
  std::uint64_t seed = 1;
  const auto wrong = [](std::uint64_t with) {
    Plan plan = drawn(with);
    plan.slots = plan.window;
    return HopGroupWorld(plan).run();
  };
  while (seed < 100 && wrong(seed).empty()) ++seed;
  EXPECT_LT(seed, 100u);
}

TEST(HopMember, DatagramsThatDoNotWaitForTheOtherWayAreNoticed) {
  Plan plan = drawn(19);
  plan.waits_for_both_ways = false;
  EXPECT_EQ(HopGroupWorld(plan).run(), "somebody waits for ever");
}

TEST(HopMember, RepeatsNothingWhereNothingIsLost) {
  HopGroupWorld world({.seed = 5, .members = 8, .window = 1, .slots = 2});
  EXPECT_EQ(world.run(), "");
  EXPECT_EQ(world.probes_sent(), 8u);
  EXPECT_EQ(world.frames_sent(), 8 * world.datagram_numbers());
}

}  // namespace
}  // namespace sumac::proto
