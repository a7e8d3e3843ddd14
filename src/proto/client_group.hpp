#pragma once
// A member's side of one group: it joins, sends numbered contributions within windows, takes results in order, learns
// of a verdict, leaves (docs/protocol.md). It does no I/O and copies nothing that is sent: contributions borrow the
// user's memory. Results are copied to the user's memory in order, unless the shell has received them there already
// (place()).
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "proto/by_link.hpp"
#include "proto/client_history.hpp"
#include "proto/cutting.hpp"
#include "proto/hop_member.hpp"
#include "proto/link.hpp"
#include "proto/listen_trial.hpp"
#include "proto/lock_keeper.hpp"
#include "proto/member_number.hpp"
#include "proto/membership.hpp"
#include "proto/operation.hpp"
#include "proto/prompt.hpp"
#include "reduce/reduce.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::proto {

/// For a caller that goes on without the tree when the tree is lost (recovery_group.hpp). No call may lead back into the group.
class GroupObserver {
 public:
  virtual void stood() = 0;
  /// left: the tree has answered Leave. Otherwise the tree is lost, has given a verdict, or leaves datagrams unanswered, and no
  /// operation has failed yet: history() has everything.
  virtual void ended(bool left) = 0;
  /// The links are of no use any more, and small operations go on: see ClientGroup::lose_links().
  virtual void lost_links() = 0;

 protected:
  ~GroupObserver() = default;
};

class ClientGroup final : private HopOutbox {
 public:
  enum class Phase : std::uint8_t {
    joining,
    standing,
    condemned,  ///< A verdict is known; operations before F still complete. post() returns Errc::verdict.
    leaving,    ///< leave() was called: pending operations complete first, then Leave itself.
    left,       ///< Leave is complete, or the group is lost: nothing is outstanding, and the object may be destroyed.
    refused,    ///< The group never stood; refusal() has the reason.
    lost,       ///< The link or the node is gone: operations have failed with Errc::lost; leave() moves to `left` at
                ///< once.
  };

  /// Fails with Errc::invalid when a field is out of range; the text names the field. It sends nothing: call start().
  static Result<std::unique_ptr<ClientGroup>> make(const ClientGroupConfig& config, Outbox& outbox, LinkId leaf);
  ClientGroup(const ClientGroup&) = delete;
  ClientGroup& operator=(const ClientGroup&) = delete;

  void observe(GroupObserver* observer) noexcept { observer_ = observer; }
  /// From now on results, and parts whose operations may end early, are kept for history(). Results are not received in the user's
  /// memory then, but for those that stay there long enough.
  void retain();
  void release() noexcept;  ///< Nothing is kept any more.
  std::size_t bytes_kept() const noexcept;
  ClientHistory history() const;
  std::uint32_t operations() const noexcept { return tail_; }  ///< Counts operations since the group's first one.

  void start(Time now);  ///< Sends Join.

  /// Takes the next sequence numbers and sends as many fragments as the window allows. Errors:
  /// - again: kOperationsMax operations are outstanding; take completions first.
  /// - invalid: the operation is not legal, or a span is too short.
  /// - unsupported: the group has no streaming, or the collective is an unknown one.
  /// - verdict, lost, refused: the group has ended.
  /// - denied: leave() was called, or the group is still joining.
  tl::expected<OpId, Errc> post(const Operation& operation, Time now);
  /// Asks for the streaming lock now instead of with the first streaming operation; stream_lock() returns the answer.
  /// Same errors as post(); unsupported: the group has no streaming.
  Errc ask_for_lock(Time now);
  StreamLock stream_lock() const noexcept { return lock_.state(); }
  /// Returns the next operation that has ended, in the order of posting, or nothing.
  std::optional<Completion> next_completion();
  std::uint32_t outstanding() const noexcept {
    return tail_ - head_;
  }  ///< Counts operations that are posted and not yet taken by next_completion().

  void wake(Time now) { proceed(now); }  ///< The caller has more of an operation's data ready.
  /// This member cannot go on: the group ends for all members with a verdict that names this one, or the rank on its host that is
  /// `dead`, as people count. The report is sent once; no timer repeats it.
  void give_up(std::uint32_t dead = wire::kNoRank);
  /// The same, and the memory of all operations under way goes back to its owner at once: no fragment of them is sent any
  /// more, and no result is written. They end with the verdict.
  void let_go(std::uint32_t dead = wire::kNoRank);
  /// Leaves the group after everything that was posted so far. Repeated calls do nothing.
  void leave(Time now);

