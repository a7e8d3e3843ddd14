#include "proto/client_group.hpp"

#include <array>
#include <cstring>
#include <vector>

#include "proto/client_link.hpp"
#include "proto/cutting.hpp"
#include "proto/guard.hpp"
#include "proto/listen_trial.hpp"
#include "proto/lock_keeper.hpp"
#include "proto/member_number.hpp"
#include "proto/membership.hpp"
#include "proto/resend.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::proto {

using wire::AggHeader;
using wire::AggKind;
using wire::Coll;

class ClientGroup::Impl {
 public:
  Impl(const ClientGroupConfig& config, Outbox& outbox, LinkId leaf) : config_(config), outbox_(outbox), leaf_(leaf) {}

  void start(Time now) {
    life_ = membership::Joining{resend_time(now)};
    due_ = std::min(due_, resend_time(now));
    send_join();
  }

  tl::expected<OpId, Errc> post(const Operation& operation, Time now) {
    if (const auto* standing = std::get_if<membership::Standing>(&life_); standing == nullptr || standing->leaving)
      return tl::unexpected(why_not());
    const Errc legal = check(operation, config_.group_size, shape_);
    if (legal != Errc::ok) return tl::unexpected(legal);
    if (tail_ - head_ >= kOperationsMax) return tl::unexpected(Errc::again);
    Record& record = records_[tail_ % kOperationsMax];
    record = Record{};
    record.operation = bounded(operation);
    // Which every version knows and nobody sends: who differs is found out all the same.
    if (operation.coll == Coll::refusal && !shape_.locks) record.operation.coll = Coll::close;
    plan(record, shape_);
    const OpId id{tail_++};
    pump(now);
    return id;
  }

  std::optional<Completion> next_completion() {
    if (head_ == finished_) return std::nullopt;
    const Record& record = records_[head_ % kOperationsMax];
    return Completion{OpId{head_++}, record.operation.token, record.status, record.operation.streaming};
  }

  Errc ask_for_lock(Time now) {
    if (const auto* standing = std::get_if<membership::Standing>(&life_); standing == nullptr || standing->leaving)
      return why_not();
    if (shape_.stream_window == 0 || !shape_.locks) return Errc::unsupported;
    lock_.ask();
    pump(now);
    return Errc::ok;
  }

  void wake(Time now) { pump(now); }

  void give_up() {
    if (!std::holds_alternative<membership::Standing>(life_) || verdict_) return;
    wire::TroubleBody body;
    body.reason = shape_.locks ? wire::TroubleReason::gave_up : wire::TroubleReason::lost_connection;
    body.culprit = config_.rank;
    AggHeader h = head(AggKind::trouble);
    h.sequence = done_;
    h.origin = config_.rank;
    h.members = 1;
    control(h, body);
  }

  void leave(Time now) {
    live(membership::LeaveWanted{}, now);
    drain(now);
  }

  Errc on_message(const AggHeader& header, const BufferRef& frame, Time now) {
    if (guard(Guard::member_epoch, header.epoch != config_.epoch)) return Errc::ok;  // of another epoch: late
    switch (header.kind) {
      case AggKind::result: return result(header, frame, now);
      case AggKind::invited:
        return with_body<wire::InvitedBody>(frame, [&](const wire::InvitedBody& body) {
          if (std::holds_alternative<membership::Joining>(life_)) invitation_ = body;
          return Errc::ok;
        });
      case AggKind::joined:
        return with_body<wire::JoinedBody>(frame, [&](const wire::JoinedBody& body) {
          if (std::holds_alternative<membership::Joining>(life_)) {
            if (body.osts > config_.osts || body.stream_window > config_.stream_window ||
                body.payload_max > config_.payload_max || body.chunk_max > config_.chunk_max)
              return Errc::invalid;
            joined_ = body;
            joined_flags_ = header.flags;
          }
          live(membership::JoinedCame{}, now);
          drain(now);
          return Errc::ok;
        });
      case AggKind::refused:
        return with_body<wire::RefusedBody>(frame, [&](const wire::RefusedBody& body) {
          if (std::holds_alternative<membership::Joining>(life_)) refusal_ = body;
          live(membership::RefusedCame{}, now);
          return Errc::ok;
        });
      case AggKind::verdict:
        return with_body<wire::VerdictBody>(frame, [&](const auto& body) { return verdict(header, body, now); });
      case AggKind::void_epoch:
        return with_body<wire::VoidBody>(frame, [&](const wire::VoidBody& body) {
          if (!std::holds_alternative<membership::Departing>(life_))
            lost_why_ = fmt::format("the tree lost a node or link (reported by node {})", body.node_id);
          live(membership::EpochOver{}, now);
          return Errc::ok;
        });
      default: return Errc::invalid;
    }
  }

