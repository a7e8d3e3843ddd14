// node-load: the children of one node, all simulated by one thread that does as little as possible, so that the node is
// the bottleneck. It counts operations per CPU second of the node's process, read from outside, so that the node under
// test spends nothing on being measured.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <span>

#include "base/clock.hpp"
#include "bench/node/speaker.hpp"

namespace sumac::bench {
namespace {

constexpr std::size_t kGather = 32;  // Messages in one system call.
// So many results of each child are compared byte by byte; they come before the clock starts.
constexpr std::uint64_t kChecked = 64;

struct Options {
  std::string to, speak = "sumac";
  int pid = 0;
  Talk talk;
  double seconds = 2, warmup = 0.3;
};

Result<double> cpu_seconds(pid_t pid) {
  clockid_t clock;
  timespec time{};
  if (const int error = ::clock_getcpuclockid(pid, &clock); error != 0)
    return fail(Errc::invalid, "--pid {}: {}", pid, std::strerror(error));
  if (::clock_gettime(clock, &time) != 0) return fail_errno(fmt::format("CPU time of process {}", pid));
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

class Load {
 public:
  Load(const Options& options, std::vector<UniqueFd> fds, GroupId group)
      : o_(options), message_(kFrameBytes + options.talk.bytes), group_(group), scratch_(1u << 20) {
    for (std::uint32_t i = 0; i < o_.talk.children; ++i) {
      Child child;
      child.fd = std::move(fds[i]);
      child.payload = contribution(o_.talk, i);
      child.head.resize(kFrameBytes);
      write_head(child.head.data(), o_.talk, group_, i, 0);
      children_.push_back(std::move(child));
    }
  }

  Result<> run() {
    epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    for (std::size_t i = 0; i < children_.size(); ++i) {
      const int fd = children_[i].fd.get();
      if (::fcntl(fd, F_SETFL, O_NONBLOCK) != 0) return fail_errno("O_NONBLOCK");
      epoll_event event{};
      event.events = EPOLLIN | EPOLLOUT | EPOLLET;
      event.data.u64 = i;
      if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return fail_errno("epoll_ctl");
      if (auto sent = send(children_[i]); !sent) return sent;
    }
    if (auto warm = until(monotonic_now() + seconds(o_.warmup), kChecked); !warm) return warm;
    const auto before = cpu_seconds(o_.pid);
    if (!before) return tl::unexpected(before.error());
    const Time began = monotonic_now();
    const std::uint64_t had = done();
    if (auto ran = until(began + seconds(o_.seconds), had + 1); !ran) return ran;
    const auto after = cpu_seconds(o_.pid);
    if (!after) return tl::unexpected(after.error());
    const double wall = std::chrono::duration<double>(monotonic_now() - began).count();
    const auto operations = static_cast<double>(done() - had);
    std::printf(
        "{\"operations\": %.0f, \"seconds\": %.4f, \"cpu_s\": %.4f, \"per_cpu_s\": %.1f, \"cpu_us\": %.4f, \"bytes\": "
        "%zu, "
        "\"window\": %u, \"checked\": %llu}\n",
        operations, wall, *after - *before, operations / (*after - *before), (*after - *before) * 1e6 / operations,
        o_.talk.bytes, o_.talk.window, static_cast<unsigned long long>(checked_));
    return {};
  }

 private:
  struct Child {
    UniqueFd fd;
    std::vector<std::byte> head, payload, early;  // early: results that are compared.
    std::uint64_t sent = 0, received = 0;         // In bytes.
  };

  static Duration seconds(double s) { return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s)); }
  std::uint64_t done() const {
    std::uint64_t least = ~std::uint64_t{0};
    for (const auto& child : children_) least = std::min(least, child.received / message_);
    return least;
  }

  Result<> until(Time end, std::uint64_t operations) {
    Time now = monotonic_now();
    const Time hang = now + Seconds(60);
    while (now < end || done() < operations) {
      epoll_event reports[64];
      const int count = ::epoll_wait(epoll_.get(), reports, 64, 1000);
      for (int i = 0; i < count; ++i) {
        Child& child = children_[reports[i].data.u64];
        if (auto got = receive(child); !got) return got;
      }
      now = monotonic_now();
      if (now > hang) return fail(Errc::timeout, "the node has not answered {} operations in 60 s", operations);
    }
    return {};
  }

  Result<> receive(Child& child) {
    for (;;) {
      const auto n = ::recv(child.fd.get(), scratch_.data(), scratch_.size(), 0);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) break;
      if (n < 0) return fail_errno("recv");
      if (n == 0) return fail(Errc::lost, "the node closed the connection: its log says why");
      child.received += static_cast<std::uint64_t>(n);
      if (o_.speak == "sumac" && child.early.size() < kChecked * message_)
        if (auto right = check(child, std::span<const std::byte>(scratch_).first(static_cast<std::size_t>(n))); !right)
          return right;
      if (auto sent = send(child); !sent) return sent;
      if (static_cast<std::size_t>(n) < scratch_.size()) break;  // Drained: the next bytes are a new report.
    }
    return send(child);
  }

