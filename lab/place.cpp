#include "lab/place.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "lab/channel.hpp"
#include "lab/place_init.hpp"

namespace sumac::lab {

namespace {

Result<> write_file(const char* path, std::string_view text) {
  const UniqueFd fd{::open(path, O_WRONLY | O_CLOEXEC)};
  if (!fd) return fail_errno(path);
  if (::write(fd.get(), text.data(), text.size()) < 0) return fail_errno(path);
  return {};
}

Result<> set_up(const Plan& plan, const Place& place, const PlaceOptions& options) {
  if (::sethostname(place.name.c_str(), place.name.size()) < 0) return fail_errno("set the host name");
  if (auto ok = make_private_mounts(plan, options); !ok) return ok;
  // Without IPv6 no host resolves neighbours by multicast. If it cannot be turned off, the switch ignores such frames.
  (void)write_file("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
  (void)write_file("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
  // A host may have two ports in one range of addresses: the kernel must not take a frame for forged because its answer
  // would leave by the other port.
  (void)write_file("/proc/sys/net/ipv4/conf/all/rp_filter", "0");
  (void)write_file("/proc/sys/net/ipv4/conf/default/rp_filter", "0");
  auto netlink = Netlink::open();
  if (!netlink) return tl::unexpected(netlink.error());
  return netlink->set_up("lo");
}

Result<> set_up_device(const Plan& plan, const Port& port) {
  auto netlink = Netlink::open();
  if (!netlink) return tl::unexpected(netlink.error());
  if (!plan.offload) {
    if (auto ok = disable_segmentation_offloads(port.device); !ok) return ok;
  }
  if (auto ok = netlink->add_address(port.device, port.ip, kPrefixBits); !ok) return ok;
  if (auto ok = netlink->set_up(port.device); !ok) return ok;
  for (const auto& other : plan.ports) {
    if (other.plane != port.plane || other.place == port.place) continue;
    if (auto ok = netlink->add_neighbour(port.device, other.ip, other.mac); !ok) return ok;
  }
  return Netlink::await_running(port.device);
}

Result<> set_up_devices(const Plan& plan, const Place& place) {
  for (const auto& port : plan.ports_of(place))
    if (auto ok = set_up_device(plan, port); !ok) return within(port.device, ok.error());
  return {};
}

std::string device_list(const Plan& plan, const Place& place) {
  std::string list;
  for (const auto& port : plan.ports_of(place)) list += (list.empty() ? "" : ",") + port.device;
  return list;
}

/// Runs as the namespace's first process until the lab ends.
[[noreturn]] void live(const Plan& plan, const Place& place, const PlaceOptions& options, UniqueFd channel) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // its death ends everything in this PID namespace
  // The lab's other descriptors do not belong in the namespace.
  ::close_range(3, static_cast<unsigned>(channel.get()) - 1, 0);
  ::close_range(static_cast<unsigned>(channel.get()) + 1, ~0U, 0);
  ::prctl(PR_SET_NAME, fmt::format("lab:{}", place.name).c_str());
  const auto answer = [&](const Result<>& result, const std::vector<int>& fds = {}) {
    const auto sent = send_message(channel.get(), result ? "ok" : result.error().context, fds);
    if (!result || !sent) ::_exit(1);  // the parent has the answer, or is gone
  };
  auto made = set_up(plan, place, options);
  Result<UniqueFd> listener = made ? listen_at(kInsideSocket) : Result<UniqueFd>{tl::unexpected(made.error())};
  if (!listener) {
    answer(tl::unexpected(listener.error()));
    ::_exit(1);
  }
  answer({}, {listener->get()});
  if (!receive_message(channel.get())) ::_exit(0);  // the lab's parent gave up
  answer(set_up_devices(plan, place));
  listener->reset();
  serve_place(channel.get(), device_list(plan, place));
}

Result<Message> expect_ok(const RunningPlace& place) {
  auto message = receive_message(place.channel.get());
  if (!message) return fail(Errc::lost, "its first process ended while setting up");
  if (message->text != "ok") return fail(Errc::io, "{}", message->text);
  return message;
}

}  // namespace

Result<RunningPlace> start_place(const Plan& plan, std::size_t index, const PlaceOptions& options) {
  const auto& place = plan.places[index];
  auto pair = make_pair();
  if (!pair) return tl::unexpected(pair.error());
  constexpr unsigned long kFlags = CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNS | SIGCHLD;
  // The system call is made directly: glibc's clone() wants a stack, and this is a fork into other namespaces.
  const auto pid = static_cast<pid_t>(::syscall(SYS_clone, kFlags, nullptr, nullptr, nullptr, nullptr));
  if (pid < 0) return fail_errno("make namespaces (root, or a kernel that permits user namespaces, is needed)");
  if (pid == 0) {
    pair->ours.reset();
    live(plan, place, options, std::move(pair->theirs));
  }
  RunningPlace running{pid, std::move(pair->ours), UniqueFd{}};
  pair->theirs.reset();
  auto ready = expect_ok(running);
  if (!ready) return within(fmt::format("place {}", place.name), ready.error());
  if (ready->fds.size() != 1) return fail(Errc::internal, "place {}: it sent no listener", place.name);
  running.listener = std::move(ready->fds[0]);
  return running;
}

Result<> connect_place(RunningPlace& place) {
  if (auto ok = send_message(place.channel.get(), "device"); !ok) return ok;
  if (auto ready = expect_ok(place); !ready) return tl::unexpected(ready.error());
  return {};
}

}  // namespace sumac::lab
