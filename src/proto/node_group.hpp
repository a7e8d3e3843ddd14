#pragma once
// This header belongs to src/proto alone: one group number of a node. It turns messages into events of the machines
// group_life and node_number, performs their actions, and owns what they leave out: children, reserved OSTs, the ring
// of slots with the agreed headers and the buffers.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "proto/datagram_node.hpp"
#include "proto/group_life.hpp"
#include "proto/guard.hpp"
#include "proto/node_context.hpp"
#include "proto/node_number.hpp"
#include "proto/partial_sums.hpp"
#include "proto/prompt.hpp"
#include "proto/window.hpp"
#include "reduce/reduce.hpp"

namespace sumac::proto {

/// The group's datagram way: the kernel has a number for it, and answers once it stands.
struct GroupWay {
  DatagramNode::Terms terms{};
  std::uint32_t window = 0;
  std::uint16_t payload_max = 0;
  bool stands = false;
  std::optional<std::vector<DatagramNode::Merge>> merges{};  ///< Its kernel can add along the canonical tree, and must.
  Sequence after{};  ///< The first number of the links behind the last datagrams.
  std::uint32_t probe = 0,
                missed = 0;     ///< The last probe of the parent's kernel; so many in a row had no answer in time.
  Time heard_at{}, probe_at{};  ///< Then none was missed; the next one goes then.
};

class NodeGroup {
 public:
  using Flaw = const char*;  ///< Null, or the rule that the message broke.

  NodeGroup(NodeContext& context, std::uint32_t number) : ctx_(context), number_(number) {}

  GroupId id() const noexcept { return id_; }
  JobId job_id() const noexcept { return job_id_; }
  bool active() const noexcept;
  bool over() const noexcept;  ///< A tombstone, or no group so far: the children have nothing here.
  /// Becomes the next group with this number, of which nothing is known yet. The old one must be over.
  void begin(GroupId group_id);

  // Messages from children.
  Flaw join(Link& link, const wire::AggHeader& header, const wire::JoinBody& body, Time now);
  Flaw contribute(Link& link, const wire::AggHeader& header, BufferRef&& frame, Time now);
  Flaw trouble(Link& link, const wire::AggHeader& header, const wire::TroubleBody& body, Time now);
  void refused_below(LinkId link, const wire::RefusedBody& body, Time now);
  /// `answers`: it was no silence that ended the connection, so the kernel at its other end may go on.
  void child_closed(LinkId link, std::uint16_t child, Time now, wire::TroubleReason why, bool answers);
  /// The child may only be late. A group that outlives its tree does not wait for it: returns whether it ends now.
  bool child_silent(LinkId link, std::uint16_t child, Time now);
  // Messages from the parent.
  void invited(const wire::InvitedBody& body);
  void datagrams(const wire::DatagramsBody& body);
  std::optional<std::uint16_t> datagram_number() const noexcept {
    return way_ && way_->stands ? std::optional(way_->terms.end.group) : std::nullopt;
  }
  void look_at_datagrams(Time now);
  void datagram_differs(const HopHeader& frame, std::uint64_t agreed, std::uint32_t other, Time now);
  Flaw joined(const wire::AggHeader& header, const wire::JoinedBody& body, Time now);
  void refused_above(const wire::RefusedBody& body, Time now);
  Flaw result(const wire::AggHeader& header, const BufferRef& frame, Time now);
  void closed(const wire::AggHeader& header, Time now);
  Flaw verdict(const wire::AggHeader& header, const wire::VerdictBody& body, Time now);
  void over_above(const wire::AggHeader& header, const wire::OverBody& body, Time now);
  void parent_closed(Time now, bool answers);
  bool parent_silent(Time now);  ///< The same for the parent, as child_silent().
  void parent_ready(Time now);   ///< Repeats everything unanswered on the new link.

  /// Its Leave was answered: by the parent, or by a newer group with this number, which shows that this one is over.
  void end_by_answer(Time now);
  /// The manager has ended the job, and the time for its members to leave is over. `again`: the job goes on with another tree.
  void job_over(Time now, bool again = false);
  void stop(Time now);  ///< This node ends, and its kernel with it.
  Time tick(Time now);  ///< Returns the time of the next tick.
  GroupView view() const;
  /// Returns the bytes of the tables of one group with these windows.
  static std::size_t bytes(std::uint32_t osts, std::uint32_t stream_window) noexcept;
  /// Answers a number of a group that is over: Leave gets its result, anything else gets Over.
  void answer_over(LinkId to, const wire::AggHeader& request);

