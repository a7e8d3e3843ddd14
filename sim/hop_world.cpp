#include "sim/hop_world.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <deque>

namespace sumac::sim {
namespace {

void mix(std::uint64_t& hash, std::uint64_t word) {
  hash = (hash ^ word) * 0xff51afd7ed558ccdull;
  hash ^= hash >> 32;
  hash *= 0xc4ceb9fe1a85ec53ull;
  hash ^= hash >> 29;
}

}  // namespace

HopWorld::HopWorld(const HopCase& plan) : plan_(&plan) {
  places_.emplace_back();
  places_[0].place.is_root = 1;
  for (const char letter : plan.tree) {
    Place& here = places_.back();
    const auto index = static_cast<std::uint8_t>(here.children.size());
    if (letter == '/') {
      places_.emplace_back();
    } else if (letter == 'n') {
      leaf_index_ = index;
      here.children.push_back(kNone);
    } else {
      at_[members_count_] = {static_cast<std::uint8_t>(places_.size() - 1), index};
      here.children.push_back(members_count_++);
    }
  }
  for (std::size_t node = 0; node < places_.size(); ++node) {
    places_[node].place.children = static_cast<std::uint32_t>(places_[node].children.size());
    places_[node].place.slots = plan.slots;
    for (std::size_t i = 0; i < places_[node].children.size(); ++i) {
      const Place& leaf = places_.back();
      const auto child = places_[node].children[i];
      places_[node].place.alone[i] = child != kNone ? child : leaf.children.size() == 1 ? leaf.children[0] : kHopMany;
    }
    for (unsigned i = 0; i < plan.slots; ++i) hop_begin(&slots_[node][i], kFirst, plan.slots, i);
  }
}

/// No sum of other numbers, or of one number twice, is a right one.
std::uint64_t HopWorld::contribution(unsigned member, unsigned number) const {
  return is_bcast(number) ? 1000 * member + number + 1 : std::uint64_t{17 + number} << 16 * member;
}

std::uint64_t HopWorld::right(unsigned number) const {
  if (is_bcast(number)) return contribution(root_of(number), number);
  std::uint64_t sum = 0;
  for (unsigned m = 0; m < members_count_; ++m) sum += gives(m, number) ? contribution(m, number) : 0;
  return sum;
}

bool HopWorld::is_done(unsigned member, unsigned number) const {
  return members_[member].calls > number && (is_early(member, number) || (members_[member].has >> number & 1));
}

bool HopWorld::may_call(unsigned member) const {
  const unsigned n = members_[member].calls;
  if (n >= plan_->kinds.size() || static_cast<int>(member) == plan_->late_member) return false;
  const auto is_over = [&](unsigned number) {
    return is_done(member, number) && (is_tcp(number) || (members_[member].closed >> number & 1));
  };
  const unsigned window = is_tcp(n) ? plan_->tcp_window : plan_->window;
  if (n >= window && !is_over(n - window)) return false;
  if (plan_->holds_back)
    for (unsigned k = 0; k + plan_->window <= n; ++k)
      if (!is_tcp(k) && !is_over(k)) return false;
  return true;
}

bool HopWorld::tcp_is_complete(unsigned number) const {
  for (unsigned m = 0; m < members_count_; ++m)
    if (members_[m].calls <= number) return false;
  return is_tcp(number);
}

HopWorld::Frame HopWorld::from_member(unsigned member, unsigned number) const {
  const bool has_value = gives(member, number);
  return {.kind = kHopContribute,
          .number = static_cast<std::uint8_t>(number),
          .flags = static_cast<std::uint8_t>(kHopFull | (has_value ? kHopValue : 0)),
          .is_odd = static_cast<std::uint8_t>(member == 0 && static_cast<int>(number) == plan_->odd_number),
          .value = has_value ? contribution(member, number) : 0};
}

HopWorld::Begun HopWorld::begin(unsigned node, unsigned child, const Frame& frame) {
  Begun begun{.node = static_cast<std::uint8_t>(node)};
  HopHeader& header = begun.frame.header;
  header.kind = frame.kind;
  header.flags = frame.flags;
  header.child = static_cast<std::uint8_t>(child);
  header.coll = is_bcast(frame.number) ? kHopBcast : is_reduce(frame.number) ? kHopReduce : kHopAllreduce;
  header.op = is_bcast(frame.number) ? 12 : 2;
  header.dtype = 2;
  header.payload_bytes = 8;
  header.sequence = kFirst + frame.number;
  header.root =
      static_cast<std::uint16_t>(is_bcast(frame.number) || is_reduce(frame.number) ? root_of(frame.number) : 0);
  header.meaning = frame.is_odd;
  begun.frame.payload.word[0] = frame.value;
  begun.work = hop_claim(&places_[node].place, &slot(node, frame.number), &header);
  return begun;
}

bool HopWorld::go_on(Begun& begun, std::vector<Frame>& out) {
  const HopHeader& header = begun.frame.header;
  const Place& here = places_[begun.node];
  const auto number = static_cast<std::uint8_t>(header.sequence - kFirst);
  HopSlot& at = slot(begun.node, number);
  if (begun.work.todo & kHopStore) {
    hop_store(&at.buffers, &begun.frame.payload, 1, begun.work.part);
    begun.work = hop_stored(&here.place, &at, &header);
    return begun.work.todo == 0;
  }
  if (begun.work.todo & kHopFold) {
    hop_fold(&at.buffers, &header, &here.place, at.given);
    begun.work = hop_folded(&here.place, &at, &header);
    return begun.work.todo == 0;
  }
  const auto add = [&](std::uint8_t kind, unsigned child) {
    out.push_back({.node = begun.node,
                   .kind = kind,
                   .child = static_cast<std::uint8_t>(child),
                   .number = number,
                   .flags = static_cast<std::uint8_t>(begun.work.flags),
                   .is_odd = static_cast<std::uint8_t>(header.meaning),
                   .value = begun.work.flags & kHopValue ? at.buffers.value.word[0] : 0});
  };
  if (begun.work.todo & kHopUp) add(kHopContribute, 0);
  if (begun.work.todo & kHopBack) add(kHopResult, header.child);
  if (begun.work.todo & kHopDown)
    for (unsigned child = 0; child < here.place.children; ++child) add(kHopResult, child);
  return true;
}

void HopWorld::deliver(unsigned node, unsigned child, const Frame& frame, std::vector<Frame>& out) {
  Begun begun = begin(node, child, frame);
  while (!go_on(begun, out)) {
  }
}

std::string HopWorld::deliver_result(unsigned member, const Frame& frame) {
  Member& m = members_[member];
  const auto bit = static_cast<std::uint8_t>(1u << frame.number);
  if (frame.flags & kHopClosed) m.closed |= bit;
  // A slow processor may send a later number's value under an old number, which everybody has by then.
  if (is_early(member, frame.number) || (m.has & bit)) return {};
  m.has |= bit;
  const bool needs_all = !is_bcast(frame.number) && !is_reduce(frame.number);
  if (needs_all && m.calls <= frame.number) return "a sum is complete without a member";
  if (frame.value == right(frame.number) && static_cast<int>(frame.number) != plan_->odd_number) return {};
  return fmt::format("member {} takes {:#x} for {:#x} as result of {}", member, frame.value, right(frame.number),
                     frame.number);
}

/// A node's frame arrives.
std::string HopWorld::receive(const Frame& frame, std::vector<Frame>& out) {
  if (frame.kind == kHopContribute) return deliver(0, leaf_index_, frame, out), std::string();
  const auto child = places_[frame.node].children[frame.child];
  if (child != kNone) return deliver_result(child, frame);
  return deliver(1, 0, frame, out), std::string();
}

std::string HopWorld::send(const std::vector<Frame>& out) {
  for (const Frame& frame : out) {
    const auto at = std::lower_bound(network_.begin(), network_.end(), frame);
    if (at == network_.end() || *at != frame) network_.insert(at, frame);
  }
  return judge_verdict();
}

/// User space freezes the root's slots one after the other. Behind the last one it reads them and names the verdict.
void HopWorld::freeze_next() {
  hop_freeze(&slots_[0][frozen_++]);
  if (frozen_ < plan_->slots) return;
  verdict_ = 0;
  while (verdict_ < plan_->kinds.size() && hop_is_answered(&slot(0, verdict_), kFirst + verdict_)) ++verdict_;
}

/// Members complete in order, so a later number that was answered before completes nowhere.
std::string HopWorld::judge_verdict() const {
  for (const Frame& frame : network_)
    if (frame.kind == kHopResult && frame.number == verdict_)
      return fmt::format("{} is answered after a verdict on it", verdict_);
  return {};
}

void HopWorld::each_step(const std::function<void(HopStep)>& visit) const {
  using enum HopStep::Kind;
  const auto arrival = begun_.size() < plan_->slow ? arrives_slowly : arrives;
  for (unsigned m = 0; m < members_count_; ++m) {
    if (may_call(m)) visit({call, m});
    for (unsigned n = 0; n < members_[m].calls; ++n) {
      if (!is_tcp(n))
        visit({arrival, m, n});
      else if (tcp_is_complete(n) && !is_done(m, n))
        visit({tcp_result, m, n});
    }
  }
  for (unsigned i = 0; i < network_.size(); ++i) {
    const bool to_member =
        network_[i].kind == kHopResult && places_[network_[i].node].children[network_[i].child] != kNone;
    visit({to_member ? arrives : arrival, HopStep::kFrame, i});
  }
  for (unsigned i = 0; i < begun_.size(); ++i) visit({goes_on, i});
  if (plan_->freezes && frozen_ < plan_->slots) visit({freeze});
}

std::string HopWorld::apply(HopStep step) {
  std::vector<Frame> out;
  std::string wrong;
  switch (step.kind) {
    case HopStep::Kind::call: ++members_[step.index].calls; break;
    case HopStep::Kind::tcp_result: members_[step.index].has |= static_cast<std::uint8_t>(1u << step.number); break;
    case HopStep::Kind::freeze: freeze_next(); break;
    case HopStep::Kind::goes_on:
      if (go_on(begun_[step.index], out)) begun_.erase(begun_.begin() + step.index);
      break;
    case HopStep::Kind::arrives:
      if (step.index == HopStep::kFrame) {
        const Frame frame = network_[step.number];
        wrong = receive(frame, out);
      } else {
        deliver(at_[step.index].first, at_[step.index].second, from_member(step.index, step.number), out);
      }
      break;
    case HopStep::Kind::arrives_slowly: {
      Begun begun;
      if (step.index != HopStep::kFrame)
        begun = begin(at_[step.index].first, at_[step.index].second, from_member(step.index, step.number));
      else if (network_[step.number].kind == kHopContribute)
        begun = begin(0, leaf_index_, network_[step.number]);
      else
        begun = begin(1, 0, network_[step.number]);
      if ((begun.work.todo & ~kHopNew) != 0) begun_.push_back(begun);
    }
  }
  const std::string after = send(out);
  return wrong.empty() ? after : wrong;
}

std::string HopWorld::settle() const {
  HopWorld w = *this;
  std::deque<Frame> way;
  std::string wrong;
  const auto drain = [&](const std::vector<Frame>& first) {
    way.insert(way.end(), first.begin(), first.end());
    for (; !way.empty() && wrong.empty(); way.pop_front()) {
      std::vector<Frame> out;
      wrong = w.receive(way.front(), out);
      way.insert(way.end(), out.begin(), out.end());
    }
  };
  for (; !w.begun_.empty(); w.begun_.pop_back()) {
    std::vector<Frame> lost;
    while (!w.go_on(w.begun_.back(), lost)) {
    }
  }
  while (w.frozen_ > 0 && w.frozen_ < plan_->slots) w.freeze_next();
  for (std::uint64_t before = 0; before != w.hash_without_network() && wrong.empty();) {
    before = w.hash_without_network();
    for (unsigned m = 0; m < members_count_; ++m) {
      while (w.may_call(m)) ++w.members_[m].calls;
      for (unsigned n = 0; n < w.members_[m].calls; ++n) {
        if (is_tcp(n)) {
          if (w.tcp_is_complete(n)) w.members_[m].has |= static_cast<std::uint8_t>(1u << n);
        } else if (!w.is_done(m, n) || !(w.members_[m].closed >> n & 1)) {
          std::vector<Frame> out;
          w.deliver(at_[m].first, at_[m].second, w.from_member(m, n), out);
          drain(out);
        }
      }
    }
  }
  if (!wrong.empty()) return wrong;
  for (unsigned m = 0; m < members_count_; ++m)
    for (unsigned n = 0; n < plan_->kinds.size(); ++n) {
      if (static_cast<int>(m) == plan_->late_member ||
          (plan_->late_member >= 0 && (n >= plan_->window || !(is_bcast(n) || is_early(m, n)))) ||
          (plan_->odd_number >= 0 && static_cast<int>(n) >= plan_->odd_number) || n >= w.verdict_)
        break;
      if (!w.is_done(m, n)) return fmt::format("member {} never completes {}", m, n);
    }
  return {};
}

std::uint64_t HopWorld::hash_without_network() const {
  std::uint64_t hash = 0x9E3779B97F4A7C15ull;
  for (const Member& m : members_) mix(hash, m.calls | m.has << 8 | m.closed << 16);
  const auto mix_bytes = [&](const auto& object) {
    static_assert(sizeof object % 8 == 0);
    std::array<std::uint64_t, sizeof object / 8> words;
    std::memcpy(words.data(), &object, sizeof object);
    for (const auto word : words) mix(hash, word);
  };
  for (std::size_t node = 0; node < places_.size(); ++node)
    for (unsigned i = 0; i < plan_->slots; ++i) mix_bytes(slots_[node][i]);
  for (const Begun& begun : begun_) {
    mix(hash, begun.node);
    mix_bytes(begun.frame);
    mix(hash, begun.work.todo | std::uint64_t{begun.work.flags} << 16 | std::uint64_t{begun.work.part} << 32);
  }
  mix(hash, frozen_ | verdict_ << 8);
  return hash == 0 ? 1 : hash;
}

std::uint64_t HopWorld::hash() const {
  std::uint64_t hash = hash_without_network();
  for (const Frame& f : network_) {
    mix(hash, std::uint64_t{f.node} | std::uint64_t{f.kind} << 8 | std::uint64_t{f.child} << 16 |
                  std::uint64_t{f.number} << 24 | std::uint64_t{f.flags} << 32 | std::uint64_t{f.is_odd} << 40);
    mix(hash, f.value);
  }
  return hash == 0 ? 1 : hash;
}

std::string HopWorld::describe(HopStep step) const {
  using enum HopStep::Kind;
  switch (step.kind) {
    case call: return fmt::format("member {} calls {}", step.index, members_[step.index].calls);
    case tcp_result: return fmt::format("member {} receives {} by TCP", step.index, step.number);
    case freeze: return fmt::format("slot {} of the root is frozen", frozen_);
    case goes_on: {
      const Begun& begun = begun_[step.index];
      return fmt::format("node {} goes on with {} (todo {})", begun.node, begun.frame.header.sequence - kFirst,
                         begun.work.todo);
    }
    default: break;
  }
  const char* slowly = step.kind == arrives_slowly ? ", slowly" : "";
  if (step.index != HopStep::kFrame)
    return fmt::format("contribution {} of member {} arrives{}", step.number, step.index, slowly);
  const Frame& f = network_[step.number];
  if (f.kind == kHopContribute)
    return fmt::format("contribution {} of the leaf arrives, flags {}{}", f.number, f.flags, slowly);
  return fmt::format("result {} of node {} arrives at child {}, flags {}{}", f.number, f.node, f.child, f.flags,
                     slowly);
}

}  // namespace sumac::sim