  void link_closed(Time now) {
    if (lost_why_.empty() && !std::holds_alternative<membership::Departing>(life_))
      lost_why_ = "the connection to the leaf node is closed";
    live(membership::EpochOver{}, now);
  }

  void number_reused() {
    if (std::holds_alternative<membership::Joining>(life_)) {
      // It was refused, and the answer was lost; why, nobody knows any more.
      refusal_ = wire::RefusedBody{.job_id = config_.job_id,
                                   .reason = wire::RefuseReason::unknown_group,
                                   .node_id = config_.path.entries[0].node_id,
                                   .what = AggKind::join};
    } else if (!std::holds_alternative<membership::Departing>(life_)) {
      lost_why_ = "the tree gave this group's number to another group";
    }
    live(membership::NumberReused{}, Time{});
  }

  void tick(Time now) {
    if (now < due_) return;
    due_ = kNever;
    live(membership::Timeout{}, now);
    due_ = std::min(due_, resend_at(life_));
    for (std::uint32_t number = owed_; number != next_; ++number) {
      Entry& entry = this->entry(number);
      if (now >= resend_at(entry.state)) advance(entry, number, member_number::Timeout{}, nullptr, now);
      due_ = std::min(due_, resend_at(entry.state));
    }
  }

  Heard multicast(const AggHeader& header, const BufferRef& frame, Time now) {
    if (guard(Guard::multicast_life, header.group_id != config_.group_id || header.epoch != config_.epoch))
      return Heard::discarded;
    if (header.tree_id != config_.tree_id || ring_.empty()) return Heard::discarded;
    const std::uint32_t number = header.sequence;
    if (wire::seq_before(number, done_)) return Heard::late;
    if (!wire::seq_before(number, next_) || (verdict_ && !wire::seq_before(number, verdict_->first_failed)))
      return Heard::discarded;
    Entry& entry = this->entry(number);
    if (!answers(entry, header)) return is_source(entry) ? Heard::late : Heard::discarded;  // late: its own data
    if (!std::holds_alternative<member_number::Sent>(entry.state)) return Heard::late;
    advance(entry, number, member_number::Early{number == done_}, &frame, now);
    follow(now);
    return Heard::taken;
  }

  Phase phase() const noexcept {
    return std::visit(
        overloaded{[](const membership::Joining&) { return Phase::joining; },
                   [](const membership::Standing& s) { return s.leaving ? Phase::leaving : Phase::standing; },
                   [](const membership::Condemned& s) { return s.leaving ? Phase::leaving : Phase::condemned; },
                   [](const membership::Departing&) { return Phase::leaving; },
                   [](const membership::Left&) { return Phase::left; },
                   [](const membership::Refused&) { return Phase::refused; },
                   [](const membership::Lost&) { return Phase::lost; }},
        life_);
  }

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
  struct Record : Cutting {
    std::uint32_t in_flight = 0;
    Errc status = Errc::ok;
    bool ends_batch = false;  ///< Of the streaming lock.
  };
  struct Entry {
    member_number::State state;
    std::uint32_t record = 0;
    std::uint32_t elements = 0;  ///< Of this fragment, also where we contribute none of them.
    bool is_ours = false;        ///< lock and unlock: of no operation of the caller's.
    AggHeader header{};          ///< As contributed.
    BufferRef stash;
  };

  Time resend_time(Time now) const noexcept { return proto::resend_time(now, config_.resend_after); }
  Entry& entry(std::uint32_t number) noexcept { return ring_[number & (ring_.size() - 1)]; }
  Record& record_of(const Entry& e) noexcept { return records_[e.record % kOperationsMax]; }

  AggHeader head(AggKind kind) const noexcept {
    AggHeader h;
    h.kind = kind;
    h.tree_id = config_.tree_id;
    h.group_id = config_.group_id;
    h.epoch = config_.epoch;
    return h;
  }

