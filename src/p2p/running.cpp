#include "p2p/running.hpp"

#include <cassert>

#include "base/copy.hpp"

namespace sumac::p2p {

using coll::kNoStep;
using coll::Step;

void Running::begin(coll::Member me, const coll::Operation& asked, Algorithm algorithm, bool direct,
                    std::uint64_t eager_max) {
  operation = asked;
  is_direct = direct;
  state = State::under_way;
  has_asked = false;
  early.clear();
  touched_.clear();
  eager_max_ = eager_max;
  pattern_.clear();
  write_pattern(pattern_, me, asked, algorithm, direct);
  if (pattern_.work_bytes > work_bytes_) {
    work_bytes_ = pattern_.work_bytes;
    work_ = std::make_unique_for_overwrite<std::byte[]>(work_bytes_);
  }
  left_ = static_cast<std::uint32_t>(pattern_.steps.size());
  make_lanes(me);
  link();
}

void Running::link() {
  const auto count = static_cast<std::uint32_t>(pattern_.steps.size());
  marks_.assign(count, {});
  runnable_.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t a = 0; a < 2; ++a) {
      const std::uint32_t after = pattern_.steps[i].after[a];
      if (after == kNoStep) continue;
      ++marks_[i].waits;
      marks_[i].next_waiter[a] = marks_[after].first_waiter;
      marks_[after].first_waiter = 2 * i + a;
    }
  }
  for (std::uint32_t i = count; i-- > 0;)
    if (marks_[i].waits == 0) runnable_.push_back(i);
}

void Running::make_lanes(coll::Member me) {
  outs_.clear();
  ins_.clear();
  out_of_.assign(me.size, kNoStep);
  in_of_.assign(me.size, kNoStep);
  const auto& steps = pattern_.steps;
  const auto each = [&](auto&& body) {
    for (std::uint32_t i = 0; i < steps.size(); ++i) {
      if (steps[i].what == Step::Do::send) body(outs_, out_of_, steps[i].peer, i);
      if (steps[i].arrives()) body(ins_, in_of_, steps[i].peer, i);
    }
  };
  each([](auto& lanes, auto& of, std::uint32_t peer, std::uint32_t) {
    if (of[peer] == kNoStep) {
      of[peer] = static_cast<std::uint32_t>(lanes.size());
      lanes.push_back({.peer = peer});
    }
    ++lanes[of[peer]].count;
  });
  std::uint32_t first = 0;
  for (auto* lanes : {&outs_, &ins_})
    for (Lane& lane : *lanes) {
      lane.first = first;
      first += lane.count;
    }
  order_.resize(first);
  // `next` counts while the lanes are filled.
  each([&](auto& lanes, auto& of, std::uint32_t peer, std::uint32_t i) {
    Lane& lane = lanes[of[peer]];
    order_[lane.first + lane.next++] = i;
  });
  for (auto* lanes : {&outs_, &ins_})
    for (Lane& lane : *lanes) lane.next = 0;
}

std::byte* Running::at(coll::Part part) const noexcept {
  switch (part.area) {
    case coll::Area::in:
      return static_cast<std::byte*>(operation.in == coll::kInPlace ? operation.out : const_cast<void*>(operation.in)) +
             part.at;
    case coll::Area::out: return static_cast<std::byte*>(operation.out) + part.at;
    case coll::Area::work: return work_.get() + part.at;
    case coll::Area::none: break;
  }
  return nullptr;
}

void Running::perform(const Step& step) {
  if (step.bytes == 0) return;
  if (step.what == Step::Do::copy) {
    if (at(step.to) != at(step.from)) std::memmove(at(step.to), at(step.from), step.bytes);
  } else if (step.what == Step::Do::combine) {
    const auto& fold = *operation.fold;
    fold.combine(at(step.to), at(step.from), at(step.other), step.bytes / fold.element_bytes);
  }
}

void Running::run() {
  while (!runnable_.empty()) {
    const std::uint32_t i = runnable_.back();
    runnable_.pop_back();
    const Step& step = pattern_.steps[i];
    // Messages are sent and received in the order of their lanes, so only the engine runs those steps.
    if (step.what == Step::Do::send || step.arrives()) {
      touched_.push_back({step.peer, step.what == Step::Do::send});
      continue;
    }
    perform(step);
    finish(i);
  }
}

void Running::finish(std::uint32_t step) {
  assert(left_ > 0);
  --left_;
  for (std::uint32_t waiter = marks_[step].first_waiter; waiter != kNoStep;) {
    Mark& mark = marks_[waiter / 2];
    if (--mark.waits == 0) runnable_.push_back(waiter / 2);
    waiter = mark.next_waiter[waiter % 2];
  }
}

void Running::open(Lane& lane) noexcept {
  while (lane.open < lane.count && marks_[order_[lane.first + lane.open]].waits == 0) {
    const bool must_know = is_long(pattern_.steps[order_[lane.first + lane.open]].bytes);
    ++lane.open;
    if (must_know) lane.wanted = lane.open;
  }
}

std::span<const std::byte> Running::next_out(const Lane& lane) const noexcept {
  const Step& step = step_of(lane);
  return {at(step.from), step.bytes};
}

std::byte* Running::next_in(const Lane& lane) const noexcept {
  const Step& step = step_of(lane);
  return step.what == Step::Do::receive ? at(step.to) : nullptr;
}

void Running::take(Lane& lane, const std::byte* body) {
  const std::uint32_t i = next_step(lane);
  const Step& step = pattern_.steps[i];
  if (step.what == Step::Do::add) {
    const auto& fold = *operation.fold;
    const std::byte* own = at(step.from);
    fold.combine(at(step.to), step.arrived_first ? body : own, step.arrived_first ? own : body,
                 step.bytes / fold.element_bytes);
  } else if (body != at(step.to)) {
    copy_bytes(at(step.to), body, step.bytes);
  }
  ++lane.next;
  finish(i);
}

void Running::left(std::uint32_t step) { finish(step); }

}  // namespace sumac::p2p
