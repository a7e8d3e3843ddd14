#pragma once
// Small results to everybody at once, beside the copies that go down the tree's links. A network that does not carry multicast is no
// error: after some failures nothing is tried any more, and the log says so once.
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/log.hpp"
#include "net/multicast.hpp"
#include "wire/datagram.hpp"

namespace sumac::node {

struct MulticastConfig {
  bool enabled = false;
  bool to_one_level = false;  ///< Also for groups whose members are all at one node.
  /// First of 65,536 addresses, of which each group gets one. Empty: one of our choice, of the family that children connect by.
  std::optional<net::SocketAddress> base;
  int hops = 1;
};

/// "auto", "on", "off", or the first address (and on): "239.255.0.0:5383", "[ff12::5355:0]:5383".
Result<MulticastConfig> parse_multicast(const std::string& text, int hops);

class Multicaster {
 public:
  static constexpr std::uint32_t kFailuresMax = 3;

  /// `address`: where children connect ("tcp:10.1.0.5:7000"); from there it is sent.
  Multicaster(const MulticastConfig& config, std::string address, Logger& log)
      : config_(config), address_(std::move(address)), is_off_(!config.enabled), log_(log) {}

  /// Draws a group's key and chooses its address. False: there is no multicast.
  bool invite(wire::InvitedBody& to);
  /// False: this network does not carry it.
  bool send(const wire::InvitedBody& to, const wire::AggHeader& header, std::span<const std::byte> data);
  std::uint64_t lost() const noexcept { return lost_; }  ///< The kernel had no room for them, or no way.

 private:
  bool open();
  void give_up(const std::string& why);

  MulticastConfig config_;
  std::string address_;
  bool is_off_;
  Logger& log_;
  std::optional<net::MulticastSender> sender_;
  std::uint32_t failures_ = 0;  ///< In a row.
  std::uint64_t lost_ = 0;
};

}  // namespace sumac::node
