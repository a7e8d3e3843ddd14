#include "sim/hop_group.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "base/random.hpp"
#include "proto/hop_member.hpp"
#include "proto/test_node_kernel.hpp"
#include "sim/network.hpp"

namespace sumac::sim {
namespace {

constexpr std::uint8_t kSum = 2, kNoSum = 12, kUint64 = 2;
constexpr std::uint32_t kFirst = 0xFFFFFFF0;  // The numbers of a group pass 0.
constexpr unsigned kNumbers = 30, kLinkDepth = 16;
constexpr std::uint64_t kEventsMax = 400'000;

bool keeps(HopGroupRule rule) { return broken_hop_group_rule != static_cast<int>(rule); }

struct GroupPlan {
  unsigned nodes = 1, members = 2, window = 1;
  bool is_calm = false;  ///< Nothing is lost, late or out of order.
  bool has_late_members = false, goes_by_links_too = false;
  Faults faults;
};

GroupPlan drawn(Random& random) {
  GroupPlan plan;
  plan.nodes = static_cast<unsigned>(random.between(1, 4));
  plan.members = plan.nodes + static_cast<unsigned>(random.between(1, 6));
  plan.is_calm = random.chance(0.1);
  plan.faults.delay_max = Micros(10);
  plan.goes_by_links_too = random.chance(0.5);
  if (plan.is_calm) return plan;
  plan.window = 1u << random.below(4);
  plan.has_late_members = random.chance(0.5);
  plan.faults.frame_copies = random.chance(0.8) ? 0.3 * random.unit() : 0;
  plan.faults.delay_max = Micros(random.between(20, 500));
  plan.faults.datagram_loss = random.chance(0.8) ? 0.3 * random.unit() : 0;
  return plan;
}

class HopGroup {
 public:
  HopGroup(std::uint64_t seed, int verbose)
      : random_(seed ^ 0x40b9ull),
        plan_(drawn(random_)),
        network_(plan_.faults, seed,
                 {.message = {},
                  .alarm = [this](std::uint64_t member, Time) { members_[member]->alarm_at = kNever; },
                  .frame = [this](EndId to, proto::LinkId link, BufferRef frame,
                                  Time now) { deliver(to, link, frame.bytes(), now); }}) {
    if (verbose > 0) network_.log_frames();
    if (verbose > 1) network_.print_events();
    for (unsigned i = 0; i < plan_.nodes; ++i) {
      Node& node = *nodes_.emplace_back(std::make_unique<Node>(*this, i));
      if (i == 0) continue;
      node.parent = draw(i);
      node.group.terms_of_parent.child = adopt(node.parent, {false, i}, i, node.group.up, node.group.parent);
      node.group.results_of_parent = results_of(node.parent);
    }
    for (unsigned m = 0; m < plan_.members; ++m) {
      // Each node has a member at least, since a node without children is none of the group's.
      const unsigned leaf = m < plan_.nodes ? plan_.nodes - 1 - m : draw(plan_.nodes);
      proto::HopMemberConfig config;
      config.window = plan_.window;
      config.levels = levels();
      config.down = results_of(leaf);
      config.first = Sequence{kFirst};
      proto::LinkId up;
      config.child = adopt(leaf, {true, m}, plan_.nodes + m, config.up, up);
      members_.push_back(std::make_unique<Member>(*this, m, up, config));
    }
    for (auto& node : nodes_) begin(*node);
    for (unsigned n = 0; n < kNumbers; ++n) {
      const Kind kind = static_cast<Kind>(random_.below(plan_.goes_by_links_too ? 5 : 4));
      calls_.push_back({kind, draw(plan_.members), kind == Kind::barrier ? 0 : draw(4) + 1});
    }
    contributed_by_links_.resize(kNumbers);
    frames_.resize(kNumbers);
  }

  Report run() {
    for (auto& m : members_) m->machine.probe(network_.now());
    for (std::uint64_t events = 0; wrong_.empty() && !go_on(); ++events)
      if (events > kEventsMax || !network_.step()) wrong_ = "somebody waits for ever" + still_waiting();
    if (wrong_.empty()) judge_repetitions();
    Report report;
    report.failure = wrong_;
    if (!wrong_.empty()) report.last_events = network_.last_events(400);
    report.groups = 1;
    report.operations = kNumbers;
    report.messages = std::accumulate(frames_.begin(), frames_.end(), std::uint64_t{0});
    report.virtual_seconds = std::chrono::duration<double>(network_.now().time_since_epoch()).count();
    return report;
  }

