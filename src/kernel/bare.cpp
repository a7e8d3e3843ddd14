// hop-bare NODE HOST HOST prints the microseconds of an allreduce of 8 and of 128 B by two members that do nothing else, each on a
// processor of its own: what is left without our library. The words are NETWORK=ADDRESS, each a network namespace by its path and the
// address of its device e0 (tests/harness/bridge.py). It needs root.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "kernel/test_kernel.hpp"

namespace {

using namespace sumac::kernel;
using namespace sumac::kernel::test;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kOperations = 100'000, kWarmUp = 2'000;
constexpr auto kRepeatAfter = std::chrono::milliseconds(20);

[[noreturn]] void die(const std::string& what) {
  fmt::print(stderr, "hop-bare: {}: {}\n", what, std::strerror(errno));
  std::exit(1);
}

struct Place {
  std::string network;
  in_addr address{};
};

Place place_of(const std::string& word) {
  Place place;
  const auto at = word.find('=');
  place.network = word.substr(0, at);
  if (at == std::string::npos || inet_pton(AF_INET, word.substr(at + 1).c_str(), &place.address) != 1) die(word);
  return place;
}

void enter(const Place& place) {
  const int network = open(place.network.c_str(), O_RDONLY | O_CLOEXEC);
  if (network < 0 || setns(network, CLONE_NEWNET) != 0) die(place.network);
  close(network);
}

sockaddr_in socket_address(const Place& place, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr = place.address;
  return address;
}

void put(HopEnd& end, const Place& place, std::uint16_t port) {
  end = {};
  std::memcpy(end.address, &place.address, sizeof place.address);
  end.port = htons(port);
}

/// Contributes all numbers from `first` on, each behind the result of the one before it. Returns their times in ns.
std::vector<std::uint64_t> take_part(const Place& own, const Place& node, const HopGroup& group, unsigned child,
                                     std::uint32_t first, unsigned words) {
  enter(own);
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const auto from = socket_address(own, kPeerPort), to = socket_address(node, kPort);
  if (bind(socket, reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0 ||
      connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
    die("a member's socket");
  std::vector<std::uint64_t> times;
  for (std::uint32_t n = first; n != first + kWarmUp + kOperations; ++n) {
    HopFrame frame = contribution(0, n, child, words), result{};
    frame.payload.word[0] = n;
    seal(frame, group.child[child].key);
    const std::size_t bytes = kHopHeaderBytes + 8 * words;
    const auto begun = Clock::now();
    for (auto repeat_at = begun; result.header.sequence != n || result.header.kind != kHopResult;) {
      if (Clock::now() >= repeat_at) {
        (void)send(socket, &frame, bytes, 0);
        repeat_at += kRepeatAfter;
      }
      (void)recv(socket, &result, sizeof result, 0);
    }
    times.push_back(static_cast<std::uint64_t>((Clock::now() - begun).count()));
    if (result.payload.word[0] != 2 * static_cast<std::uint64_t>(n)) die("a wrong sum");
  }
  close(socket);
  times.erase(times.begin(), times.begin() + kWarmUp);
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return fmt::print(stderr, "usage: hop-bare NODE HOST HOST, each NETWORK=ADDRESS\n"), 2;
  const Place node = place_of(argv[1]), members[] = {place_of(argv[2]), place_of(argv[3])};
  HopGroup group = group_of(2, true, false, 8);
  put(group.self, node, kPort);
  for (unsigned i = 0; i < 2; ++i) put(group.child[i].end, members[i], kPeerPort);
  enter(node);
  ifreq device{};
  std::strcpy(device.ifr_name, "e0");
  if (const int asks = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
      asks < 0 || ioctl(asks, SIOCGIFHWADDR, &device) != 0)
    die("the address of e0");
  else
    close(asks);
  std::memcpy(group.self.mac, device.ifr_hwaddr.sa_data, sizeof group.self.mac);
  auto program = Program::load({.port = kPort, .groups_max = 1});
  if (!program) return fmt::print(stderr, "hop-bare: {}\n", program.error().context), 1;
  if (auto attached = program->attach("e0"); !attached)
    return fmt::print(stderr, "hop-bare: {}\n", attached.error().context), 1;
  std::uint32_t first = 0;
  for (const unsigned words : {1u, 16u}) {
    if (auto begun = program->begin_group(0, group, first); !begun)
      return fmt::print(stderr, "hop-bare: {}\n", begun.error().context), 1;
    std::vector<std::uint64_t> times;
    std::thread other([&] { take_part(members[1], node, group, 1, first, words); });
    std::thread one([&] { times = take_part(members[0], node, group, 0, first, words); });
    one.join();
    other.join();
    std::nth_element(times.begin(), times.begin() + kOperations / 2, times.end());
    fmt::print("{} B: {:.3f} us\n", 8 * words, static_cast<double>(times[kOperations / 2]) / 1e3);
    first += kWarmUp + kOperations;
  }
  (void)program->detach("e0");
  return 0;
}
