#pragma once
// Inside this folder only: one group number of a node. Owns what the machines group_life and node_number do not:
// children, reserved OSTs, the ring of slots with the agreed headers and the buffers, verdict and trouble.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "proto/group_life.hpp"
#include "proto/node_context.hpp"
#include "proto/node_number.hpp"
#include "proto/partial_sums.hpp"
#include "proto/window.hpp"
#include "reduce/reduce.hpp"

namespace sumac::proto {

class NodeGroup {
 public:
  using Flaw = const char*;  ///< Null, or which rule the message broke.

  NodeGroup(NodeContext& context, std::uint32_t number) : ctx_(context), number_(number) {}

  std::uint32_t id() const noexcept { return id_; }
  std::uint64_t job_id() const noexcept { return job_id_; }
  bool active() const noexcept;
  bool over() const noexcept;  ///< A tombstone, or nothing yet.
  /// Becomes the next group with this number, of which nothing is known yet. The old one must be over.
  void begin(std::uint32_t group_id);

  // From children.
  Flaw join(Link& link, const wire::AggHeader& header, const wire::JoinBody& body, Time now);
  Flaw contribute(Link& link, const wire::AggHeader& header, BufferRef&& frame, Time now);
  Flaw trouble(Link& link, const wire::AggHeader& header, const wire::TroubleBody& body, Time now);
  void refused_below(LinkId link, const wire::AggHeader& header, const wire::RefusedBody& body, Time now);
  void child_closed(LinkId link, std::uint16_t child, Time now,
                    wire::TroubleReason why = wire::TroubleReason::lost_connection);
  // From the parent.
  void invited(const wire::AggHeader& header, const wire::InvitedBody& body);
  Flaw joined(const wire::AggHeader& header, const wire::JoinedBody& body, Time now);
  void refused_above(const wire::AggHeader& header, const wire::RefusedBody& body, Time now);
  Flaw result(const wire::AggHeader& header, const BufferRef& frame, Time now);
  Flaw verdict(const wire::AggHeader& header, const wire::VerdictBody& body, Time now);
  void void_epoch(const wire::AggHeader& header, const wire::VoidBody& body, Time now);
  void parent_closed(Time now);
  void parent_ready(Time now);  ///< Says again what is unanswered, on the new link.

  /// A newer group has this number: this one is over, whatever was lost on the way.
  void end_by_reuse(Time now);
  /// The manager has ended the job, and the time that its members have to leave is over.
  void job_over(Time now);
  Time tick(Time now);  ///< Returns when it is due again.
  GroupView view() const;
  /// Of the tables of one group with these windows.
  static std::size_t bytes(std::uint32_t osts, std::uint32_t stream_window) noexcept;
  /// A number of a group that is over: Leave has its answer, anything else is told that nothing will come.
  void answer_over(LinkId to, const wire::AggHeader& request);

 private:
  struct Child {
    LinkId link{};
    wire::Role role = wire::Role::client;
    std::uint32_t peer = 0;  ///< World rank of a client, node id of a node.
    std::uint32_t lowest_rank = 0, members = 0;
    bool closed = false;
    bool leaving = false;   ///< It has contributed its Leave.
    bool departed = false;  ///< It has left after the verdict.
    std::uint64_t messages = 0, bytes = 0;
    std::uint64_t came_last = 0;
    Duration kept_waiting{0};
    wire::NameBody name{};  ///< Last: what each number looks at fits into one cache line before it.
  };
  static_assert(offsetof(Child, name) <= 64);
  struct Slot {
    node_number::State state;
    std::uint32_t sequence = 0;
    Time opened_at{};  ///< When the first contribution came.
    wire::AggHeader agreed{};
    reduce::Kernel kernel{};
    BufferSlice data;                 ///< The accumulator, then the result.
    bool listening = false;           ///< Somebody below takes the result by multicast as well.
    std::uint32_t source = kNoChild;  ///< The child that `data` came from, where they come from one member only.
  };

  struct Windows {
    std::uint32_t osts = 0, stream = 0;
  };

  void live(const group_life::Event& event, Time now);
  void perform(group_life::Action action, Time now);
  group_life::Limits life_limits() const noexcept;
  template <class S>
  bool is() const noexcept {
    return std::holds_alternative<S>(life_);
  }

  // Joining.
  std::optional<wire::RefuseReason> objection(const wire::AggHeader& header, const wire::JoinBody& body, bool counted);
  void note_shape(const wire::AggHeader& header, const wire::JoinBody& body);
  void count_join(Link& link, const wire::JoinBody& body);
  wire::RefusedBody refusal(wire::RefuseReason reason, std::uint32_t limit, std::uint32_t asked) const;
  void stand(Time now);
  /// Gives back what it held; the windows that there is room for are what it holds now.
  Windows reserve_memory(Windows wish, std::uint32_t payload, std::uint32_t chunk, bool reproducible) noexcept;
  void release_memory() noexcept;
  std::size_t may_be_unread() const noexcept;  ///< Of this group's results, by one member.
  bool leave_over();
  bool reserve_windows(const wire::JoinBody& last);
  void send_join_up(Time now);
  wire::AggHeader joined_header() const noexcept;
  void invite(LinkId child);
  void answer_leave(LinkId to, const wire::AggHeader& request);
  void retire();  ///< OSTs and buffers go back, the children are forgotten.