 private:
  enum class Kind { allreduce, reduce, bcast, barrier, by_links };
  struct Child {
    bool is_member = false;
    unsigned index = 0;
  };
  struct Node final : proto::test::TestKernel::Wire {
    Node(HopGroup& world, unsigned index) : world_(world), me(index), kernel(*this, world.plan_.window) {}
    void carry(const proto::test::TestKernel&, proto::LinkId to, std::span<const std::byte> datagram) override {
      world_.network_.send_frame(me, to, datagram);
    }
    void differs(const HopHeader&, std::uint64_t, std::uint32_t) override { world_.wrong_ = "members disagree"; }

    HopGroup& world_;
    const EndId me;
    unsigned parent = 0;
    std::vector<Child> children;
    proto::DatagramNode::Group group;
    proto::test::TestKernel kernel;
  };
  struct Call {
    Kind kind;
    unsigned root, words;
  };
  struct Member final : proto::HopOutbox {
    Member(HopGroup& world, unsigned index, proto::LinkId link, const proto::HopMemberConfig& config)
        : world_(world), me(index), up(link), machine(config, *this), taken(kNumbers) {}
    void send_datagram(std::span<const std::byte> frame) override { world_.send_up(*this, frame); }

    HopGroup& world_;
    const unsigned me;
    const proto::LinkId up;
    proto::HopMember machine;
    unsigned posted = 0, taken_count = 0;
    Time busy_until{}, alarm_at = kNever;
    std::vector<bool> taken;
  };

  unsigned draw(unsigned below) { return static_cast<unsigned>(random_.below(below)); }
  EndId end_of(const Member& member) const { return plan_.nodes + member.me; }