  Errc why_not() const noexcept {
    const Phase now = phase();
    if (verdict_) return Errc::verdict;
    if (now == Phase::refused) return Errc::refused;
    return now == Phase::lost || (now == Phase::left && !lost_why_.empty()) ? Errc::lost : Errc::denied;
  }

  // ---- life -----------------------------------------------------------------------------------------------

  void live(const membership::Event& event, Time now) {
    auto [state, actions] = membership::step(life_, event, now, {config_.resend_after});
    life_ = state;
    for (const auto action : actions) switch (action) {
        case membership::Action::send_join: send_join(); break;
        case membership::Action::stand: stand(); break;
        case membership::Action::note_refusal: break;
        case membership::Action::note_verdict: break;
        case membership::Action::send_leave: send_leave(); break;
        case membership::Action::fail_all: fail_from(done_, Errc::lost, now); break;
        case membership::Action::ignore: break;
      }
    due_ = std::min(due_, resend_at(life_));
  }

  void send_join() {
    wire::JoinBody body{.job_id = config_.job_id, .rank = config_.rank, .world_rank = config_.world_rank};
    body.group_size = config_.group_size, body.osts = config_.osts;
    body.stream_window = config_.stream_window;
    body.payload_max = config_.payload_max;
    body.chunk_max = config_.chunk_max;
    body.path_length = static_cast<std::uint16_t>(config_.path.length);
    body.path = config_.path.entries;
    AggHeader h = head(AggKind::join);
    if (config_.reproducible) wire::say_reproducible(h);
    control(h, body);
  }

  template <class Body>
  void control(AggHeader h, const Body& body) {
    h.payload_bytes = sizeof body;
    std::byte bytes[sizeof body];
    wire::store(bytes, body);
    outbox_.send_control(leaf_, h, {bytes, sizeof bytes});
  }

  void stand() {
    shape_ = {joined_.osts, joined_.stream_window, joined_.payload_max, joined_.chunk_max, joined_.root_node};
    shape_.reproducible = (joined_flags_ & wire::kFlagReproducible) != 0;
    shape_.locks = (joined_flags_ & wire::kFlagLocks) != 0;
    if (!shape_.locks) lock_ = LockKeeper(0);
    done_ = next_ = owed_ = joined_.low;
    // Twice the window, so that a number beyond it (which the window forbids) never meets one that is under way.
    ring_ = std::vector<Entry>(std::bit_ceil(2 * std::max(shape_.osts, shape_.stream_window)));
  }

  void send_leave() {
    const auto& departing = std::get<membership::Departing>(life_);
    AggHeader h = head(AggKind::contribute);
    h.sequence = departing.number;
    h.coll = Coll::leave;
    h.origin = config_.rank;
    h.members = 1;
    outbox_.send(leaf_, h, {});
  }

  /// If the caller wants to leave, now may be the time.
  void drain(Time now) {
    if (finished_ != tail_ || done_ != next_ || (verdict_ && !settled_)) return;
    if (owed_ != done_) return;  // Leave says that we have everything, and is a number of the window
    live(membership::Drained{next_}, now);
  }

  Errc verdict(const AggHeader& header, const wire::VerdictBody& body, Time now) {
    const bool takes_it = std::holds_alternative<membership::Standing>(life_) ||
                          (std::holds_alternative<membership::Departing>(life_) && !verdict_);
    if (takes_it) {
      // It speaks of a number between what is complete here and what was sent: the node cannot have answered more.
      if (wire::seq_before(header.sequence, done_) || wire::seq_before(next_, header.sequence)) return Errc::invalid;
      verdict_ = Verdict{header.sequence, body};
    }
    live(membership::VerdictCame{header.sequence}, now);
    settle(now);
    return Errc::ok;
  }

  /// The verdict takes effect when everything before its number is complete.
  void settle(Time now) {
    if (!verdict_ || settled_) return;
    if (guard(Guard::verdict_in_turn, done_ != verdict_->first_failed)) return;
    settled_ = true;
    fail_from(verdict_->first_failed, Errc::verdict, now);
    drain(now);
  }

  void fail_from(std::uint32_t number, Errc status, Time now) {
    for (; number != next_; ++number) advance(entry(number), number, member_number::Condemned{}, nullptr, now);
    for (; finished_ != tail_; ++finished_) records_[finished_ % kOperationsMax].status = status;
    cut_ = tail_;
    next_ = owed_ = done_;
    lock_.over();
  }

