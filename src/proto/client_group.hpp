#pragma once
// A member's side of one group: join, numbered contributions in windows, results in order, verdict, leave
// (docs/protocol.md). No I/O and no copy of what is sent: contributions borrow the user's memory; results are copied
// to the user's memory in turn, unless the shell has received them there (place()).
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
#include "proto/cutting.hpp"
#include "proto/link.hpp"
#include "proto/listen_trial.hpp"
#include "proto/lock_keeper.hpp"
#include "proto/member_number.hpp"
#include "proto/membership.hpp"
#include "proto/operation.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::proto {

class ClientGroup {
 public:
  enum class Phase : std::uint8_t {
    joining,
    standing,
    condemned,  ///< A verdict is known; operations before F still complete. post() answers Errc::verdict.
    leaving,    ///< leave() was called: pending operations complete first, then Leave itself.
    left,       ///< Leave is through, or the group is lost: nothing is owed to anybody, the object may go.
    refused,    ///< It never stood: refusal().
    lost,       ///< Link or node gone: operations have failed with Errc::lost; leave() goes to `left` at once.
  };

  /// Errc::invalid: a field out of range; the text names it. Sends nothing yet: call start().
  static Result<std::unique_ptr<ClientGroup>> make(const ClientGroupConfig& config, Outbox& outbox, LinkId leaf);
  ClientGroup(const ClientGroup&) = delete;
  ClientGroup& operator=(const ClientGroup&) = delete;

  void start(Time now);  ///< Sends Join.

  /// Takes the next numbers, sends what the window lets. Errc::again: kOperationsMax outstanding, take completions
  /// first. invalid: not legal, or spans too short. unsupported: streaming where the group has none, another
  /// collective. verdict, lost, refused: the group has ended. denied: leave() was called, or still joining.
  tl::expected<OpId, Errc> post(const Operation& operation, Time now);
  /// Asks for the streaming lock now, not with the first streaming operation. stream_lock() tells how it went. Same errors as post();
  /// unsupported: the group has no streaming.
  Errc ask_for_lock(Time now);
  StreamLock stream_lock() const noexcept { return lock_.state(); }
  /// The next operation that is over, in the order of posting; nothing: none is.
  std::optional<Completion> next_completion();
  std::uint32_t outstanding() const noexcept {
    return tail_ - head_;
  }  ///< Posted and not yet taken by next_completion().

  void wake(Time now) { pump(now); }  ///< More of an operation's data is there.
  /// This member can't go on: the group ends for all, with a verdict that names us. Said once: not repeated by timer.
  void give_up();
  /// After everything posted so far. Repeated calls do nothing.
  void leave(Time now);

  /// Where small results come by multicast as well, if the group's root offers it. It is there when the group stands.
  const std::optional<wire::InvitedBody>& invitation() const noexcept { return invitation_; }
  /// This member hears that address (the shell has joined it), or no longer.
  void listen(bool listening) noexcept { trial_.listen(listening); }
  /// False after listen(true): too little came that way first, it is not worth listening.
  bool listening() const noexcept { return trial_.listening(); }
  /// What became of a datagram. taken: it was there before the link's copy. late: after it, or a second one. discarded: of no number
  /// that is under way.
  enum class Heard : std::uint8_t { taken, late, discarded };
  /// A message by multicast, whose tag was right. It counts as the link's copy taken early: the window, Leave and what is said
  /// again by timer go by the link's copies, which come all the same.
  Heard on_multicast(const wire::AggHeader& header, const BufferRef& frame, Time now);

  /// A result has begun, this is its header: where its data may go at once, to be told of by on_placed(). Empty: they are to come with
  /// on_message(), as they always may. Only for a result that can be complete by nothing else meanwhile, in its turn, all of which is
  /// kept. What has landed of one that never comes to its end is in `dst`, which a failed operation leaves undefined anyway.
  std::span<std::byte> place(const wire::AggHeader& header) noexcept;
  /// The result that comes next, if one does, and where its data may go; empty: that can't be said, or the memory is not free to be spoilt
  /// by something else that comes instead (in place it still holds what is to be sent).
  std::span<std::byte> expect(wire::AggHeader& header) noexcept;
  /// The data of a result lie where place() or expect() said.
  Errc on_placed(const wire::AggHeader& header, Time now);

  /// A message of this group (ClientLink sorts them). Errc::ok, or Errc::invalid: the node broke a rule, drop the link.
  Errc on_message(const wire::AggHeader& header, const BufferRef& frame, Time now);
  void on_link_closed(Time now);
  void on_number_reused();  ///< A newer group has this group's number: it has left (ClientLink::attach() says so).
  void tick(Time now);
  Time next_due() const noexcept { return due_; }