  static HopKey results_of(unsigned node) { return {{node, 2}}; }
  /// Returns the new child's index. `key` and `up`: by which it sends.
  std::uint8_t adopt(unsigned parent, Child child, EndId end, HopKey& key, proto::LinkId& up) {
    Node& node = *nodes_[parent];
    key = {{end, 1}};
    up = network_.connect(end, parent);
    node.group.children.push_back({.link = up, .end = {}, .key = key});
    node.children.push_back(child);
    return static_cast<std::uint8_t>(node.children.size() - 1);
  }
  void begin(Node& node) {
    node.group.first = Sequence{kFirst};
    node.group.window = keeps(HopGroupRule::enough_slots) ? plan_.window : std::max(1u, plan_.window / 2);
    node.group.results = results_of(node.me);
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      unsigned last = node.children[i].index;
      const bool is_one = node.children[i].is_member || members_below(node.children[i].index, last) == 1;
      if (is_one) node.group.children[i].alone = last;
    }
    if (!node.kernel.reserve(static_cast<std::uint32_t>(node.children.size())) || !node.kernel.begin(node.group))
      wrong_ = "a node's kernel does not begin";
  }
  unsigned members_below(unsigned node, unsigned& last) const {
    unsigned count = 0;
    for (const Child& child : nodes_[node]->children) {
      if (child.is_member) last = child.index;
      count += child.is_member ? 1 : members_below(child.index, last);
    }
    return count;
  }
  unsigned levels() const {
    unsigned most = 1;
    for (unsigned node = 0; node < nodes_.size(); ++node) {
      unsigned here = 1;
      for (unsigned at = node; at != 0; at = nodes_[at]->parent) ++here;
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
  /// A bcast has its root's data, a reduce those of the others.
  bool gives(unsigned member, unsigned n) const {
    const Call& call = calls_[n];
    return call.kind == Kind::bcast ? call.root == member : call.kind != Kind::reduce || call.root != member;
  }

  void send_up(Member& member, std::span<const std::byte> frame) {
    HopHeader header;
    std::memcpy(&header, frame.data(), sizeof header);
    ++(header.kind == kHopProbe ? probes_sent_ : frames_[header.sequence - kFirst]);
    network_.send_frame(end_of(member), member.up, frame);
  }

  void deliver(EndId to, proto::LinkId link, std::span<const std::byte> bytes, Time now) {
    if (to < plan_.nodes) return nodes_[to]->kernel.receive(link, bytes);
    if (members_[to - plan_.nodes]->machine.on_datagram(bytes, now) != Errc::ok) wrong_ = "a member refuses a frame";
  }

  /// Each member takes what is complete, calls what it may, and asks the network for its next alarm. Returns whether all are done.
  bool go_on() {
    const Time now = network_.now();
    bool is_over = true;
    for (auto& m : members_) {
      m->machine.tick(now);
      progress(*m);
      is_over = is_over && m->taken_count == kNumbers && m->machine.is_idle();
      const Time due = m->busy_until > now ? std::min(m->busy_until, m->machine.next_due()) : m->machine.next_due();
      if (due < m->alarm_at) network_.alarm(m->alarm_at = due, m->me);
    }
    return is_over;
  }
  void progress(Member& member) {
    for (unsigned n = 0; n < member.posted; ++n)
      if (!member.taken[n]) take(member, n);
    while (member.busy_until <= network_.now() && member.posted < kNumbers && may_post(member)) {
      post(member, member.posted++);
      if (plan_.has_late_members && random_.chance(0.1))
        member.busy_until = network_.now() + Millis(random_.between(1, 40));
    }
  }
  bool may_post(const Member& member) const {
    const unsigned n = member.posted;
    unsigned waiting = 0;
    for (unsigned k = 0; k < n; ++k) waiting += member.taken[k] ? 0 : 1;
    const bool is_by_links = calls_[n].kind == Kind::by_links;
    const Sequence number{kFirst + n};
    if (waiting >= (is_by_links ? kLinkDepth : plan_.window) || !member.machine.has_room(number)) return false;
    if (is_by_links || !keeps(HopGroupRule::awaits_both_ways)) return true;
    unsigned open = 0;
    while (open < n && (calls_[open].kind != Kind::by_links || member.taken[open])) ++open;
    // A contribution to n + 2 W proves that everybody has n only if its sender knows n + W as closed, by either way.
    return seq_before(number, Sequence{kFirst + open + plan_.window});
  }
  void post(Member& member, unsigned n) {
    const Call& call = calls_[n];
    if (call.kind == Kind::by_links) {
      // The others, which may have been asked already, take its result then.
      if (++contributed_by_links_[n] == plan_.members) network_.alarm(network_.now(), member.me);
      return;
    }
    HopHeader header{};
    header.coll = static_cast<std::uint8_t>(call.kind == Kind::bcast       ? kHopBcast
                                            : call.kind == Kind::reduce    ? kHopReduce
                                            : call.kind == Kind::allreduce ? kHopAllreduce
                                                                           : kHopBarrier);
    header.op = call.kind == Kind::bcast || call.kind == Kind::barrier ? kNoSum : kSum;
    header.dtype = kUint64;
    header.root = static_cast<std::uint16_t>(call.root);
    header.payload_bytes = static_cast<std::uint16_t>(8 * call.words);
    header.sequence = kFirst + n;
    std::vector<std::uint64_t> words;
    for (unsigned w = 0; gives(member.me, n) && w < call.words; ++w) words.push_back(part(member.me, n, w));
    member.machine.contribute(header, std::as_bytes(std::span(words)), network_.now());
  }
  void take(Member& member, unsigned n) {
    const Call& call = calls_[n];
    if (call.kind == Kind::by_links) {
      if (contributed_by_links_[n] < plan_.members) return;
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

  bool is_rooted(const Call& call) const { return call.kind == Kind::bcast || call.kind == Kind::reduce; }
  /// Without losses and late members each member sends a number once, and one probe. It may ask once more whether a rooted number
  /// is closed, which may be answered before all have contributed.
  void judge_repetitions() {
    if (!plan_.is_calm) return;
    if (probes_sent_ != plan_.members) wrong_ = fmt::format("{} members send {} probes", plan_.members, probes_sent_);
    for (unsigned n = 0; n < kNumbers; ++n) {
      const unsigned least = calls_[n].kind == Kind::by_links ? 0 : plan_.members;
      const unsigned most = is_rooted(calls_[n]) ? 2 * least : least;
      if (frames_[n] < least || frames_[n] > most)
        wrong_ = fmt::format("{} frames for number {} of {} members, though nothing was lost", frames_[n], n, least);
    }
  }
  std::string still_waiting() const {
    std::string text;
    for (const auto& m : members_)
      text += fmt::format("; member {} has posted {} and taken {}", m->me, m->posted, m->taken_count);
    return text;
  }

  Random random_;
  const GroupPlan plan_;
  Network network_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<Call> calls_;
  std::vector<unsigned> contributed_by_links_;  ///< [number]: so many members have.
  std::string wrong_;
  std::vector<std::uint64_t> frames_;  ///< [number]: sent by members.
  std::uint64_t probes_sent_ = 0;
};

}  // namespace

Report run_hop_group_seed(std::uint64_t seed, int verbose) {
  Report report = HopGroup(seed, verbose).run();
  report.seed = seed;
  return report;
}

}  // namespace sumac::sim
