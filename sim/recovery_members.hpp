#pragma once
// This header belongs to sim alone: a member of a group that may lose its tree, and a node of that tree, as a seed of
// recovery keeps them.
#include "proto/path.hpp"
#include "proto/recovery_lasting.hpp"
#include "proto/test_node_kernel.hpp"
#include "sim/members.hpp"
#include "sim/recovery_plan.hpp"

namespace sumac::sim {

struct LastingMember : proto::recovery::Peers, proto::recovery::Trees {
  LastingMember(Network& n, EndId e, std::uint32_t r) : client(n, e), rank(r) {}

  void send(std::uint32_t to, std::span<const std::byte> head, const Payload& data) override {
    if (notes) note_message(to, head);
    client.network.send_ordered(client.end, peers[to], head, data.bytes);
  }
  void drop(std::uint32_t peer, const Error& why) override {
    if (dropped.empty()) dropped = "rank " + std::to_string(peer) + ": " + why.context;
  }

  sumac::Result<std::unique_ptr<proto::recovery::Group>> join(TreeId tree, GroupId id, Time now) override {
    return join_tree(tree, id, now);
  }

  /// Writes a message of a member into the log of events.
  void note_message(std::uint32_t to, std::span<const std::byte> head);

  bool counts() const { return !dies && !declared && !gives_up; }

  Client client;
  std::vector<std::unique_ptr<Client>> later;  ///< The connections to trees that the job has again.
  std::function<sumac::Result<std::unique_ptr<proto::recovery::Group>>(TreeId, GroupId, Time)> join_tree;
  std::uint64_t asked = 0;  ///< Member 0: the token by which it has asked for a group.
  std::uint32_t rank;
  std::vector<proto::LinkId> peers;  ///< [rank]: the link to that member, as this end knows.
  std::string dropped;
  std::unique_ptr<proto::recovery::LastingGroup> group;
  bool dies = false, declared = false, gives_up = false;
  bool has_lost_leaf = false, has_ended = false, was_told_departed = false;
  bool has_stood = false, notes = false;
  std::uint32_t posted = 0, completed = 0;
  Time think_until{};
  std::vector<Posted> buffers;  ///< [operation]: its buffers.
  std::vector<Errc> status;     ///< [operation that is over]: its result code.
  std::optional<proto::Verdict> verdict;
};

using LastingMembers = std::vector<std::unique_ptr<LastingMember>>;

/// A node whose group's members may listen to its multicasts, and whose kernel may answer their datagrams.
struct LastingNode : NodeBox, proto::test::TestKernel::Wire {
  using NodeBox::NodeBox;
  bool invite(GroupId, wire::InvitedBody& to) override {
    to.address = {0xFF, 0x12};
    to.port = 1;
    return members != nullptr;
  }
  bool send(const wire::InvitedBody&, const wire::AggHeader& header, std::span<const std::byte> data) override {
    for (const auto& each : *members)
      if (!each->dies && each->group && each->group->on_tree().listening())
        network.send_datagram(end, each->client.end, header, data);
    return true;
  }
  using NodeBox::send;
  proto::DatagramNode* datagram_node() override { return kernel.get(); }
  void carry(const proto::test::TestKernel&, proto::LinkId to, std::span<const std::byte> datagram) override {
    network.send_frame(end, to, datagram);
  }
  void differs(const HopHeader& frame, std::uint64_t agreed, std::uint32_t other) override {
    differing.push_back({frame, agreed, other});
  }

  struct Differing {
    HopHeader frame;
    std::uint64_t agreed;
    std::uint32_t other;
  };
  std::unique_ptr<proto::test::TestKernel> kernel;  ///< Null: it takes no datagrams.
  std::vector<Differing> differing;                 ///< The kernel has passed them on to the daemon.
  bool kernel_outlives = false;                     ///< It goes on when the daemon is dead.
  Time silent_from = kNever;                        ///< From then on no datagram reaches the kernel.
  bool is_dead = false;
  std::vector<proto::LinkId> links;
  const LastingMembers* members = nullptr;
};

/// A tree that the job has, or had: the leaf of each rank, and each node's parent.
struct Generation {
  TreeId id{};
  std::vector<EndId> leaves;
  std::vector<proto::NodeParent> nodes;
};

/// Returns which members have not ended, and how far they are.
std::string still_waiting(const RecoveryPlan& plan, const LastingMembers& members);

/// Returns what is wrong with the ends of all operations, or nothing.
std::string judge(const RecoveryPlan& plan, const LastingMembers& members);

}  // namespace sumac::sim
