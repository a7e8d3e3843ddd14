#pragma once
// A whole aggregation node without its sockets: links and messages in, messages out (docs/protocol.md). It holds the
// jobs' grants, forms groups from Joins, adds up numbers and passes results down. It owns the received buffers while it
// needs them: the first contribution's buffer is the accumulator, and the result goes to every child by reference.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "proto/handshake.hpp"
#include "proto/node_context.hpp"
#include "proto/node_group.hpp"
#include "proto/node_types.hpp"
#include "proto/open_notes.hpp"
#include "proto/parent_handshake.hpp"

namespace sumac::proto {

class Node {
 public:
  Node(const NodeConfig& config, Outbox& outbox);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Errors: exhausted: more OSTs or groups than the node has left. exists: the job has a different grant. invalid: a
  /// size is 0 or too large. Repeating the same grant succeeds, and a job that was revoked goes on with it. Another grant of a
  /// job that was revoked ends what its members still hold: they have lost that tree.
  Result<> grant(const JobGrant& grant, Time now = {});
  /// Refuses new Opens and Joins of the job at once. Groups that stand live on until they have left, at most for
  /// `leave_after_end`: then they end here and their members' links are closed. The grant is gone with the last group.
  /// Returns false when there is no such job. The members read `why`.
  bool revoke(JobId job_id, Time now, std::string_view why = {});
  /// Ends all groups, because this node leaves its tree. Members of revoked jobs read why. Their kernels may go on.
  void leave_tree(Time now);
  /// Ends all groups, for this node's neighbours too: it stops, and its kernel with it.
  void stop(Time now);
  /// Returns the revoked jobs whose grants went away since the last call.
  std::vector<JobId> take_forgotten() { return ctx_.jobs.take_forgotten(); }
  /// take_forgotten() would return at least one job.
  bool has_forgotten() const noexcept { return ctx_.jobs.has_forgotten(); }
  /// The manager was restarted: existing links stay, later ones prove this key.
  void set_node_key(const Secret& key) { ctx_.config.node_key = key; }

  /// Takes the connection to the parent, which may still be connecting, and says hello on it. When the parent has
  /// proven itself, this node proves itself and repeats everything unanswered. Before this call, messages for the
  /// parent wait as state, not in a queue.
  void set_parent_link(LinkId link, const ParentInfo& parent, const wire::Nonce& nonce, Time now);
  /// A peer connected: the node reads nothing but its handshake before it has proven its identity. `nonce` was never
  /// used before.
  void on_link_up(LinkId link, const wire::Nonce& nonce, Time now);
  void on_link_closed(LinkId link, Time now, const LinkEnd& how = {});
  /// The neighbour node on this connection has been silent for some time and may only be late, or the host of this rank
  /// does not answer. Groups that outlive their tree end, and nothing else does. Call it as long as the silence lasts.
  /// Returns the number of groups that ended.
  std::size_t on_neighbour_silent(LinkId link, Time now, const LinkEnd& how = {});
  /// The client's process on this connection died: the connection is closed, and the verdicts of its groups say so.
  void rank_died(LinkId link, Time now);
  /// Returns the connections of one rank of a job that come from this host, or from a host that was not stated.
  std::vector<LinkId> links_of(JobId job_id, WorldRank world_rank, std::string_view host) const;
  /// Returns the connections of ranks that belong to a former job of this number; they serve nothing any more.
  std::vector<LinkId> links_of_former(JobId job_id) const;
  /// Handles one whole message. The node adds into this very buffer if it is the only holder.
  void on_message(LinkId link, BufferRef frame, Time now);
  /// The kernel has passed on a child's datagram, of its number of the group: `agreed` is what the others have sent (HopSlot::agreed),
  /// the first of them `other`. No child's index: only a result from above has come.
  void on_datagram_differs(std::uint16_t number, const HopHeader& frame, std::uint64_t agreed, std::uint32_t other,
                           Time now);
  /// Members that send one number by both ways wait for each other for ever: call it now and then.
  void look_at_datagrams(Time now);
  /// Repeats everything unanswered (with resend_after), and ends the groups and links that ended jobs still hold.
  void tick(Time now);
  Time next_due() const noexcept { return ctx_.due; }  ///< The next time at which tick() has something to do.

  const NodeConfig& config() const noexcept { return ctx_.config; }
  const NodeStats& stats() const noexcept { return ctx_.stats; }
  std::vector<GroupView> groups() const;
  std::vector<GroupView> finished() const;  ///< The last groups that are over, as they were at their end.
  std::vector<JobView> jobs() const { return ctx_.jobs.view(); }
  NodeUsage usage() const noexcept { return ctx_.jobs.usage(); }
  std::uint32_t links() const noexcept { return static_cast<std::uint32_t>(ctx_.links.size()); }
  /// True when there is a parent that has proven itself.
  bool has_parent() const noexcept { return static_cast<bool>(ctx_.parent); }
  /// Returns the role that the peer has proven, or nothing.
  std::optional<wire::Role> proven(LinkId link) const noexcept;
  /// Returns the id of the neighbour node at the other end of a proven link.
  std::optional<NodeId> node_at(LinkId link) const;
  /// Returns "rank 5 on host h3" or "node an-leaf1"; empty for a peer that has not proven its identity.
  std::string who(LinkId link) const;
  bool idle() const noexcept;  ///< Returns whether no group is in any phase.

 private:
  using Flaw = NodeGroup::Flaw;

  void link_closed(LinkId id, Time now, wire::TroubleReason why = wire::TroubleReason::lost_connection,
                   const LinkEnd& how = {});
  void note_lost(LinkId id, const LinkEnd& how);
  Flaw greeted(const wire::AggHeader& header, const BufferRef& frame, Time now);
  Flaw turned_away(const wire::RefusedBody& body);
  void say_again_above(Time now);
  void end_overdue(Time now);
  void end_groups(JobId job_id, Time now, bool again = false);
  Flaw from_child(Link& link, const wire::AggHeader& header, BufferRef& frame, Time now);
  static bool is_former(const Link& link, const Job& job) noexcept;
  Flaw open(Link& link, const wire::OpenBody& body);
  Flaw join(Link& link, const wire::AggHeader& header, const wire::JoinBody& body, Time now);
  Flaw refused_below(Link& link, const wire::AggHeader& header, const wire::RefusedBody& body, Time now);
  Flaw contribute(Link& link, const wire::AggHeader& header, BufferRef& frame, Time now);
  Flaw from_parent(const wire::AggHeader& header, BufferRef& frame, Time now);
  Flaw opened(const wire::OpenedBody& body);
  Flaw open_refused(const wire::RefusedBody& body);
  NodeGroup* find(GroupId group_id) noexcept;
  NodeGroup* begin(GroupId group_id, Time now);
  Flaw unknown(GroupId group_id) noexcept;
  void malformed(LinkId from, const BufferRef& frame, Time now);
  void drop(LinkId from, Flaw flaw, const wire::AggHeader& header, Time now);

  NodeContext ctx_;
  std::vector<std::unique_ptr<NodeGroup>> groups_;  ///< [group number]
  OpenNotes notes_;
  ChildHandshake above_;
  ParentHandshake below_{ctx_};
  LinkId greeting_{};  ///< The future parent, which has not sent its welcome yet.
  std::string why_;    ///< More text on the flaw that is being reported.
  const std::uint32_t payload_max_;
};

}  // namespace sumac::proto
