#pragma once
// Daemons for one job of the tree, where no fabric has any: a sharpd on each host, a node on the first, and the manager
// beside rank 0. The first rank of each host starts its host's by `sumac run-host`, and rank 0 the manager by
// `sumac run-manager`; they end with these processes.
//
// Each host makes its keys. What goes through the store is public: requests for certificates, certificates, addresses.
// It keeps nobody out who may write the store, as with everything else that the ranks agree on there (docs/security.md).
#include <optional>
#include <string>

#include "launch/child.hpp"
#include "rank/exchange.hpp"
#include "rank/members.hpp"

namespace sumac::rank {

/// The lines of `text`, which a rank of that host sent, that ask for certificates of this host and, if it has one, of its
/// node. A rank could send others, which would get another host's certificates from the manager.
std::string requests_of(const std::string& text, const std::string& host, bool has_node);

class LocalJob {
 public:
  /// Collective over the ranks of the exchange, which are `members`. Errc::lost and others: the store. Where the daemons
  /// do not come up, at any host, why_not() says so at all ranks.
  static Result<LocalJob> start(Exchange& exchange, const Members& members);

  const std::string& why_not() const noexcept { return why_not_; }
  /// True at a rank with which daemons end: the first of its host.
  bool runs_some() const noexcept { return manager_.is_running() || host_.is_running(); }
  const std::string& sharpd_socket() const noexcept { return socket_; }
  /// As a fork's child must: the daemons stay.
  void forget() noexcept;

 private:
  template <class Step>
  Result<std::optional<std::string>> together(Exchange& exchange, const Members& members, bool leads, const Step& step);

  launch::Child manager_, host_;  ///< In this order: the host's daemons leave the manager before it ends.
  std::string socket_, why_not_;
};

}  // namespace sumac::rank
