#include "lab/virtual_fabric.hpp"

#include <cmath>

namespace sumac::lab {

VirtualFabric::VirtualFabric(const Plan& plan)
    : counters_(new LinkCounters[plan.links.size()]), losses_(new std::atomic<double>[plan.links.size()]) {
  slack_ns_ = plan.links.empty() ? 0 : std::numeric_limits<std::int64_t>::max();
  SplitMix64 seeds(plan.seed);
  for (const auto& link : plan.links) {
    const auto& spec = link.spec;
    set_loss(links_.size(), spec.loss);
    links_.push_back({spec.delay_ns, spec.rate_bits_per_s == 0 ? 0 : 8e9 / static_cast<double>(spec.rate_bits_per_s),
                      static_cast<double>(spec.buffer_bytes), 0, Random{seeds.next()}});
    slack_ns_ = std::min(slack_ns_, spec.delay_ns);
  }
  transit_.reserve(1U << 16U);
  ready_.reserve(1U << 16U);
}

std::int64_t VirtualFabric::cross(std::size_t link_index, Frame& frame, std::int64_t at_ns) {
  auto& link = links_[link_index];
  auto& counters = counters_[link_index];
  const double bytes = frame.wire_bytes;
  if (link.ns_per_byte > 0) {
    const double backlog =
        static_cast<double>(std::max<std::int64_t>(0, link.free_at_ns - at_ns)) / link.ns_per_byte + bytes;
    if (backlog > link.buffer_bytes) {
      LinkCounters::add(counters.dropped, 1);
      return kNever;
    }
    if (backlog > static_cast<double>(counters.backlog_max.load(std::memory_order_relaxed))) {
      counters.backlog_max.store(static_cast<std::uint64_t>(backlog), std::memory_order_relaxed);
    }
    const auto takes = [&](std::uint32_t n) { return std::llround(n * link.ns_per_byte); };
    const auto start = std::max(link.free_at_ns, at_ns);
    // The last segment cannot leave before it has come.
    link.free_at_ns = std::max(start + takes(frame.wire_bytes), frame.tail_at_ns + takes(frame.last_segment_bytes));
    frame.tail_at_ns = link.free_at_ns;
    at_ns = start + takes(frame.first_segment_bytes);
  }
  LinkCounters::add(counters.frames, 1);
  LinkCounters::add(counters.bytes, static_cast<std::uint64_t>(bytes));
  if (const double loss = this->loss(link_index); loss > 0 && link.random.chance(loss)) {
    LinkCounters::add(counters.lost, 1);
    return kNever;
  }
  frame.tail_at_ns += link.delay_ns;
  return at_ns + link.delay_ns;
}

void VirtualFabric::advance(std::int64_t now_ns, FramePool& pool) {
  while (!transit_.empty() && transit_.front().at_ns <= now_ns) {
    const Event event = pop(transit_);
    Frame* frame = event.frame;
    if (frame->flood != nullptr) {
      spread(frame, event.at_ns, pool);
      continue;
    }
    if (frame->hops == 0) {
      push(ready_, frame, frame->tail_at_ns);
      continue;
    }
    const auto out = cross(*frame->path, *frame, event.at_ns);
    if (out == kNever) {
      pool.give(frame);
      continue;
    }
    ++frame->path;
    // The last link is crossed: the frame needs no further event to become due.
    if (--frame->hops == 0) {
      push(ready_, frame, frame->tail_at_ns);
    } else {
      push(transit_, frame, out);
    }
  }
}

void VirtualFabric::spread(Frame* frame, std::int64_t at_ns, FramePool& pool) {
  const auto& here = frame->flood[frame->at];
  if (here.link != Branch::kNone) at_ns = cross(here.link, *frame, at_ns);
  for (auto next = frame->at + 1; at_ns != kNever && next != here.end; next = frame->flood[next].end) {
    const auto& branch = frame->flood[next];
    Frame* copy = pool.copy(*frame);
    copy->at = next;
    copy->to = branch.port;
    // A port at the switch itself has no link that would need an event.
    push(branch.port != Branch::kNone ? ready_ : transit_, copy,
         branch.port != Branch::kNone ? copy->tail_at_ns : at_ns);
  }
  pool.give(frame);
}

Frame* VirtualFabric::due(std::int64_t now_ns, std::int64_t& due_ns) {
  if (ready_.empty() || ready_.front().at_ns > now_ns) return nullptr;
  const Event event = pop(ready_);
  due_ns = event.at_ns;
  return event.frame;
}

std::int64_t VirtualFabric::deadline_ns() const {
  auto deadline = kNever;
  if (!ready_.empty()) deadline = ready_.front().at_ns;
  // A frame before a link comes out no earlier than the least delay later: until then its event can wait.
  if (!transit_.empty()) deadline = std::min(deadline, transit_.front().at_ns + slack_ns_);
  return deadline;
}

}  // namespace sumac::lab
