#include "lab/packet_switch.hpp"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "lab/packet_header.hpp"

namespace sumac::lab {

namespace {

constexpr unsigned kBatch = 64;
constexpr int kSocketBufferBytes = 256 << 20;
/// While frames are in flight the socket is read at least this often: traffic between two ports at one switch has no
/// delay that would hide a late read.
constexpr std::int64_t kReadEveryNsMax = 1'000'000;
/// A sleeping processor needs some time to wake: 20 us on a virtual machine (measured: frames left 22 us late on
/// average). So the thread asks to be woken earlier by the recent wake-up time, at most this much, and spins for the
/// rest.
constexpr std::int64_t kLeadNsMax = 30'000;
/// While at least so many bytes leave in each millisecond, they leave at intervals, as adapters coalesce their
/// interrupts when they stream: a frame may then be late by this much, and the switch wakes once for several.
constexpr std::uint64_t kStreamingBytesPerMs = 64U << 10;
constexpr std::int64_t kCoalesceNs = 60'000;

std::int64_t clock_ns(clockid_t id) {
  timespec ts{};
  ::clock_gettime(id, &ts);
  return ts.tv_sec * 1'000'000'000LL + ts.tv_nsec;
}
std::int64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

Result<> set_option(int fd, int level, int name, int value, const char* what) {
  if (::setsockopt(fd, level, name, &value, sizeof value) < 0) return fail_errno(what);
  return {};
}

/// Returns when the kernel took the frame from the sender, on our clock. The wall clock may be set at any time, so only
/// the difference to its present reading is used.
std::int64_t arrival_ns(msghdr& message, std::int64_t now, std::int64_t wall_now) {
  for (auto* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec ts{};
    std::memcpy(&ts, CMSG_DATA(c), sizeof ts);
    const auto age = wall_now - (ts.tv_sec * 1'000'000'000LL + ts.tv_nsec);
    if (age >= 0 && age < 1'000'000'000) return now - age;
  }
  return now;
}

}  // namespace

/// The arrays that recvmmsg and sendmmsg need, laid out once.
struct PacketSwitch::Batches {
  std::array<mmsghdr, kBatch> in{};
  std::array<iovec, kBatch> in_iov{};
  std::array<sockaddr_ll, kBatch> in_from{};
  std::array<std::array<char, 64>, kBatch> in_control{};
  std::array<Frame*, kBatch> in_frame{};
  std::array<mmsghdr, kBatch> out{};
  std::array<iovec, kBatch> out_iov{};
  std::array<Frame*, kBatch> out_frame{};
  std::vector<sockaddr_ll> to;  // one address for each port
};

PacketSwitch::PacketSwitch(const Plan& plan) : plan_(plan), fabric_(plan_) {}

Result<std::unique_ptr<PacketSwitch>> PacketSwitch::open(const Plan& plan, const std::vector<unsigned>& device_index) {
  std::unique_ptr<PacketSwitch> made{new PacketSwitch(plan)};
  made->device_index_ = device_index;
  if (plan.offload) {
    made->receive_bytes_ = FramePool::kTrainBytes;
    made->copy_bytes_max_ = FramePool::kFullBytes;
  }
  made->stop_ = UniqueFd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!made->stop_) return fail_errno("make an eventfd");
  // Protocol 0 receives nothing until bind, when everything is set.
  made->socket_ = UniqueFd{::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!made->socket_) return fail_errno("open the switch's packet socket (root or a user namespace is needed)");
  const int fd = made->socket_.get();
  // FORCE needs a right that a user namespace may not have; then the machine's limit decides, and drops are counted.
  if (!set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, kSocketBufferBytes, "")) {
    if (auto ok = set_option(fd, SOL_SOCKET, SO_RCVBUF, kSocketBufferBytes, "set SO_RCVBUF"); !ok)
      return tl::unexpected(ok.error());
  }
  if (!set_option(fd, SOL_SOCKET, SO_SNDBUFFORCE, kSocketBufferBytes, "")) {
    if (auto ok = set_option(fd, SOL_SOCKET, SO_SNDBUF, kSocketBufferBytes, "set SO_SNDBUF"); !ok)
      return tl::unexpected(ok.error());
  }
  const struct {
    int level;
    int name;
    const char* what;
  } options[] = {
      {SOL_PACKET, PACKET_VNET_HDR, "set PACKET_VNET_HDR"},
      {SOL_PACKET, PACKET_IGNORE_OUTGOING, "set PACKET_IGNORE_OUTGOING"},
      {SOL_PACKET, PACKET_QDISC_BYPASS, "set PACKET_QDISC_BYPASS"},
      {SOL_SOCKET, SO_TIMESTAMPNS, "set SO_TIMESTAMPNS"},
  };
  for (const auto& option : options) {
    if (auto ok = set_option(fd, option.level, option.name, 1, option.what); !ok) return tl::unexpected(ok.error());
  }
  made->batches_ = std::make_unique<Batches>();
  auto& b = *made->batches_;
  for (std::size_t i = 0; i < device_index.size(); ++i) {
    if (made->port_by_device_.size() <= device_index[i]) made->port_by_device_.resize(device_index[i] + 1, -1);
    made->port_by_device_[device_index[i]] = static_cast<std::int32_t>(i);
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_protocol = htons(ETH_P_IP);
    to.sll_ifindex = static_cast<int>(device_index[i]);
    to.sll_halen = ETH_ALEN;
    b.to.push_back(to);
  }
  for (unsigned i = 0; i < kBatch; ++i) {
    b.in_frame[i] = made->pool_.take(made->receive_bytes_);
    b.in_iov[i] = {b.in_frame[i]->data(), made->receive_bytes_};
    b.in[i].msg_hdr = {
        &b.in_from[i], sizeof(sockaddr_ll), &b.in_iov[i], 1, b.in_control[i].data(), b.in_control[i].size(), 0};
    b.out[i].msg_hdr.msg_iov = &b.out_iov[i];
    b.out[i].msg_hdr.msg_iovlen = 1;
    b.out[i].msg_hdr.msg_namelen = sizeof(sockaddr_ll);
  }
  sockaddr_ll all{};
  all.sll_family = AF_PACKET;
  all.sll_protocol = htons(ETH_P_ALL);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&all), sizeof all) < 0)
    return fail_errno("bind the switch's packet socket");
  return made;
}

