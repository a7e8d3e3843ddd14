#pragma once
// The datagram way of one tree of this node: the kernel's program, which it attaches to the devices by which datagrams come, and
// the socket behind it, for what the program does not understand.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "control/hop_totals.hpp"
#include "net/transport.hpp"
#include "proto/datagram_node.hpp"
#include "proto/node.hpp"

namespace sumac::node {

class Datagrams : public proto::DatagramNode {
 public:
  /// Returns a reason for people if this system or these rights do not allow it. The transport must outlive it.
  /// `pins`: as pins_of() says; empty: groups end with this process.
  static Result<std::unique_ptr<Datagrams>> make(net::Transport& transport, const std::string& pins, Logger& log);
  /// The folder in which the groups of one tree of a node outlive its process. Empty: this system has no place for it.
  static std::string pins_of(std::string_view node, std::uint32_t tree);
  /// Removes what a former process has left there, for one that has no datagrams.
  static Result<> clear_former(const std::string& pins);
  /// The port of a former process whose groups are pinned there: they are this process's if it takes that port. 0: none.
  static std::uint16_t former_port(const std::string& pins);
  virtual ~Datagrams() = default;

  /// Does this kernel take the program from this process? It is loaded, and attached nowhere.
  static Result<> try_kernel();

  /// All groups are over, but for those that were let go.
  virtual void clear() = 0;
  virtual void on_readable(proto::Node& node, Time now) = 0;
  virtual void tick(proto::Node* node, Time now) = 0;
  virtual Time next_due() const = 0;
  virtual control::HopTotals counts() const = 0;
};

}  // namespace sumac::node
