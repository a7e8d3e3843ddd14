#pragma once
// Inside this folder only: a member's group as its two files see it. What happens to the group as a whole is in client_group.cpp, its
// numbers, which are the hot path, in client_group_numbers.cpp.
#include <array>
#include <vector>

#include "proto/client_group.hpp"
#include "proto/cutting.hpp"
#include "proto/listen_trial.hpp"
#include "proto/lock_keeper.hpp"
#include "proto/member_number.hpp"
#include "proto/membership.hpp"
#include "proto/resend.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::proto {

class ClientGroup::Impl {
 public:
  Impl(const ClientGroupConfig& config, Outbox& outbox, LinkId leaf) : config_(config), outbox_(outbox), leaf_(leaf) {}

  // The group as a whole.
  void start(Time now);
  void give_up();
  void leave(Time now);
  Errc on_message(const wire::AggHeader& header, const BufferRef& frame, Time now);
  Errc on_placed(const wire::AggHeader& header, Time now);
  void link_closed(Time now);
  void number_reused();
  Phase phase() const noexcept;

  // Its numbers.
  tl::expected<OpId, Errc> post(const Operation& operation, Time now);
  std::optional<Completion> next_completion();
  Errc ask_for_lock(Time now);
  std::span<std::byte> place(const wire::AggHeader& header) noexcept;
  std::span<std::byte> expect(wire::AggHeader& header) noexcept;
  /// `frame`: none, if its data lie where place() said.
  Errc result(const wire::AggHeader& header, const BufferRef& frame, Time now);
  Heard multicast(const wire::AggHeader& header, const BufferRef& frame, Time now);
  void pump(Time now);  ///< Sends what there is room for.

  void tick(Time now);

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

 private:
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
  Errc verdict(const wire::AggHeader& header, const wire::VerdictBody& body, Time now);
  void settle(Time now);
  void drain(Time now);

  // client_group_numbers.cpp
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

  membership::State life_;
  wire::JoinedBody joined_{};
  std::uint16_t joined_flags_ = 0;
  bool settled_ = false;
  std::vector<Entry> ring_;
  std::array<Record, kOperationsMax> records_{};
};

}  // namespace sumac::proto