  /// The address where small results also arrive by multicast, if the group's root offers that. It is known when the
  /// group stands.
  const std::optional<wire::InvitedBody>& invitation() const noexcept { return invitation_; }
  /// Tells the group whether the shell has joined that multicast address.
  void listen(bool listening) noexcept { trial_.listen(listening); }
  /// Returns false after listen(true) once too few results came first by multicast: listening is not worth its cost.
  bool listening() const noexcept { return trial_.listening(); }
  /// The fate of a datagram. taken: it came before the link's copy. late: it came after that copy, or is a second
  /// datagram. discarded: its number is not in flight.
  enum class Heard : std::uint8_t { taken, late, discarded };
  /// Handles a result that came by multicast with a valid tag. It counts as the link's copy taken early: the window,
  /// Leave and the resend timer still wait for the link's copy, which always comes.
  Heard on_multicast(const wire::AggHeader& header, const BufferRef& frame, Time now);

  /// Handles a datagram of the leaf node's kernel. Errc::denied, invalid: it is none of this group.
  Errc on_datagram(std::span<const std::byte> datagram, Time now);
  /// Whether datagrams reach all members. none: the nodes have not offered it.
  enum class Trial : std::uint8_t { none, open, failed, passed };
  Trial trial_of_datagrams() const noexcept { return datagram_trial_; }
  bool takes_datagrams() const noexcept { return way_.has_value(); }
  std::uint64_t datagram_operations() const noexcept { return datagram_numbers_; }
  /// Why this operation goes by the links and not as a datagram. While the trial is open it counts as passed.
  ByLink why_by_link(const Operation& operation) const noexcept;
  std::uint32_t datagram_payload_max() const noexcept { return datagram_terms_ ? datagram_terms_->payload_max : 0; }

  /// The header of a result has arrived: returns the memory where its data may be received at once; the shell then
  /// calls on_placed(). An empty span means that the data must come with on_message(), which is always allowed. The
  /// span is non-empty only for the next result in order that nothing else can complete meanwhile and that this member
  /// keeps whole. Data of a result that breaks off stay in `dst`, which a failed operation leaves undefined anyway.
  std::span<std::byte> place(const wire::AggHeader& header) noexcept;
  /// Predicts the next result: fills in its header and returns the memory where its data may go. Returns an empty span
  /// when no result can be predicted, or when something else that came instead would spoil the memory (in place, it
  /// still holds the data to be sent).
  std::span<std::byte> expect(wire::AggHeader& header) noexcept;
  /// The data of a result lie in the memory that place() or expect() returned.
  Errc on_placed(const wire::AggHeader& header, Time now);

  /// Handles a message of this group (ClientLink sorts them). Errc::invalid: the node broke a rule, so drop the link.
  Errc on_message(const wire::AggHeader& header, const BufferRef& frame, Time now);
  /// `answers`: it was no silence that ended the link, and the node broke no rule.
  void on_link_closed(Time now, bool answers = false);
  /// The tree is lost, and another one is to come. Until then the kernels of its nodes answer datagrams; what cannot go so waits. That
  /// ends as any other loss of the tree if it takes too long. Returns false, and does nothing, where the group cannot go on so.
  bool lose_links(Time now);
  bool has_links() const noexcept { return links_lost_at_ == kNever; }
  void on_number_reused();  ///< A newer group has this group's number, so this group has left (ClientLink::attach()
                            ///< calls this).
  void tick(Time now);
  Time next_due() const noexcept { return way_ ? std::min(due_, way_->next_due()) : due_; }

  Phase phase() const noexcept;
  const ClientGroupConfig& config() const noexcept { return config_; }
  const GroupShape& shape() const noexcept { return shape_; }  ///< Zero while joining.
  Sequence first_number() const noexcept { return joined_.first; }
  const std::optional<Verdict>& verdict() const noexcept { return verdict_; }
  const std::optional<wire::RefusedBody>& refusal() const noexcept { return refusal_; }
  /// Returns the reason why operations fail, in one line for people; empty while all is well. `names` as in describe().
  std::string why(std::span<const std::string> names = {}) const;
  /// Counts numbers that were sent and whose result the link still owes.
  std::uint32_t in_flight() const noexcept { return seq_count(owed_, next_); }