 private:
  struct Child {
    LinkId link{};
    wire::Role role = wire::Role::client;
    std::uint32_t peer = 0;  ///< World rank of a client, node id of a node.
    std::uint32_t lowest_rank = 0, members = 0;
    Sequence told{};  ///< The closed count last sent to it.
    bool closed = false;
    bool silent = false;    ///< The group is given up because of its silence; the connection stays.
    bool leaving = false;   ///< The child has contributed its Leave.
    bool departed = false;  ///< The child has left after the verdict.
    std::uint64_t messages = 0, bytes = 0;
    std::uint64_t came_last = 0;
    Duration kept_waiting{0};
    wire::NameBody name{};      ///< Everything that each number reads fits into one cache line before it.
    wire::DatagramEnd end{};    ///< It takes datagrams there; port 0: it takes none.
    bool is_canonical = false;  ///< wire::kFeatureCanonical
  };
  static_assert(offsetof(Child, name) <= 64);
  struct Slot {
    node_number::State state;
    Sequence sequence{};
    Time opened_at{};  ///< Arrival of the number's first contribution.
    wire::AggHeader agreed{};
    reduce::Kernel kernel{};
    BufferSlice data;                 ///< The accumulator, then the result.
    bool listening = false;           ///< Some member below also takes the result by multicast.
    bool is_told = false;             ///< The result has gone to all children before the parent's answer.
    std::uint32_t source = kNoChild;  ///< The child that sent `data`, when one member alone contributes data.
    // The next two belong to a prompt reduce.
    ChildSet given;                       ///< The children whose data are in.
    std::uint32_t root_child = kNoChild;  ///< The child that is the root or has it below, once that is known.
  };

  struct Windows {
    std::uint32_t osts = 0, stream = 0;
  };

  void live(const group_life::Event& event, Time now);
  group_life::Step step_life(group_life::Event& event, Time now);
  using Follow = std::optional<group_life::Event>;  ///< The event that an action leads to, if any.
  Follow perform(const group_life::Action& action, Time now);
  group_life::Limits life_limits() const noexcept;
  template <class S>
  bool is() const noexcept {
    return std::holds_alternative<S>(life_);
  }

  void judge_join(group_life::Join& join);
  std::optional<wire::RefuseReason> objection(const wire::JoinBody& body, bool counted);
  void note_shape(const wire::JoinBody& body);
  void count_join(const group_life::Count& join);
  wire::RefusedBody refusal(wire::RefuseReason reason, std::uint32_t limit, std::uint32_t asked) const;
  wire::OverBody over_body() const;
  Follow stand(const std::optional<group_life::JoinedAbove>& above);
  wire::JoinedBody grant() const noexcept;
  void choose_multicast();
  void reserve_way();
  void offer_way(wire::JoinBody& body);
  void begin_way();
  void end_way();
  Time probe_parent(Time now);
  bool leave_parent(Time now);  ///< The members go on, or end, without the tree. False: there is nothing to leave.
  bool may_go_on() const noexcept;
  void daemon_gone(const wire::TroubleBody& trouble, Time now);
  wire::AggHeader with_way(wire::AggKind kind) const noexcept;
  void send_way(LinkId to);
  Flaw follow_datagrams(const wire::AggHeader& header, Time now);
  void skip_to(Sequence number, Time now);
  void skip_closed(Sequence closed, Time now);
  Sequence first_failed();
  void differ(std::uint64_t culprits, std::uint64_t others, std::uint32_t culprit, std::uint32_t other, Time now);
  /// Returns the memory that the group held, then reserves as large a window as there is room for; returns those
  /// windows.
  Windows reserve_memory(Windows request, std::uint32_t payload, std::uint32_t chunk, bool reproducible) noexcept;
  void release_memory() noexcept;
  std::size_t may_be_unread() const noexcept;  ///< The bytes of this group's results that one member may leave unread.
  bool leave_over();
  bool reserve_windows(const group_life::Join& last);
  void send_join_up();
  void send_joined(LinkId child);
  template <class Body>
  void to_children(const wire::AggHeader& header, const Body& body);
  wire::AggHeader own_leave(Sequence sequence) const noexcept;
  std::optional<Sequence> leave_number() const noexcept;
  group_life::ParentClosed without_parent() const;
  group_life::LeaveAnswered leave_answered(Sequence sequence) const;
  void answer_leave(LinkId to, const wire::AggHeader& request);
  void retire();  ///< Frees OSTs and buffers, and forgets the children.