PacketSwitch::~PacketSwitch() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_relaxed);  // relaxed is enough, since the eventfd below orders the store
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = ::write(stop_.get(), &one, sizeof one);  // cannot fail: the counter is at 0
  thread_.join();
}

Result<> PacketSwitch::start() {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& e) {
    return fail(Errc::io, "start the switch's thread: {}", e.what());
  }
  // The thread runs above every program of the lab, but below all that the machine itself runs at real-time priority.
  sched_param priority{};
  priority.sched_priority = ::sched_get_priority_min(SCHED_FIFO);
  realtime_ = ::pthread_setschedparam(thread_.native_handle(), SCHED_FIFO, &priority) == 0;
  return {};
}

void PacketSwitch::run() {
  ::pthread_setname_np(::pthread_self(), "lab-switch");
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // helps if there is no real-time priority, and never fails
  while (!stopping_.load(std::memory_order_relaxed)) {
    read_all();
    fabric_.advance(read_at_ns_, pool_);
    write_due();
    sleep();
  }
}

void PacketSwitch::read_all() {
  auto& b = *batches_;
  for (;;) {
    for (unsigned i = 0; i < kBatch; ++i) {
      b.in[i].msg_hdr.msg_namelen = sizeof(sockaddr_ll);
      b.in[i].msg_hdr.msg_controllen = b.in_control[i].size();
    }
    const int count = ::recvmmsg(socket_.get(), b.in.data(), kBatch, MSG_DONTWAIT | MSG_TRUNC, nullptr);
    const auto now = now_ns();
    read_at_ns_ = now;
    if (count <= 0) return;
    const auto wall_now = clock_ns(CLOCK_REALTIME);
    for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
      const auto bytes = b.in[i].msg_len;
      const auto device = static_cast<std::size_t>(b.in_from[i].sll_ifindex);
      const auto from = device < port_by_device_.size() ? port_by_device_[device] : -1;
      Frame* frame = b.in_frame[i];
      const auto* mac = frame->data() + kVnetHeaderBytes;
      if (from < 0 || bytes < kVnetHeaderBytes + ETH_HLEN || bytes > receive_bytes_ ||
          !address(*frame, static_cast<std::size_t>(from), mac)) {
        LinkCounters::add(counters_.ignored, 1);
        continue;
      }
      VnetHeader header{};
      std::memcpy(&header, frame->data(), sizeof header);
      const auto wire = wire_size(header, mac, bytes - kVnetHeaderBytes);
      frame->bytes = bytes;
      if (bytes <= copy_bytes_max_) {
        frame = pool_.copy(*frame);
      } else {
        b.in_frame[i] = pool_.take(receive_bytes_);
        b.in_iov[i].iov_base = b.in_frame[i]->data();
      }
      frame->wire_bytes = wire.all;
      frame->first_segment_bytes = wire.first;
      frame->last_segment_bytes = wire.last;
      fabric_.enter(frame, arrival_ns(b.in[i].msg_hdr, now, wall_now));
    }
    LinkCounters::add(counters_.frames, static_cast<std::uint64_t>(count));
    if (static_cast<unsigned>(count) < kBatch) return;
  }
}