  Result<> check(Child& child, std::span<const std::byte> in) {
    const std::size_t before = child.early.size() / message_;
    child.early.insert(child.early.end(), in.begin(), in.end());
    for (std::size_t i = before; i < std::min<std::size_t>(kChecked, child.early.size() / message_); ++i) {
      const auto right = expected_result(o_.talk, group_, static_cast<std::uint32_t>(i));
      if (std::memcmp(right.data(), child.early.data() + i * message_, message_) != 0)
        return fail(Errc::invalid, "result {} is wrong", i);
      ++checked_;
    }
    return {};
  }

  /// Sends as many messages as the window allows, in as few calls as the socket accepts.
  Result<> send(Child& child) {
    const std::uint64_t end = (child.received / message_ + o_.talk.window) * message_;
    while (child.sent < end) {
      iovec iov[2 * kGather];
      std::size_t used = 0;
      std::uint64_t at = child.sent;
      for (std::size_t i = 0; i < kGather && at < end; ++i) {
        std::byte* head = heads_[i];
        std::memcpy(head, child.head.data(), kFrameBytes);
        const auto sequence = static_cast<std::uint32_t>(at / message_);
        std::memcpy(head + kSequenceAt, &sequence, sizeof sequence);
        const std::size_t skip = at % message_;
        if (skip < kFrameBytes) iov[used++] = {head + skip, kFrameBytes - skip};
        const std::size_t cut = skip < kFrameBytes ? 0 : skip - kFrameBytes;
        if (cut < o_.talk.bytes) iov[used++] = {child.payload.data() + cut, o_.talk.bytes - cut};
        at += message_ - skip;
      }
      msghdr message{};
      message.msg_iov = iov;
      message.msg_iovlen = used;
      const auto n = ::sendmsg(child.fd.get(), &message, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return {};
      if (n < 0) return fail_errno("send");
      child.sent += static_cast<std::uint64_t>(n);
    }
    return {};
  }

  static constexpr std::size_t kSequenceAt = 8 + 16;  // The frame header, then the fields in front of it.
  const Options& o_;
  const std::size_t message_;
  const GroupId group_;
  std::vector<Child> children_;
  std::vector<std::byte> scratch_;
  std::byte heads_[kGather][kFrameBytes];
  UniqueFd epoll_;
  std::uint64_t checked_ = 0;
};

Result<> run(const Options& o) {
  std::vector<UniqueFd> fds;
  for (std::uint32_t i = 0; i < o.talk.children; ++i) {
    auto fd = connect_child(o.to);
    if (!fd) return tl::unexpected(fd.error());
    fds.push_back(std::move(*fd));
  }
  GroupId group{1};
  if (o.speak == "sumac") {
    auto formed = form_group(fds, o.talk);
    if (!formed) return tl::unexpected(formed.error());
    group = *formed;
  }
  return Load(o, std::move(fds), group).run();
}

}  // namespace
}  // namespace sumac::bench

int main(int argc, char** argv) {
  sumac::bench::Options o;
  CLI::App app{"The children of one node; prints operations per CPU second of the node's process as one JSON line.",
               "node-load"};
  app.add_option("--to", o.to, "The node: ADDR:PORT")->required();
  app.add_option("--pid", o.pid, "Its process")->required();
  app.add_option("--speak", o.speak, "sumac: join a group first; bare: count bytes")
      ->check(CLI::IsMember({"sumac", "bare"}));
  app.add_option("--children", o.talk.children, "Connections")->check(CLI::Range(1, 256));
  app.add_option("--bytes", o.talk.bytes, "Payload of a message, a multiple of 4")->check(CLI::Range(4, 1 << 20));
  app.add_option("--window", o.talk.window, "Messages in flight of each child")->check(CLI::Range(1, 64));
  app.add_flag("--stream", o.talk.streaming, "Messages are streaming chunks");
  app.add_option("--seconds", o.seconds, "Measured time")->check(CLI::Range(0.01, 60.0));
  app.add_option("--warmup", o.warmup, "Before it")->check(CLI::Range(0.0, 60.0));
  CLI11_PARSE(app, argc, argv);
  if (o.talk.bytes % 4 != 0) return std::fputs("node-load: --bytes must be a multiple of 4\n", stderr), 2;
  if (const auto done = sumac::bench::run(o); !done)
    return std::fprintf(stderr, "node-load: %s\n", done.error().context.c_str()), 1;
  return 0;
}
