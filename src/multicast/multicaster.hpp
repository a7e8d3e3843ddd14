#pragma once
// Sends small results to all members at once, beside the copies that go down the tree's links. A network that does not
// carry multicast is no error: after several failures the node stops trying, and logs that once.
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/log.hpp"
#include "multicast/socket.hpp"
#include "proto/link.hpp"
#include "wire/datagram.hpp"

namespace sumac::multicast {

struct Config {
  bool enabled = false;
  bool to_one_level = false;  ///< True to use multicast also for groups whose members are all at one node.
  /// The first of 65,536 addresses; each group uses one of them. If empty, the node chooses, in the address family of
  /// its own address.
  std::optional<net::SocketAddress> base;
  int hops = 1;
};

/// Accepts "auto", "on", "off", or the first address, which also means on: "239.255.0.0:5383", "[ff12::5355:0]:5383".
Result<Config> parse_config(const std::string& text, int hops);

class Multicaster final : public proto::Multicast {
 public:
  static constexpr std::uint32_t kFailuresMax = 3;

  /// `address` is the address where children connect ("tcp:10.1.0.5:7000"); the datagrams are sent from it.
  Multicaster(const Config& config, std::string address, Logger& log)
      : config_(config), address_(std::move(address)), is_off_(!config.enabled), log_(log) {}

  /// Draws a group's key and chooses its address. Returns false if there is no multicast.
  bool invite(GroupId group_id, wire::InvitedBody& to) override;
  /// Sends one result. Returns false if the datagram was not sent.
  bool send(const wire::InvitedBody& to, const wire::AggHeader& header, std::span<const std::byte> data) override;
  /// Counts the datagrams that the kernel did not take, for lack of memory or of a route.
  std::uint64_t lost() const noexcept { return lost_; }

 private:
  bool open();
  void give_up(const std::string& why);

  Config config_;
  std::string address_;
  bool is_off_;
  Logger& log_;
  std::optional<SendSocket> sender_;
  std::uint32_t failures_ = 0;  ///< Counts failures in a row.
  std::uint64_t lost_ = 0;
};

}  // namespace sumac::multicast