bool PacketSwitch::address(Frame& frame, std::size_t from, const std::uint8_t* mac) const {
  frame.flood = nullptr;
  if ((mac[0] & 1U) == 0) {
    const auto to = port_index_of(mac);
    if (to >= plan_.ports.size() || plan_.ports[from].plane != plan_.ports[to].plane) return false;
    const auto& path = plan_.path(from, to);
    frame.path = path.data();
    frame.hops = static_cast<std::uint16_t>(path.size());
    frame.to = static_cast<std::uint16_t>(to);
    return true;
  }
  // Only IPv4's groups are flooded, without those of 224.0.0/24, in which hosts inform routers of their groups: the lab
  // has no routers.
  static constexpr std::uint8_t kGroups[3] = {0x01, 0x00, 0x5e};
  if (plan_.floods.empty() || !std::equal(std::begin(kGroups), std::end(kGroups), mac) || (mac[3] == 0 && mac[4] == 0))
    return false;
  frame.flood = plan_.floods[from].data();
  frame.at = 0;
  return true;
}

void PacketSwitch::write_due() {
  auto& b = *batches_;
  for (;;) {
    const auto now = now_ns();
    wrote_at_ns_ = now;
    if (now - window_at_ns_ >= 1'000'000) {
      streaming_ = window_bytes_ >= kStreamingBytesPerMs && now - window_at_ns_ < 2'000'000;
      window_at_ns_ = now;
      window_bytes_ = 0;
    }
    unsigned count = 0;
    while (count < kBatch) {
      std::int64_t due_ns = 0;
      Frame* frame = fabric_.due(now, due_ns);
      if (frame == nullptr) break;
      const auto late = static_cast<std::uint64_t>(now - due_ns);
      LinkCounters::add(counters_.late_sum_ns, late);
      if (late > counters_.late_max_ns.load(std::memory_order_relaxed))
        counters_.late_max_ns.store(late, std::memory_order_relaxed);
      window_bytes_ += frame->bytes;
      b.out_frame[count] = frame;
      b.out_iov[count] = {frame->data(), frame->bytes};
      b.out[count].msg_hdr.msg_name = &b.to[frame->to];
      ++count;
    }
    for (unsigned sent = 0; sent < count;) {
      const int n = ::sendmmsg(socket_.get(), b.out.data() + sent, count - sent, MSG_DONTWAIT);
      if (n > 0) {
        sent += static_cast<unsigned>(n);
      } else if (errno != EINTR) {
        LinkCounters::add(counters_.dropped_out, 1);
        ++sent;
      }
    }
    for (unsigned i = 0; i < count; ++i) pool_.give(b.out_frame[i]);
    if (count < kBatch) return;
  }
}