  Slot& slot(Sequence sequence) noexcept { return slots_[number_of(sequence) & (slots_.size() - 1)]; }
  std::uint32_t window(const wire::AggHeader& header) const noexcept {
    return (header.flags & wire::kFlagStreaming) != 0 ? joined_.stream_window : joined_.osts;
  }
  Flaw check_contribution(const Child& child, const wire::AggHeader& header) const noexcept;
  Flaw check_partial(std::uint16_t index, const wire::AggHeader& header);
  PartialSums& partial(const Slot& at) noexcept { return partials_[number_of(at.sequence) & (slots_.size() - 1)]; }
  const PartialSums& partial(const Slot& at) const noexcept {
    return partials_[number_of(at.sequence) & (slots_.size() - 1)];
  }
  void note_partial(const Slot& at, node_number::Contribution& event) const;
  void add_partial(Slot& at, const wire::AggHeader& header, BufferRef& frame);
  void send_partials_up(const Slot& at, const wire::AggHeader& header);
  BufferRef own(BufferRef&& frame);
  /// The part of a number's step that concerns the whole group: a Leave has its answer or has no parent to go to, or
  /// two members differ.
  enum class Outcome : std::uint8_t { nothing, left, parent_lost, disagreement };
  Outcome advance(Slot& at, const node_number::Event& event, std::uint32_t child, const wire::AggHeader* header,
                  BufferRef* frame, Time now);
  void follow(Outcome outcome, const Slot& at, const wire::AggHeader& header, Time now);
  void disagree(wire::TroubleBody body, Time now);
  void pass_leave(LinkId from, const wire::AggHeader& leave, Time now);
  void take(Slot& at, std::uint32_t child, const wire::AggHeader& header, BufferRef& frame);
  static void keep_source(Slot& at, std::uint32_t child, const wire::AggHeader& header, BufferRef& frame);
  void answer(std::uint32_t child, const Slot& at, wire::AggHeader header);
  Outcome send_number_up(Slot& at, Time now);
  bool prompt(const wire::AggHeader& header) const noexcept {
    return is_prompt(header, ctx_.config.limits.resend_after, group_size_);
  }
  bool is_ahead(const Child& child, const wire::AggHeader& header) const noexcept;
  Flaw note_data(Slot& at, std::uint32_t child, const wire::AggHeader& header, node_number::Contribution& event);
  std::uint32_t child_of_root(const wire::AggHeader& header) const noexcept;
  void accumulate(Slot& at, const wire::AggHeader& header, BufferRef& frame);
  bool gets_data(std::uint32_t child, const Slot& at) const noexcept;
  bool gets_result(std::uint32_t child, const Slot& at) const noexcept;
  void end_unanswered(Time now, std::optional<Sequence> kept = {});
  void relay(Slot& at, const wire::AggHeader& header);
  wire::AggHeader result_header(const Slot& at) const noexcept;
  void tell_below(Slot& at);
  void tell_children(const Slot& at, const wire::AggHeader& header);
  void send_rest(const Slot& at);
  void begin_ahead(Slot& at, const wire::AggHeader& header, Time now);
  /// Every number before this one is answered here and contributed by every member.
  Sequence settled() const noexcept { return seq_before(closed_, first_unanswered_) ? closed_ : first_unanswered_; }
  void note_missing(GroupView& view) const;
  void move_on();
  void send_closed();
  void send_closed_if_due();
  void answer_all(Slot& at, Time now);
  void multicast(const Slot& at, const wire::AggHeader& header);
  void try_lock(Slot& at);
  void end_stream() noexcept;
  bool may_stream(Sequence sequence) noexcept;
  void prove(Sequence sequence, std::uint32_t window, Time now);
  Follow condemn(const group_life::Verdict& verdict, Time now);
  void send_verdict(LinkId to, const group_life::Verdict& verdict);
  void send_trouble_up(const group_life::TroubleUp& trouble);
  group_life::ChildClosed closed_event(const Child& child, wire::TroubleReason why) const;
  bool decides(wire::Coll coll) const noexcept;
  bool has_parent() const noexcept { return expected_ != group_size_; }  ///< It is not the group's root.
  bool outlives() const noexcept { return (shape_.features & wire::kFeatureOutlives) != 0; }
  bool all_left() const noexcept;

  NodeContext& ctx_;
  const std::uint32_t number_;
  GroupId id_{};
  group_life::State life_;

  JobId job_id_{};
  bool counted_in_job_ = false;
  std::uint32_t group_size_ = 0, expected_ = 0, members_ = 0, lowest_rank_ = wire::kNoRank;
  wire::JoinBody
      shape_{};  ///< The values that all joins so far agree on; its sizes and features are the least of them.
  std::uint32_t reserved_ = 0;
  std::size_t window_bytes_ = 0, stream_bytes_ = 0;  ///< Reserved bytes; the second is part of the first.
  bool streams_ = false;                             ///< The group holds one of the node's stream slots.
  std::optional<Sequence> unlocked_at_;              ///< The number whose answer returned that slot.
  std::vector<Child> children_;
  ChildSet child_set_;
  /// Reproducible sums, for which memory is reserved: all members below want them, the group has them.
  bool reproducible_below_ = false, reproducible_ = false;
  wire::JoinedBody joined_{};
  std::optional<wire::InvitedBody> invited_;  ///< The multicast address to which the group's root also sends small
                                              ///< results.

  std::optional<GroupWay> way_;
  std::optional<wire::DatagramsBody> way_above_;
  bool has_asked_way_ = false;
  bool goes_on_ = false;  ///< The group is over for the nodes, and their kernels go on to answer it.

  std::vector<Slot> slots_;
  std::vector<PartialSums> partials_;  ///< Parallel to slots_, from the first reproducible number on.
  BlockMap blocks_;
  std::uint32_t block_ = BlockMap::kNone;  ///< The block of the partial sum that is being handled.
  Sequence kept_from_{}, first_unanswered_{};
  Sequence closed_{};  ///< The first number that is not closed: at the group's root by its children, elsewhere as the
                       ///< parent said.
  // The closed count that every child has been sent, and the number after the last that anybody is known to have begun.
  Sequence told_{}, begun_{};
  std::uint64_t answered_ = 0, operations_ = 0, streaming_operations_ = 0;
};

}  // namespace sumac::proto