  // Numbers.
  Slot& slot(std::uint32_t sequence) noexcept { return slots_[sequence & (slots_.size() - 1)]; }
  std::uint32_t window(const wire::AggHeader& header) const noexcept {
    return (header.flags & wire::kFlagStreaming) != 0 ? joined_.stream_window : joined_.osts;
  }
  Flaw check_contribution(const Child& child, const wire::AggHeader& header) const noexcept;
  Flaw check_partial(std::uint16_t index, const wire::AggHeader& header);
  PartialSums& partial(const Slot& at) noexcept { return partials_[at.sequence & (slots_.size() - 1)]; }
  const PartialSums& partial(const Slot& at) const noexcept { return partials_[at.sequence & (slots_.size() - 1)]; }
  void note_partial(const Slot& at, node_number::Contribution& event) const;
  void add_partial(Slot& at, const wire::AggHeader& header, BufferRef& frame);
  void send_partials_up(const Slot& at, const wire::AggHeader& header);
  BufferRef own(BufferRef&& frame);
  void advance(Slot& at, const node_number::Event& event, std::uint32_t child, const wire::AggHeader* header,
               BufferRef* frame, Time now);
  void take(Slot& at, std::uint32_t child, const wire::AggHeader& header, BufferRef& frame);
  static void keep_source(Slot& at, std::uint32_t child, const wire::AggHeader& header, BufferRef& frame);
  void answer(std::uint32_t child, const Slot& at, wire::AggHeader header);
  void send_number_up(Slot& at, Time now);
  void answer_all(Slot& at, Time now);
  void multicast(const Slot& at, const wire::AggHeader& header);
  void try_lock(Slot& at);
  void end_stream() noexcept;
  bool may_stream(std::uint32_t sequence) noexcept;
  void prove(std::uint32_t sequence, std::uint32_t window, Time now);
  void condemn(Time now);
  bool decides(wire::Coll coll) const noexcept;
  bool all_left() const noexcept;
  void report(const wire::TroubleBody& body, Time now);

  NodeContext& ctx_;
  const std::uint32_t number_;
  std::uint32_t id_ = 0, epoch_ = 0;
  group_life::State life_;
  LinkId speaker_{};  ///< Whose message is being handled; none: nobody's.

  std::uint64_t job_id_ = 0;
  bool counted_in_job_ = false;
  std::uint32_t group_size_ = 0, expected_ = 0, members_ = 0, lowest_rank_ = wire::kNoRank;
  wire::JoinBody shape_{};  ///< What all joins so far agree on; its sizes are the least of them.
  std::uint32_t reserved_ = 0;
  std::size_t window_bytes_ = 0, stream_bytes_ = 0;  ///< Reserved; the second is part of the first.
  bool streams_ = false;                             ///< It holds one of the node's streaming places.
  std::optional<std::uint32_t> unlocked_at_;         ///< The number that gave it back.
  std::vector<Child> children_;
  ChildSet child_set_;
  wire::JoinBody pending_join_{};
  Link* pending_link_ = nullptr;
  /// Reproducible sums, for which memory is kept: everybody below wants them, the join at hand wants them, the group has them.
  bool reproducible_below_ = false, reproducible_pending_ = false, reproducible_ = false;
  wire::RefusedBody refused_{};
  wire::VoidBody void_{};  ///< Why its epoch is over.
  wire::JoinedBody joined_{};
  std::optional<wire::InvitedBody> invited_;  ///< Where the group's root also sends small results.

  std::vector<Slot> slots_;
  std::vector<PartialSums> partials_;  ///< Beside slots_, from the first reproducible number on.
  BlockMap blocks_;
  std::uint32_t block_ = BlockMap::kNone;  ///< Of the partial sum that is being handled.
  std::uint32_t kept_from_ = 0, first_unanswered_ = 0;
  std::uint32_t leave_sequence_ = 0;
  std::optional<wire::VerdictBody> verdict_;
  std::uint32_t first_failed_ = 0;
  wire::TroubleBody heard_{};                  ///< The trouble or verdict that is being handled.
  std::optional<wire::TroubleBody> reported_;  ///< Said upwards, until the verdict is here.
  Time report_again_at_ = kNever;
  std::uint64_t answered_ = 0, operations_ = 0, streaming_operations_ = 0;

  LinkId passing_link_{};
  wire::AggHeader passing_{};
};

}  // namespace sumac::proto