void PacketSwitch::sleep() {
  LinkCounters::add(counters_.wakeups, 1);
  pollfd fds[2] = {{stop_.get(), POLLIN, 0}, {socket_.get(), POLLIN, 0}};
  if (fabric_.empty()) {
    ::ppoll(fds, 2, nullptr, nullptr);
    return;
  }
  // Frames are in flight. A frame that comes in from now on carries its arrival time and is due no earlier than the
  // least delay later: reading again by then loses nothing, and spares each frame a wake-up of its own.
  const auto read_every = std::min(fabric_.slack_ns(), kReadEveryNsMax);
  const auto read_by = read_every > 0 ? read_at_ns_ + read_every : VirtualFabric::kNever;
  const auto due = fabric_.deadline_ns();
  if (streaming_) {
    const auto next = wrote_at_ns_ + kCoalesceNs;
    sleep_until(std::max(std::min(due, read_by), next));
    return;
  }
  const auto wake_at = std::min(due, read_by) - lead_ns_;
  if (sleep_until(wake_at)) {
    const auto overslept = std::clamp<std::int64_t>(now_ns() - wake_at, 0, kLeadNsMax);
    lead_ns_ += (overslept - lead_ns_) / 8;
  }
  if (due > read_by) return;  // the thread woke only to read
  while (now_ns() < due) {    // spins for at most kLeadNsMax
  }
}

/// Sleeps until then; returns false if there was no time left, or something came first.
bool PacketSwitch::sleep_until(std::int64_t until_ns) {
  const auto wait = until_ns - now_ns();
  if (wait <= 0) return false;
  pollfd fds[2] = {{stop_.get(), POLLIN, 0}, {socket_.get(), POLLIN, 0}};
  const timespec ts{wait / 1'000'000'000, wait % 1'000'000'000};
  return ::ppoll(fds, fabric_.slack_ns() > 0 ? 1 : 2, &ts, nullptr) == 0;
}

Result<> PacketSwitch::set_loss(const std::string& a, const std::string& b, std::optional<double> loss) {
  bool found = false;
  for (std::size_t i = 0; i < plan_.links.size(); ++i) {
    const auto& link = plan_.links[i];
    if ((link.from != a || link.to != b) && (link.from != b || link.to != a)) continue;
    fabric_.set_loss(i, loss.value_or(link.spec.loss));
    found = true;
  }
  if (found) return {};
  std::string known;
  for (const auto& link : plan_.links)
    if (link.from == a || link.from == b)
      known += fmt::format("{}{} {}", known.empty() ? "" : ", ", link.from, link.to);
  return fail(Errc::not_found, "no link joins {:.80} and {:.80}; links there: {}", a, b,
              known.empty() ? "none" : known);
}

std::uint64_t PacketSwitch::dropped_in() {
  tpacket_stats stats{};
  socklen_t bytes = sizeof stats;
  if (::getsockopt(socket_.get(), SOL_PACKET, PACKET_STATISTICS, &stats, &bytes) == 0) dropped_in_ += stats.tp_drops;
  return dropped_in_;
}

std::uint64_t PacketSwitch::drops() {
  std::uint64_t total = dropped_in() + counters_.dropped_out.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < plan_.links.size(); ++i)
    total += fabric_.counters(i).dropped.load(std::memory_order_relaxed);
  return total;
}

double PacketSwitch::cpu_seconds() const {
  clockid_t clock{};
  auto& thread = const_cast<std::thread&>(thread_);  // native_handle() is not const, though it changes nothing
  if (!thread_.joinable() || ::pthread_getcpuclockid(thread.native_handle(), &clock) != 0) return 0;
  return static_cast<double>(clock_ns(clock)) * 1e-9;
}

}  // namespace sumac::lab