  // ---- numbers --------------------------------------------------------------------------------------------

  void pump(Time now) {
    while (!verdict_ && !ring_.empty()) {
      if (const Coll due = lock_.due(); due != Coll::none) {
        if (!room(shape_.osts)) return;
        lock_.sent();
        send_our_own(due, now);
      }
      if (cut_ == tail_) return;
      Record& record = records_[cut_ % kOperationsMax];
      if (record.sent == 0 && record.operation.streaming) {
        const auto way = lock_.next_operation();
        if (way == LockKeeper::Way::without) go_without_lock(record);
        if (way == LockKeeper::Way::wait && lock_.due() == Coll::none) return;  // the answer decides
        if (way == LockKeeper::Way::wait) continue;
      }
      if (!room(record.window)) return;
      if (!record.operation.streaming && record.in_flight >= config_.pipeline_depth) return;
      if (!is_ready(record)) return;
      const std::uint32_t number = next_++;
      Entry& entry = this->entry(number);
      entry.state = member_number::Waiting{};
      entry.record = cut_;
      entry.is_ours = false;
      const Piece piece = next_piece(record);
      entry.elements = piece.elements;
      entry.header = fragment(record, number, piece);
      record.sent += entry.elements;
      ++record.in_flight;
      if (record.sent == record.operation.count) {
        ++cut_;
        record.ends_batch = record.operation.streaming && lock_.streamed();
      }
      advance(entry, number, member_number::Room{}, nullptr, now);
    }
  }

  // ---- the streaming lock -----------------------------------------------------------------------------------

  /// Its lock was denied: another way, or none.
  void go_without_lock(Record& record) {
    const bool fails = record.operation.must_stream;
    if (fails) record.status = Errc::again;
    if (fails) record.operation = Operation{.coll = Coll::barrier, .token = record.operation.token};
    record.operation.streaming = false;
    plan(record, shape_);
  }

  /// May one more number be sent? A node knows by our numbers what we have, and goes by what it has sent on our link.
  bool room(std::uint32_t window) const noexcept {
    const std::uint32_t held = next_ - (guard(Guard::owed_window, true) ? owed_ : done_);
    return !guard(Guard::member_window, held >= window) && next_ - owed_ < ring_.size();
  }

  void send_our_own(Coll coll, Time now) {
    const std::uint32_t number = next_++;
    Entry& entry = this->entry(number) = Entry{.state = member_number::Waiting{}, .is_ours = true};
    AggHeader& h = entry.header;
    h = head(AggKind::contribute);
    h.sequence = number;
    h.coll = coll;
    h.origin = config_.rank;
    h.members = 1;
    h.flags = wire::kFlagFirst | wire::kFlagLast;
    h.version = wire::version_of(h);
    advance(entry, number, member_number::Room{}, nullptr, now);
  }

  AggHeader fragment(const Record& record, std::uint32_t number, const Piece& piece) const noexcept {
    AggHeader h = head(AggKind::contribute);
    h.sequence = number;
    h.coll = record.operation.coll;
    h.origin = config_.rank;
    h.members = 1;
    h.flags = wire::kFlagFirst | wire::kFlagLast;
    h.version = wire::version_of(h);
    describe_piece(record, piece, h);
    if (trial_.listening() && listens_to(record, piece, h)) wire::say_listening(h, true);
    return h;
  }

  Errc result(const AggHeader& header, const BufferRef& frame, Time now) {
    if (header.coll == Coll::leave) {
      live(membership::LeaveAnswered{}, now);
      return Errc::ok;
    }
    const std::uint32_t number = header.sequence;
    if (guard(Guard::member_late, ring_.empty() || wire::seq_before(number, done_))) {
      if (wire::seq_before(number, owed_) || ring_.empty()) return Errc::ok;
      advance(entry(number), number, member_number::Result{}, nullptr,
              now);  // the link's copy of what came by multicast
      follow(now);
      return Errc::ok;
    }
    if (verdict_ && !wire::seq_before(number, verdict_->first_failed)) return Errc::ok;  // it completes nowhere
    if (!wire::seq_before(number, next_)) return Errc::invalid;
    Entry& entry = this->entry(number);
    if (!answers(entry, header)) return Errc::invalid;
    if (entry.header.coll == Coll::lock) entry.header.flags = header.flags;
    if (!advance(entry, number, member_number::Result{number == done_}, &frame, now)) return Errc::invalid;
    follow(now);
    return Errc::ok;
  }

