#pragma once
// This process's connection to its leaf node in one tree of the job. A job with several trees (several nodes to stripe
// over, or a tree for each rail) has one for each tree, all over the single transport of the context.
#include <memory>
#include <optional>
#include <string>

#include "client/devices.hpp"
#include "client/job.hpp"
#include "client/status.hpp"
#include "net/datagram_socket.hpp"
#include "net/transport.hpp"
#include "proto/client_link.hpp"

namespace sumac::client {

class TreeLink {
 public:
  /// Starts to connect, through one network interface if one is named. `tree` must not move while the link lives.
  static Outcome<std::unique_ptr<TreeLink>> begin(const Job& job, const JobTree& tree, WorldRank world_rank,
                                                  const std::string& host, net::Transport& transport,
                                                  proto::Outbox& outbox, std::string_view interface);
  /// Called after connecting: returns success once the connection works, or the reason why it does not after
  /// `waited`. The link is watched from then on.
  Outcome<> check(net::Transport& transport, Millis waited, Millis silent_after);

  net::ConnId conn() const noexcept { return conn_; }
  proto::LinkId id() const noexcept { return proto::LinkId{conn_.value}; }
  proto::ClientLink& engine() noexcept { return *engine_; }
  const JobTree& tree() const noexcept { return tree_; }
  bool closed() const noexcept { return engine_->closed(); }
  const std::string& why_closed() const noexcept { return engine_->why_closed(); }
  /// The node has proven that it knows the job's key, or it has refused.
  bool settled() const noexcept { return engine_->settled(); }
  /// Returns " (node an-leaf1 (10.77.0.6) stopped answering; rank 3 noticed after 1.0 s)".
  std::string describe() const;

  ~TreeLink();
  /// The port at which datagrams of the leaf's kernel come, from the first call on; 0: it takes none, or not on this transport.
  std::uint16_t datagram_port(net::Transport& transport);
  bool has_datagrams() const noexcept { return datagrams_.has_value(); }
  std::uint32_t datagram_token() const noexcept { return kDatagramToken | (conn_.value & (kDatagramToken - 1)); }
  void send_datagram(std::span<const std::byte> frame) noexcept {
    if (datagrams_) datagrams_->send(frame);
  }
  void receive_datagrams(Time now);

  void on_connected() noexcept { is_connected_ = true; }
  void on_closed(const Error& why);
  /// A closed link's datagrams may serve groups for some time.
  void close_unused_datagrams() noexcept;

 private:
  TreeLink(const JobTree& tree, const std::string& node, const std::string& address, net::ConnId conn,
           WorldRank world_rank)
      : tree_(tree), node_(node), address_(address), conn_(conn), world_rank_(world_rank) {}
  const JobTree& tree_;
  const std::string &node_, &address_;  ///< The leaf's name and address, which live in the job.
  const net::ConnId conn_;
  const WorldRank world_rank_;
  static constexpr std::uint32_t kDatagramToken = 0x40000000;
  void close_datagrams() noexcept;

  net::PeerEnd end_;
  bool is_connected_ = false;
  std::unique_ptr<proto::ClientLink> engine_;
  net::Transport* transport_ = nullptr;  ///< Set with datagrams_, which it waits for.
  std::optional<net::DatagramSocket> datagrams_;
};

/// The port of the list that this rank uses for a tree.
struct TreePort {
  int port = -1;              ///< Index into the list; -1: the list is empty.
  std::uint32_t leading = 0;  ///< The number of ports of the list that lead there.
  std::string interface;      ///< The port's interface; empty: the system chooses.
  std::string stand_in;       ///< The system chooses this port, where DeviceList::is_stood_in_for().
};
/// Returns the port for each tree. SHARP_COLL_ECONN_TREE: no port of the list leads to one.
Outcome<std::vector<TreePort>> ports_to_trees(const Job& job, WorldRank world_rank, const DeviceList& devices,
                                              std::uint32_t channel);

/// Returns the backend that all leaves of this rank offer ("tcp"). One transport carries them all.
Outcome<std::string> common_backend(const Job& job, WorldRank world_rank, const std::string& wanted);

}  // namespace sumac::client
