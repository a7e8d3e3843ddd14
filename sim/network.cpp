#include "sim/network.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "hop/frame.h"
#include "proto/id_pool.hpp"

namespace sumac::sim {

namespace {
constexpr std::size_t kLogSize = 2048;
constexpr Duration kReorderMax = Millis(10);
constexpr Duration kLateMin = Millis(200), kLateMax = Millis(3000);

wire::AggHeader of_former_group(wire::AggHeader header) {
  const auto generation = static_cast<std::uint16_t>(proto::id_generation(header.group_id) - 1);
  header.group_id = proto::make_group_id(generation, proto::id_number(header.group_id));
  return header;
}
}  // namespace

Network::Network(const Faults& faults, std::uint64_t seed, Handler handler)
    : faults_(faults), random_(seed ^ 0xfeedull), datagram_random_(seed ^ 0xd47aull), handler_(std::move(handler)) {
  log_.resize(kLogSize);
}

proto::LinkId Network::connect(EndId child, EndId parent) {
  Link link{.child = child, .parent = parent};
  link.delay = Nanos(random_.between(10'000, faults_.delay_max.count()));
  links_.push_back(link);
  return {static_cast<std::uint32_t>(links_.size() - 1)};
}

void Network::close(proto::LinkId link) { links_[link.value].open = false; }

EndId Network::other_end(proto::LinkId link, EndId end) const {
  const Link& l = links_[link.value];
  return l.child == end ? l.parent : l.child;
}

BufferRef Network::frame_of(const wire::AggHeader& header, std::span<const std::byte> body) {
  BufferRef frame = pool_.acquire(wire::kAggHeaderBytes + body.size());
  wire::store(frame.data(), header);
  if (!body.empty()) std::memcpy(frame.data() + wire::kAggHeaderBytes, body.data(), body.size());
  return frame;
}

BufferRef Network::frame_of(std::span<const std::byte> bytes) {
  BufferRef frame = pool_.acquire(bytes.size());
  std::memcpy(frame.data(), bytes.data(), bytes.size());
  return frame;
}

void Network::push(Time at, EndId to, std::uint32_t link, BufferRef frame, bool is_datagram) {
  std::uint32_t index;
  if (free_frames_.empty()) {
    frames_.emplace_back();
    index = static_cast<std::uint32_t>(frames_.size() - 1);
  } else {
    index = free_frames_.back();
    free_frames_.pop_back();
  }
  frames_[index] = std::move(frame);
  queue_.add(at, {0, index + 1, link, to, is_datagram});
  ++messages_under_way_;
}

void Network::send(EndId from, proto::LinkId id, const wire::AggHeader& header, std::span<const std::byte> body,
                   bool surely) {
  Link& link = links_[id.value];
  const EndId to = other_end(id, from);
  if (!link.open) return;
  const bool connects = header.kind == wire::AggKind::hello || header.kind == wire::AggKind::welcome ||
                        header.kind == wire::AggKind::proof;
  if (surely || connects) {
    log('>', from, to, header);
    link.last_arrival[from == link.child] = now();
    push(now(), to, id.value, frame_of(header, body));
    return;
  }
  const bool data = wire::carries_data(header.kind);
  // Few control messages decide much, so more of them are copied late.
  if (random_.chance(data ? faults_.late_copy : faults_.late_copy * 5)) {
    push(now() + Nanos(random_.between(kLateMin.count(), kLateMax.count())), to, id.value, frame_of(header, body));
    log('l', from, to, header);
  }
  const bool has_ghosts = header.kind == wire::AggKind::contribute || header.kind == wire::AggKind::result ||
                          header.kind == wire::AggKind::verdict;
  if (has_ghosts && random_.chance(faults_.ghost)) {
    const wire::AggHeader old = of_former_group(header);
    BufferRef ghost = frame_of(old, body);
    if (data)
      for (std::size_t i = wire::kAggHeaderBytes; i < ghost.size(); ++i) ghost.data()[i] ^= std::byte{0x5A};
    push(now(), to, id.value, std::move(ghost));
    log('g', from, to, old);
  }
  if (random_.chance(faults_.loss)) return log('x', from, to, header);
  const int copies = random_.chance(faults_.duplicate) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    Time at = now() + link.delay + Nanos(random_.between(0, link.delay.count() / 4));
    if (random_.chance(faults_.reorder)) {
      at += Nanos(random_.between(0, kReorderMax.count()));
    } else {
      Time& last = link.last_arrival[from == link.child];
      last = at = std::max(at, last);
    }
    push(at, to, id.value, frame_of(header, body));
  }
  log(copies == 2 ? '2' : '>', from, to, header);
}

void Network::send_datagram(EndId from, EndId to, const wire::AggHeader& header, std::span<const std::byte> body) {
  Random& r = datagram_random_;
  const auto soon = [&] { return now() + Nanos(r.between(10'000, faults_.delay_max.count())); };
  if (r.chance(faults_.ghost)) {
    const wire::AggHeader old = of_former_group(header);
    BufferRef ghost = frame_of(old, body);
    for (std::size_t i = wire::kAggHeaderBytes; i < ghost.size(); ++i) ghost.data()[i] ^= std::byte{0x5A};
    push(soon(), to, 0, std::move(ghost));
    log('g', from, to, old);
  }
  if (r.chance(faults_.late_copy))
    push(now() + Nanos(r.between(kLateMin.count(), kLateMax.count())), to, 0, frame_of(header, body));
  if (r.chance(faults_.datagram_loss)) return log('x', from, to, header);
  push(r.chance(faults_.reorder) ? soon() + Nanos(r.between(0, kReorderMax.count())) : soon(), to, 0,
       frame_of(header, body));
  if (r.chance(faults_.duplicate)) push(soon(), to, 0, frame_of(header, body));
  log('m', from, to, header);
}

void Network::send_frame(EndId from, proto::LinkId id, std::span<const std::byte> bytes) {
  Random& r = datagram_random_;
  if (logs_frames_) {
    static constexpr const char* kKinds[] = {"?", "contribute", "result", "probe", "probed"};
    HopHeader h;
    std::memcpy(&h, bytes.data(), sizeof h);
    note(fmt::format("{:3} ~> {:3} {} {} coll {} op {} root {} bytes {}{}{}{}", from, other_end(id, from),
                     kKinds[h.kind % std::size(kKinds)], h.sequence, h.coll, h.op, h.root, h.payload_bytes,
                     h.flags & kHopFull ? ", full" : "", h.flags & kHopValue ? ", value" : "",
                     h.flags & kHopClosed ? ", closed" : ""));
  }
  const auto copy = [&](Duration least, Duration most) {
    push(now() + Nanos(r.between(least.count(), most.count())), other_end(id, from), id.value, frame_of(bytes), true);
  };
  if (!r.chance(faults_.datagram_loss)) copy(Micros(10), faults_.delay_max);
  if (r.chance(faults_.frame_copies)) copy(Micros(10), kReorderMax);
  if (r.chance(faults_.frame_copies / 10)) copy(kLateMin, kLateMax);
}

void Network::send_raw(EndId from, proto::LinkId id, std::span<const std::byte> bytes) {
  if (links_[id.value].open) push(now(), other_end(id, from), id.value, frame_of(bytes));
}

void Network::send_ordered(EndId from, proto::LinkId id, std::span<const std::byte> head,
                           std::span<const std::byte> data) {
  Link& link = links_[id.value];
  if (!link.open) return;
  BufferRef frame = pool_.acquire(head.size() + data.size());
  std::memcpy(frame.data(), head.data(), head.size());
  if (!data.empty()) std::memcpy(frame.data() + head.size(), data.data(), data.size());
  Time& last = link.last_arrival[from == link.child];
  last = std::max(last, now() + link.delay + Nanos(random_.between(0, link.delay.count() / 4)));
  push(last, other_end(id, from), id.value, std::move(frame));
}

void Network::alarm(Time at, std::uint64_t what) { queue_.add(at, {what, 0, 0, 0}); }

bool Network::step() {
  const auto event = queue_.next();
  if (!event) return false;
  if (event->frame == 0) {
    handler_.alarm(event->what, now());
    return true;
  }
  BufferRef frame = std::move(frames_[event->frame - 1]);
  free_frames_.push_back(event->frame - 1);
  --messages_under_way_;
  if (event->is_datagram) {
    handler_.frame(event->to, {event->link}, std::move(frame), now());
    return true;
  }
  if (!links_[event->link].open) return true;
  ++deliveries_;
  handler_.message(event->to, {event->link}, std::move(frame), now());
  return true;
}

void Network::log(char what, EndId from, EndId to, const wire::AggHeader& header) {
  Logged& entry = log_[log_at_++ % kLogSize];
  entry.at = now();
  entry.what = what;
  entry.from = from;
  entry.to = to;
  entry.header = header;
  entry.text.clear();
  if (print_) std::fputs(line(entry).c_str(), stdout);
}

void Network::note(std::string text) {
  Logged& entry = log_[log_at_++ % kLogSize];
  entry.at = now();
  entry.text = std::move(text);
  if (print_) std::fputs(line(entry).c_str(), stdout);
}

std::string Network::line(const Logged& e) {
  const double ms = static_cast<double>(e.at.time_since_epoch().count()) / 1e6;
  if (!e.text.empty()) return fmt::format("  {:12.4f} ms   {}\n", ms, e.text);
  return fmt::format("  {:12.4f} ms {} {:3} -> {:3} {}\n", ms, e.what, e.from, e.to, wire::describe(e.header));
}

std::string Network::last_events(std::size_t count) const {
  std::string text =
      "  (> sent, 2 sent twice, x lost, l copied late, g ghost of a former group, m by multicast; ends below the node "
      "count are nodes)\n";
  const std::size_t have = std::min({log_at_, kLogSize, count});
  for (std::size_t i = log_at_ - have; i < log_at_; ++i) text += line(log_[i % kLogSize]);
  return text;
}

}  // namespace sumac::sim