  /// Is it the result of what was asked? Whether somebody listens, or got the lock, is not something that was.
  bool answers(const Entry& entry, const AggHeader& header) const noexcept {
    const AggHeader& asked = entry.header;
    const auto open = wire::kFlagListening | (asked.coll == Coll::lock ? wire::kFlagDenied : 0);
    return header.coll == asked.coll && header.op == asked.op && header.dtype == asked.dtype &&
           header.count == asked.count && header.first == asked.first &&
           (header.flags | open) == (asked.flags | open) && header.root == asked.root &&
           header.payload_bytes == result_bytes(entry);
  }

  /// What a result makes possible behind it.
  void follow(Time now) {
    while (done_ != next_ && std::holds_alternative<member_number::Stashed>(entry(done_).state)) {
      const std::uint32_t turn = done_;
      advance(entry(turn), turn, member_number::Turn{}, nullptr, now);
    }
    while (owed_ != done_ && std::holds_alternative<member_number::Complete>(entry(owed_).state)) ++owed_;
    settle(now);
    pump(now);
    drain(now);
  }

  /// Where one member's data go to everybody else, they don't come back to it.
  std::uint32_t result_bytes(const Entry& at) const noexcept {
    if (at.is_ours) return 0;
    return is_source(at) ? 0 : at.elements * records_[at.record % kOperationsMax].element;
  }
  static bool is_source(const Entry& at) noexcept {
    return wire::has_one_source(at.header) && at.header.payload_bytes != 0;
  }

  /// False: the node broke a rule.
  bool advance(Entry& at, std::uint32_t number, const member_number::Event& event, const BufferRef* frame, Time now) {
    const auto [state, action] = member_number::step(at.state, event, now, {config_.resend_after});
    at.state = state;
    if ((at.header.flags & wire::kFlagListening) != 0 && std::holds_alternative<member_number::Result>(event) &&
        action != member_number::Action::ignore && trial_.link_copy(action == member_number::Action::settle))
      outbox_.stopped_listening(leaf_, config_.group_id);
    switch (action) {
      case member_number::Action::send: send(at, now); return true;
      case member_number::Action::stash: at.stash = *frame; return true;
      case member_number::Action::settle: return true;
      case member_number::Action::ask_again: ask_again(at, now); return true;
      case member_number::Action::deliver: deliver(at, number, frame != nullptr ? *frame : at.stash); return true;
      case member_number::Action::forget: at.stash.reset(); return true;
      case member_number::Action::offence: return false;
      case member_number::Action::ignore: return true;
    }
    return true;
  }

  /// The user's memory is the user's again; but what was in it was added long ago, so the node looks at the number only.
  void ask_again(const Entry& at, Time now) {
    static constexpr std::array<std::byte, wire::kMulticastPayloadMax> kZeros{};
    outbox_.send(leaf_, at.header, Payload{std::span(kZeros).first(at.header.payload_bytes)});
    due_ = std::min(due_, resend_time(now));
  }

  void send(const Entry& at, Time now) {
    if (at.is_ours) {
      outbox_.send(leaf_, at.header, {});
      due_ = std::min(due_, resend_time(now));
      return;
    }
    const Record& record = record_of(at);
    const std::size_t from = (at.header.first - std::min(at.header.first, record.operation.give.from)) * record.element;
    const auto bytes = at.header.payload_bytes;
    outbox_.send(leaf_, at.header, bytes == 0 ? Payload{} : Payload{record.operation.src.subspan(from, bytes)});
    due_ = std::min(due_, resend_time(now));
  }

