#pragma once
// The few requests to the kernel's network configuration that the lab needs are sent directly: no `ip` must be started
// hundreds of times, and the same code runs with and without root.
#include <net/ethernet.h>

#include <array>
#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::lab {

using Mac = std::array<std::uint8_t, ETH_ALEN>;

struct VethEnd {
  std::string name;
  Mac mac{};
};

/// A netlink socket of the network namespace it was opened in.
class Netlink {
 public:
  static Result<Netlink> open();

  /// Makes a pair: `here` in this namespace, `there` in that of `there_fd` (a file of /proc/PID/ns/net).
  Result<> make_veth(const VethEnd& here, const VethEnd& there, int there_fd, std::uint32_t mtu_bytes);
  Result<> set_up(const std::string& device);
  /// Waits until a device that is up also counts as running: the kernel sets that a moment later, from a work queue,
  /// and a program that looks earlier (UCX does) finds no such device. Errc::timeout after 5 s: the other end is down.
  static Result<> await_running(const std::string& device);
  Result<> add_address(const std::string& device, std::uint32_t ip, unsigned prefix_bits);
  /// Adds a permanent neighbour, which needs no resolution. `ip` is in host byte order, as everywhere here.
  Result<> add_neighbour(const std::string& device, std::uint32_t ip, const Mac& mac);

 private:
  explicit Netlink(UniqueFd fd) : fd_(std::move(fd)) {}
  Result<> talk(void* request, std::string_view what);
  UniqueFd fd_;
  std::uint32_t sequence_ = 0;
};

/// Limits frames from `device` to its MTU: the device must not cut segments itself. Checksums may stay open (the switch
/// carries that mark along), since no bit ever flips inside one machine.
Result<> disable_segmentation_offloads(const std::string& device);

}  // namespace sumac::lab