 private:
  ClientGroup(const ClientGroupConfig& config, Outbox& outbox, LinkId leaf)
      : config_(config), outbox_(outbox), leaf_(leaf) {}

  static constexpr std::size_t kCopiesMax = 4u << 20;

  struct Record : Cutting {
    std::uint32_t in_flight = 0;
    Errc status = Errc::ok;
    bool ends_batch = false;  ///< This operation is the last one of its streaming lock.
    reduce::Kernel kernel{};  ///< Adds the root's own part to the result of a reduce.
    bool is_let_go = false;   ///< Its memory is not the operation's any more.
    bool by_hop = false;      ///< It went as a datagram.
  };
  struct Entry {
    member_number::State state;
    std::uint32_t record = 0;
    std::uint32_t elements = 0;  ///< Elements of this fragment, also when this member contributes none of them.
    std::uint32_t element =
        0;                 ///< Bytes of one. The operation may be over, and its record another's, before its result.
    bool is_ours = false;  ///< A lock or unlock number, which belongs to no operation of the caller.
    std::uint32_t root = 0;
    wire::AggHeader header{};         ///< The number's header as contributed.
    bool is_datagram = false;         ///< It goes as a datagram.
    bool all_take_datagrams = false;  ///< Its result says so.
    BufferRef copy;                   ///< Its data, when they must outlive the operation.
    BufferRef stash;                  ///< A result that waits for earlier numbers, or for this member's call.
    BufferRef kept;                   ///< retain(): the result's frame, or a copy of the data.
  };

  // client_group.cpp
  Errc why_not() const noexcept;
  bool takes_operations() const noexcept;
  wire::AggHeader head(wire::AggKind kind) const noexcept;
  template <class Body>
  void control(wire::AggHeader h, const Body& body);
  void live(const membership::Event& event, Time now);
  void send_join();
  void stand(Time now);
  void send_leave();
  Errc joined(const wire::AggHeader& header, const wire::JoinedBody& body, Time now);
  Errc judged(const wire::AggHeader& header, const wire::VerdictBody& body, Time now);
  bool may_fail_from(Sequence first) const noexcept;
  void settle(Time now);
  void drain(Time now);

  // client_group_numbers.cpp
  /// `frame` is empty when the data already lie in the memory that place() returned.
  Errc result(const wire::AggHeader& header, const BufferRef& frame, Time now);
  Errc result_of(Sequence number, const wire::AggHeader& header, const BufferRef& frame, Time now);
  Errc keep_ahead(const wire::AggHeader& header, const BufferRef& frame);
  Errc note_closed(Sequence closed, Time now);
  bool prompt(const wire::AggHeader& header) const noexcept {
    return is_prompt(header, config_.resend_after, config_.group_size);
  }
  /// The root of a prompt reduce gets the sum of the others, and adds its own part itself.
  bool adds_its_part(const wire::AggHeader& header) const noexcept {
    return header.coll == wire::Coll::reduce && header.root == config_.rank && prompt(header);
  }
  bool needs_result(const Record& record, const wire::AggHeader& header) const noexcept;
  void pump(Time now);  ///< Sends what the window has room for.
  void take_turns(Time now);
  bool owes_copies() const noexcept;
  void tick_numbers(Time now);
  bool room(std::uint32_t window) const noexcept;
  void send_our_own(wire::Coll coll, Time now);
  wire::AggHeader contribution(wire::Coll coll, Sequence number) const noexcept;
  wire::AggHeader fragment(const Record& record, Sequence number, const FragmentRange& range) const noexcept;
  bool answers(const Entry& entry, const wire::AggHeader& header) const noexcept;
  void follow(Time now);
  void proceed(Time now);
  void fail_from(Sequence number, Errc status, Time now);
  std::uint32_t result_bytes(const Entry& at) const noexcept;
  bool advance(Entry& at, Sequence number, const member_number::Event& event, const BufferRef* frame, Time now);
  void send(Entry& at, Time now);
  Payload data_of(const Entry& at);
  bool is_over_when_sent(Entry& at);
  void ask_again(const Entry& at, Time now);
  void deliver(Entry& at, Sequence number, const BufferRef& frame);
  /// retain(): the number is complete here, and its operation may end. Nearly always its result is the whole frame.
  void keep(Entry& at, const BufferRef& frame) {
    if (at.header.coll != wire::Coll::reduce && frame.size() > wire::kAggHeaderBytes)
      at.kept = frame;
    else
      keep_copy(at, frame);
  }

