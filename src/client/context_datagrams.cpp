// The datagrams of a context's trees: they are read with everything else, and sent again in their time.
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>

#include "client/comm.hpp"
#include "client/context.hpp"
#include "client/recovery/recovery.hpp"

namespace sumac::client {
namespace {

constexpr std::uint32_t kTimerToken = 0x7ffffffd;

}  // namespace

/// Groups on a tree that the job has no more may still take datagrams of its nodes' kernels.
template <class Do>
void Context::each_with_datagrams(Do what) const {
  for (const auto& link : links_)
    if (link->has_datagrams()) what(*link);
  for (const auto& former : former_)
    if (former.link && former.link->has_datagrams()) what(*former.link);
}

Time Context::next_due() const {
  const Time due = std::min(transport_->next_due(), datagrams_due());
  return recovery_ ? std::min(due, recovery_->next_due()) : due;
}

Time Context::datagrams_due() const {
  Time due = kNever;
  if (!has_sent_datagrams_) return due;
  each_with_datagrams([&](TreeLink& link) { due = std::min(due, link.engine().next_due()); });
  return due;
}

void Context::tick_datagrams() {
  const Time now = monotonic_now();
  if (datagrams_due() > now) return;
  each_with_datagrams([&](TreeLink& link) { link.engine().tick(now); });
}

void Context::send_datagram(proto::LinkId to, std::span<const std::byte> frame) {
  if (!std::exchange(has_sent_datagrams_, true)) {
    datagram_timer_ = UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (datagram_timer_ && transport_->add_reader(datagram_timer_.get(), kTimerToken) != Errc::ok)
      datagram_timer_.reset();
  }
  link_of(net::ConnId{to.value}).send_datagram(frame);
}

void Context::await_datagrams(bool is_over) {
  if (recovery_) recovery_->await_datagrams(is_over);
}

void Context::datagrams_fail(GroupId group_id) {
  SUMAC_INFO(log_, "group {:x}: its operations go by the links alone: {}", group_id,
             proto::describe(proto::ByLink::no_answer));
}

std::uint64_t Context::datagrams() const {
  std::uint64_t all = datagrams_;
  for (const Comm* comm : comms_) all += comm->datagrams();
  return all;
}

/// A thread that sleeps on wake_fd() knows no time.
void Context::set_datagram_timer() {
  const Time due = datagrams_due();
  if (due == kNever) return;
  const auto left = std::max<Duration>(due - monotonic_now(), Nanos(1));
  const itimerspec once{{}, {left / Seconds(1), (left % Seconds(1)).count()}};
  ::timerfd_settime(datagram_timer_.get(), 0, &once, nullptr);
}

bool Context::receive_datagrams(std::uint32_t token) {
  if (token == kTimerToken) {
    std::uint64_t times = 0;
    static_cast<void>(!::read(datagram_timer_.get(), &times, sizeof times));  // Otherwise it stays readable.
    return true;
  }
  bool is_one = false;
  each_with_datagrams([&](TreeLink& link) {
    if (link.datagram_token() != token) return;
    link.receive_datagrams(monotonic_now());
    is_one = true;
  });
  return is_one;
}

}  // namespace sumac::client
