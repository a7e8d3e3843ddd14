#include "shm/group.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <map>
#include <thread>

#include "base/host_name.hpp"

namespace sumac::shm {

namespace {
/// The index of a counter() that is odd while its member writes into others' memory. turns.hpp defines the counters
/// before it.
constexpr std::size_t kWriting = 3;
}  // namespace

std::vector<std::uint16_t> visiting_order(const std::vector<Member>& members, int index) {
  std::map<int, std::vector<std::uint16_t>> domains;
  std::size_t position = 0;
  for (std::size_t m = 0; m < members.size(); ++m) {
    auto& domain = domains[members[m].domain];
    if (m == static_cast<std::size_t>(index)) position = domain.size();
    domain.push_back(static_cast<std::uint16_t>(m));
  }
  std::vector<std::uint16_t> order;
  order.reserve(members.size());
  auto domain = domains.find(members[static_cast<std::size_t>(index)].domain);
  for (std::size_t d = 0; d < domains.size(); ++d) {
    const auto& there = domain->second;
    for (std::size_t i = 0; i < there.size(); ++i) order.push_back(there[(position + i) % there.size()]);
    if (++domain == domains.end()) domain = domains.begin();
  }
  order.erase(order.begin());  // The first one is `index` itself.
  return order;
}

void touch_own_lines(Segment& segment, std::size_t number, int index) noexcept {
  const GroupLayout at = layout_of(segment.shape(), number);
  // Relaxed stores of the value that fresh memory has: nobody reads them before the ranks have met.
  reinterpret_cast<Control*>(segment.at(at.controls))[index].done.value.store(0, std::memory_order_relaxed);
  Line* const lines = reinterpret_cast<Line*>(segment.at(at.lines)) + static_cast<std::size_t>(index) * kLineRing;
  for (std::size_t i = 0; i < kLineRing; ++i) lines[i].round.store(0, std::memory_order_relaxed);
}

void touch_own_area(const Group& group) noexcept {
  std::byte* area = group.large(group.index());
  // Nothing changes, also where another member still reads: relaxed, because this store orders nothing.
  for (std::size_t at = 0; at < group.large_bytes(); at += kPage)
    std::atomic_ref(reinterpret_cast<unsigned char&>(area[at])).fetch_or(0, std::memory_order_relaxed);
}

void map_areas(const Group& group) noexcept {
  for (int m = 0; m < group.size(); ++m) {
    if (m == group.index()) continue;
    const std::byte* area = group.large(m);
    for (std::size_t at = 0; at < group.large_bytes(); at += kPage)
      (void)*const_cast<const volatile std::byte*>(&area[at]);
  }
}

Group::Group(Segment& segment, std::size_t number, std::vector<Member> members, int index, const WaitSettings& waiting,
             const Tuning& tuning)
    : size_(static_cast<int>(members.size())),
      index_(index),
      polls_(waits::in_host(waiting.yields_first()).looks),
      others_(visiting_order(members, index)),
      tuning_(tuning),
      crowd_(nullptr, size_, index_, waiting),
      waiting_(waiting),
      segment_(segment),
      members_(std::move(members)) {
  const Shape& shape = segment.shape();
  assert(number < shape.group_sizes.size() && shape.group_sizes[number] == size_ && index < size_);
  const GroupLayout at = layout_of(shape, number);
  controls_ = reinterpret_cast<Control*>(segment.at(at.controls));
  crowd_ = Crowd(controls_, size_, index_, waiting);
  lines_ = reinterpret_cast<Line*>(segment.at(at.lines));
  eager_ = segment.at(at.eager);
  eager_stride_ = at.eager_stride;
  eager_bytes_ = at.eager_bytes;
  large_ = segment.at(at.large);
  large_stride_ = at.large_stride;
  large_bytes_ = shape.large_bytes;
  rooted_ = segment.at(at.rooted);
  tuning_.keep_usable(*this);
  // For all of them: one may die before it has its own Group. All store the same.
  for (const Member& each : members_) segment.entry(each.host_member).rank.store(each.rank, std::memory_order_relaxed);
}

bool Group::wait_done(std::uint64_t round) noexcept {
  if (everyone_done_ < round) look_at_done();
  return everyone_done_ >= round;
}

void Group::look_at_done() noexcept {
  std::uint64_t least = round_;
  for (int m = 0; m < size_; ++m) {
    if (m == index_) continue;
    // An acquire load: that member's reads of the bytes that we will overwrite come before the number it stored.
    least = std::min(least, controls_[m].done.value.load(std::memory_order_acquire));
    if (least <= everyone_done_) return;
  }
  everyone_done_ = least;
}

bool Group::free_half(std::uint64_t round, std::size_t ring) noexcept {
  look_at_done();
  if (everyone_done_ + ring < round) half_free_at_ = std::max(half_free_at_, round - ring / 2);
  return everyone_done_ >= half_free_at_ && everyone_done_ + ring >= round;
}

const ProcessName& Group::process(int member) const noexcept {
  return segment_.entry(members_[static_cast<std::size_t>(member)].host_member).process;
}

Life Group::life(int member) const { return look_at(segment_, members_[static_cast<std::size_t>(member)].host_member); }

std::string Group::error() const {
  if (broken_ == Errc::ok) return {};
  if (culprit_ == 0) return why_;
  const MemberEntry& entry = segment_.entry(std::abs(culprit_) - 1);
  const std::int32_t rank = entry.rank.load(std::memory_order_relaxed);
  const auto who = fmt::format("rank {} (host {}, process {})", rank, host_name(), entry.process.pid);
  return culprit_ > 0 ? who + " died" : fmt::format("{} {} (its own output says why)", who, kGaveUp);
}

/// Another member may have found it.
int Group::dead_rank() const noexcept {
  const std::int32_t culprit = segment_.header().culprit.load(std::memory_order_seq_cst);
  return culprit > 0 ? segment_.entry(culprit - 1).rank.load(std::memory_order_relaxed) : -1;
}

// Two members each first store their own flag (a writer that it writes, the other that the group is broken) and then
// load the other's flag. All these accesses are sequentially consistent, here and where the culprit is stored or
// loaded, so that at least one of the two sees the other's flag.
bool Group::enter_others() noexcept {
  std::atomic<std::uint64_t>& writing = counter(index_, kWriting);
  writing.store(writing.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  if (segment_.header().culprit.load(std::memory_order_seq_cst) == 0) return true;
  leave_others();
  return false;
}

void Group::leave_others() noexcept {
  std::atomic<std::uint64_t>& writing = counter(index_, kWriting);
  // A release store: a member that sees it also sees all bytes that were written.
  writing.store(writing.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void Group::await_writers() const noexcept {
  for (int m = 0; m < size_; ++m) {
    const auto writes = [&] { return counter(m, kWriting).load(std::memory_order_seq_cst) % 2 != 0; };
    if (m == index_) continue;
    // A writer copies, which takes microseconds to milliseconds. It may be stopped in the middle, so this wait sleeps.
    for (Duration pause = Micros(1); writes() && life(m) != Life::dead;
         pause = std::min<Duration>(2 * pause, Millis(1)))
      std::this_thread::sleep_for(pause);
  }
}

Errc Group::look_for_dead() noexcept {
  if (broken_ != Errc::ok) return broken_;
  looked_ = monotonic_now();
  // The first member that finds a dead one names it for all groups of the segment. So all report the same rank, also
  // members that only wait for a member that waits for the dead one. enter_others() needs this memory order.
  std::atomic<std::int32_t>& culprit = segment_.header().culprit;
  culprit_ = culprit.load(std::memory_order_seq_cst);
  for (int m = 0; m < size_ && culprit_ == 0; ++m) {
    if (m == index_ || life(m) != Life::dead) continue;
    const std::int32_t dead = members_[static_cast<std::size_t>(m)].host_member + 1;
    if (culprit.compare_exchange_strong(culprit_, dead, std::memory_order_seq_cst)) culprit_ = dead;
  }
  if (culprit_ == 0) return broken_;
  broken_ = Errc::lost;
  await_writers();
  return broken_;
}

Errc Group::look_for_dead_now_and_then() noexcept {
  return broken_ != Errc::ok || monotonic_now() - looked_ < waits::kAlone.check_every ? broken_ : look_for_dead();
}

void Group::break_because(Errc code, const char* why) noexcept {
  if (broken_ != Errc::ok) return;
  broken_ = code;
  why_ = why;
  std::int32_t nobody = 0;
  segment_.header().culprit.compare_exchange_strong(
      nobody, -(members_[static_cast<std::size_t>(index_)].host_member + 1), std::memory_order_seq_cst);
  await_writers();
}

}  // namespace sumac::shm
