#pragma once
// The datagram way of one tree of this node: the kernel's program, which it attaches to the devices by which datagrams come, and
// the socket behind it, for what the program does not understand.
#include <memory>

#include "base/log.hpp"
#include "control/hop_totals.hpp"
#include "net/transport.hpp"
#include "proto/datagram_node.hpp"
#include "proto/node.hpp"

namespace sumac::node {

class Datagrams : public proto::DatagramNode {
 public:
  /// Returns a reason for people if this system or these rights do not allow it. The transport must outlive it.
  static Result<std::unique_ptr<Datagrams>> make(net::Transport& transport, Logger& log);
  virtual ~Datagrams() = default;

  /// Does this kernel take the program from this process? It is loaded, and attached nowhere.
  static Result<> try_kernel();

  /// All groups are over.
  virtual void clear() = 0;
  virtual void on_readable(proto::Node& node, Time now) = 0;
  virtual void tick(proto::Node* node, Time now) = 0;
  virtual Time next_due() const = 0;
  virtual control::HopTotals counts() const = 0;
};

}  // namespace sumac::node