  Phase phase() const noexcept;
  const ClientGroupConfig& config() const noexcept { return config_; }
  const GroupShape& shape() const noexcept { return shape_; }  ///< Zero while joining.
  const std::optional<Verdict>& verdict() const noexcept { return verdict_; }
  const std::optional<wire::RefusedBody>& refusal() const noexcept { return refusal_; }
  /// Why operations fail, in one line for people; empty while all is well.
  std::string why() const;
  /// Numbers sent whose result the link still owes: what a node holds for us.
  std::uint32_t in_flight() const noexcept { return next_ - owed_; }

 private:
  ClientGroup(const ClientGroupConfig& config, Outbox& outbox, LinkId leaf)
      : config_(config), outbox_(outbox), leaf_(leaf) {}

  /// An operation.
  struct Record : Cutting {
    std::uint32_t in_flight = 0;
    Errc status = Errc::ok;
    bool ends_batch = false;  ///< Of the streaming lock.
  };
  /// A number.
  struct Entry {
    member_number::State state;
    std::uint32_t record = 0;
    std::uint32_t elements = 0;  ///< Of this fragment, also where we contribute none of them.
    bool is_ours = false;        ///< lock and unlock: of no operation of the caller's.
    wire::AggHeader header{};    ///< As contributed.
    BufferRef stash;
  };

  // client_group.cpp
  Errc why_not() const noexcept;
  bool takes_operations() const noexcept;
  wire::AggHeader head(wire::AggKind kind) const noexcept;
  template <class Body>
  void control(wire::AggHeader h, const Body& body);
  void live(const membership::Event& event, Time now);
  void send_join();
  void stand();
  void send_leave();
  Errc joined(const wire::AggHeader& header, const wire::JoinedBody& body, Time now);
  Errc judged(const wire::AggHeader& header, const wire::VerdictBody& body, Time now);
  void settle(Time now);
  void drain(Time now);

  // client_group_numbers.cpp
  /// `frame`: none, if its data lie where place() said.
  Errc result(const wire::AggHeader& header, const BufferRef& frame, Time now);
  void pump(Time now);  ///< Sends what there is room for.
  void tick_numbers(Time now);
  void go_without_lock(Record& record) const;
  bool room(std::uint32_t window) const noexcept;
  void send_our_own(wire::Coll coll, Time now);
  wire::AggHeader contribution(wire::Coll coll, std::uint32_t number) const noexcept;
  wire::AggHeader fragment(const Record& record, std::uint32_t number, const Piece& piece) const noexcept;
  bool answers(const Entry& entry, const wire::AggHeader& header) const noexcept;
  void follow(Time now);
  void fail_from(std::uint32_t number, Errc status, Time now);
  std::uint32_t result_bytes(const Entry& at) const noexcept;
  bool advance(Entry& at, std::uint32_t number, const member_number::Event& event, const BufferRef* frame, Time now);
  void send(const Entry& at, Time now);
  void ask_again(const Entry& at, Time now);
  void deliver(Entry& at, std::uint32_t number, const BufferRef& frame);

  Entry& entry(std::uint32_t number) noexcept { return ring_[number & (ring_.size() - 1)]; }
  Record& record_of(const Entry& e) noexcept { return records_[e.record % kOperationsMax]; }

  ClientGroupConfig config_;
  Outbox& outbox_;
  LinkId leaf_;
  GroupShape shape_{};
  std::optional<Verdict> verdict_;
  std::optional<wire::RefusedBody> refusal_;
  std::string lost_why_;
  Time due_ = kNever;
  LockKeeper lock_{config_.lock_batch};
  std::optional<wire::InvitedBody> invitation_;
  ListenTrial trial_;
  std::uint32_t done_ = 0;  ///< First number that is not complete.
  std::uint32_t owed_ = 0;  ///< First one whose result the link owes; done_ at most.
  std::uint32_t next_ = 0;  ///< The next one to send.
  std::uint32_t head_ = 0, finished_ = 0, cut_ = 0, tail_ = 0;  // operations: taken <= finished <= being cut <= posted
  membership::State life_;
  wire::JoinedBody joined_{};
  std::uint16_t joined_flags_ = 0;
  bool settled_ = false;
  std::vector<Entry> ring_;
  std::array<Record, kOperationsMax> records_{};
};

const char* to_string(ClientGroup::Phase phase) noexcept;

}  // namespace sumac::proto