  void deliver(Entry& at, std::uint32_t number, const BufferRef& frame) {
    if (at.is_ours) {
      at.stash.reset();
      done_ = number + 1;
      if (at.header.coll == Coll::unlock) ++finished_;
      if (at.header.coll == Coll::lock) lock_.answered((at.header.flags & wire::kFlagDenied) != 0);
      return;
    }
    Record& record = record_of(at);
    const Operation& operation = record.operation;
    const std::uint64_t from = std::max(at.header.first, operation.keep.from);
    const std::uint64_t to = std::min(at.header.first + at.elements, operation.keep.to);
    if (from < to) {
      // What was ours did not travel back: it is still where we gave it from.
      const bool is_ours = result_bytes(at) == 0;
      const std::byte* source = is_ours
                                    ? operation.src.data() + (from - operation.give.from) * record.element
                                    : frame.data() + wire::kAggHeaderBytes + (from - at.header.first) * record.element;
      std::byte* target = operation.dst.data() + (from - operation.keep.from) * record.element;
      if (source != target) std::memmove(target, source, (to - from) * record.element);
    }
    at.stash.reset();
    --record.in_flight;
    done_ = number + 1;
    // Operations follow one another in numbers, so the one whose last number this is, is the oldest.
    if ((at.header.flags & wire::kFlagLast) != 0 && !record.ends_batch) ++finished_;
  }

  template <class Body, class Use>
  Errc with_body(const BufferRef& frame, const Use& use) {
    Body body;
    if (wire::decode(std::span<const std::byte>(frame.bytes()).subspan(wire::kAggHeaderBytes), body) != Errc::ok)
      return Errc::invalid;
    return use(body);
  }

  membership::State life_;
  wire::JoinedBody joined_{};
  std::uint16_t joined_flags_ = 0;
  bool settled_ = false;
  std::vector<Entry> ring_;
  std::array<Record, kOperationsMax> records_{};
};

Result<std::unique_ptr<ClientGroup>> ClientGroup::make(const ClientGroupConfig& config, Outbox& outbox, LinkId leaf) {
  if (auto legal = check(config); !legal) return tl::unexpected(legal.error());
  return std::unique_ptr<ClientGroup>(new ClientGroup(std::make_unique<Impl>(config, outbox, leaf)));
}

ClientGroup::ClientGroup(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClientGroup::~ClientGroup() = default;
void ClientGroup::start(Time now) { impl_->start(now); }
tl::expected<OpId, Errc> ClientGroup::post(const Operation& operation, Time now) { return impl_->post(operation, now); }
std::optional<Completion> ClientGroup::next_completion() { return impl_->next_completion(); }
std::uint32_t ClientGroup::outstanding() const noexcept { return impl_->tail_ - impl_->head_; }
Errc ClientGroup::ask_for_lock(Time now) { return impl_->ask_for_lock(now); }
StreamLock ClientGroup::stream_lock() const noexcept { return impl_->lock_.state(); }
void ClientGroup::wake(Time now) { impl_->wake(now); }
void ClientGroup::give_up() { impl_->give_up(); }
void ClientGroup::leave(Time now) { impl_->leave(now); }
Errc ClientGroup::on_message(const AggHeader& header, const BufferRef& frame, Time now) {
  return impl_->on_message(header, frame, now);
}
void ClientGroup::on_link_closed(Time now) { impl_->link_closed(now); }
void ClientGroup::on_number_reused() { impl_->number_reused(); }
void ClientGroup::tick(Time now) { impl_->tick(now); }
Time ClientGroup::next_due() const noexcept { return impl_->due_; }
ClientGroup::Phase ClientGroup::phase() const noexcept { return impl_->phase(); }
const ClientGroupConfig& ClientGroup::config() const noexcept { return impl_->config_; }
const GroupShape& ClientGroup::shape() const noexcept { return impl_->shape_; }
const std::optional<Verdict>& ClientGroup::verdict() const noexcept { return impl_->verdict_; }
const std::optional<wire::RefusedBody>& ClientGroup::refusal() const noexcept { return impl_->refusal_; }
std::uint32_t ClientGroup::in_flight() const noexcept { return impl_->next_ - impl_->owed_; }
const std::optional<wire::InvitedBody>& ClientGroup::invitation() const noexcept { return impl_->invitation_; }
void ClientGroup::listen(bool listening) noexcept { impl_->trial_.listen(listening); }
bool ClientGroup::listening() const noexcept { return impl_->trial_.listening(); }
ClientGroup::Heard ClientGroup::on_multicast(const AggHeader& header, const BufferRef& frame, Time now) {
  return impl_->multicast(header, frame, now);
}

std::string ClientGroup::why() const {
  if (impl_->verdict_) return describe(impl_->verdict_->body);
  if (impl_->refusal_) return describe(*impl_->refusal_);
  return impl_->lost_why_;
}

}  // namespace sumac::proto