  // client_group_datagrams.cpp
  void try_datagrams(Time now);
  bool goes_as_datagram(const Record& record) const noexcept;
  bool takes_datagram(Entry& at, Sequence number, Time now);
  bool may_send(const Record& record) const noexcept;
  bool has_drained_datagrams() const noexcept;
  void contribute_datagram(Entry& at, Time now);
  void take_datagrams(Time now);
  void tick_datagrams(Time now);
  bool may_lose_links() const noexcept;
  void await_links(Time now);
  void tick_without_links(Time now);
  void leave_tree();
  void cut_off(bool kernels_go_on, Time now);
  bool awaits_datagrams(Sequence before) const noexcept;
  void send_datagram(std::span<const std::byte> frame) override { outbox_.send_datagram(leaf_, frame); }

  // client_group_history.cpp
  void keep_copy(Entry& at, const BufferRef& frame);
  bool stays_with_user(const Record& record, const Entry& at) const noexcept;

  Entry& entry(Sequence number) noexcept { return ring_[number_of(number) & (ring_.size() - 1)]; }
  const Entry& entry(Sequence number) const noexcept { return ring_[number_of(number) & (ring_.size() - 1)]; }
  Record& record_of(const Entry& e) noexcept { return records_[e.record % kOperationsMax]; }

  ClientGroupConfig config_;
  Outbox& outbox_;
  LinkId leaf_;
  GroupShape shape_{};
  std::optional<Verdict> verdict_;
  bool has_given_up_ = false, has_let_go_ = false;
  std::optional<wire::RefusedBody> refusal_;
  std::string lost_why_;
  Time due_ = kNever;
  LockKeeper lock_{config_.lock_batch};
  std::optional<wire::InvitedBody> invitation_;
  ListenTrial trial_;
  Sequence done_{};         ///< The first number that is not complete.
  Sequence owed_{};         ///< The first number whose result the link owes; at most done_.
  Sequence closed_{};       ///< The first number that some member has not contributed, as far as the link has said.
  Sequence next_{};         ///< The next number to send.
  std::uint64_t sent_ = 0;  ///< Counts all numbers before `next_`.
  std::uint32_t head_ = 0, finished_ = 0, cut_ = 0, tail_ = 0;  // operations: taken <= finished <= being cut <= posted
  membership::State life_;
  wire::JoinedBody joined_{};
  std::uint16_t joined_flags_ = 0;
  bool settled_ = false;
  std::optional<Sequence> placed_;  ///< The result that is being taken and lies in the user's memory already.
  GroupObserver* observer_ = nullptr;
  bool retains_ = false, lacks_memory_ = false;
  std::vector<Entry> ring_;
  std::optional<wire::DatagramsBody> datagram_terms_;
  std::optional<HopMember> way_;
  Trial datagram_trial_ = Trial::none;
  bool is_silent_ = false;  ///< The observer was told that nobody answers its datagrams.
  Time links_lost_at_ = kNever, wants_links_since_ = kNever;
  bool is_cut_off_ = false;  ///< The leaf hears nothing of this group any more.
  unsigned trial_ticks_ = 0, verdict_ticks_ = 0;
  std::optional<std::uint64_t>
      way_from_;             ///< When so many numbers are sent, the next ones may go as datagrams at all members.
  Sequence by_link_from_{};  ///< The first number by the link behind the last datagrams.
  std::optional<Sequence> run_from_;  ///< All numbers from this one on went as datagrams.
  std::uint64_t datagram_numbers_ = 0;
  std::array<Record, kOperationsMax> records_{};
  BufferPool copies_{kCopiesMax};  ///< The parts of operations that are complete and not sent yet.
};

const char* to_string(ClientGroup::Phase phase) noexcept;

}  // namespace sumac::proto
