// The datagram way of a member's group: its trial, and its numbers. Everything by the link is closed before a number goes as a
// datagram, and the other way round, so a node needs to know of them only that they were there.
#include <cstring>

#include "hop/element.h"
#include "hop/rule.h"
#include "proto/client_group.hpp"
#include "wire/proof.hpp"

namespace sumac::proto {
namespace {

/// A trial that the other members have not answered after so many repetitions fails; while nothing is known of the way there is one a
/// millisecond.
constexpr unsigned kTrialTicksMax = 500;
/// A number before a verdict's that is not answered after so many repetitions belongs to another call of the others.
constexpr unsigned kVerdictTicksMax = 100;
constexpr Duration kSilentMost = Seconds(1);
/// A daemon is back, and its members have another tree, about two seconds after it was killed. The kernels go on for longer.
constexpr Duration kWithoutLinksMost = Seconds(5);
/// An operation that cannot go as a datagram waits so long for the other tree.
constexpr Duration kAwaitsLinksMost = Seconds(1);
/// A run that is longer would look like one from the future.
constexpr std::uint32_t kRunMax = 1u << 30;

}  // namespace

/// The trial is a barrier before the group's first number. Its answer proves each link of the tree, in both directions.
void ClientGroup::try_datagrams(Time now) {
  HopMemberConfig config;
  config.group = datagram_terms_->group;
  config.child = datagram_terms_->child;
  config.window = datagram_terms_->window;
  config.levels = config_.path.length;
  config.first = seq_previous(joined_.first);
  const auto& key = config_.datagrams.job_key;
  const auto& nonce = datagram_terms_->nonce;
  if (config.window > shape_.osts || !wire::make_datagram_key(key, nonce, config_.group_id, config.child, config.up) ||
      !wire::make_datagram_key(key, nonce, config_.group_id, wire::kResults, config.down)) {
    datagram_trial_ = Trial::failed;
    return;
  }
  way_.emplace(config, static_cast<HopOutbox&>(*this));
  datagram_trial_ = Trial::open;
  way_->probe(now);
  HopHeader barrier{};
  barrier.coll = kHopBarrier;
  barrier.op = static_cast<std::uint8_t>(Op::null);
  barrier.dtype = static_cast<std::uint8_t>(Dtype::null);
  barrier.sequence = number_of(config.first);
  way_->contribute(barrier, {}, now);
}

ByLink ClientGroup::why_by_link(const Operation& operation) const noexcept {
  if (!datagram_terms_) return ByLink::not_offered;
  if (!way_) return ByLink::no_answer;
  if (operation.coll == wire::Coll::barrier) return ByLink::none;
  const bool is_rooted = operation.coll == wire::Coll::bcast || operation.coll == wire::Coll::reduce;
  if (!is_rooted && operation.coll != wire::Coll::allreduce) return ByLink::kind;
  const std::size_t element = wire::element_of(operation);
  if (operation.tag_dtype != Dtype::null || element == 0) return ByLink::operation;
  if (operation.streaming || operation.count == 0 || operation.count > datagram_payload_max() / element)
    return ByLink::size;
  const bool is_canonical = (datagram_terms_->features & wire::kDatagramsCanonical) != 0;
  if (operation.reproducible && !is_canonical && wire::order_matters(operation)) return ByLink::order;
  if (operation.coll != wire::Coll::bcast &&
      !hop_combines(static_cast<std::uint32_t>(operation.op), static_cast<std::uint32_t>(operation.dtype)))
    return ByLink::operation;
  return is_rooted && !config_.outlives ? ByLink::returns_early : ByLink::none;
}

/// A function of the operation and its number alone, so that all members decide alike.
bool ClientGroup::goes_as_datagram(const Record& record) const noexcept {
  if (!way_ || !way_from_ || sent_ < *way_from_ || record.sent != 0) return false;
  if (run_from_ && seq_count(*run_from_, next_) >= kRunMax) return false;
  return why_by_link(record.operation) == ByLink::none;
}

bool ClientGroup::may_send(const Record& record) const noexcept {
  if (!goes_as_datagram(record)) return room(record.window) && has_drained_datagrams();
  if (!run_from_ && (closed_ != next_ || owed_ != next_) && HOP_KEEPS(kHopAwaitsLinks)) return false;
  return way_->has_room(next_) && seq_count(done_, next_) < datagram_terms_->window;
}

void ClientGroup::contribute_datagram(Entry& at, Time now) {
  const wire::AggHeader& asked = at.header;
  HopHeader header{};
  // A reduce to whose sum its root contributes like the others is an allreduce for the nodes.
  const bool is_sum_of_all = asked.coll == wire::Coll::reduce && !prompt(asked);
  header.coll = static_cast<std::uint8_t>(is_sum_of_all ? wire::Coll::allreduce : asked.coll);
  header.op = static_cast<std::uint8_t>(asked.op);
  header.dtype = static_cast<std::uint8_t>(asked.dtype);
  header.payload_bytes = static_cast<std::uint16_t>(at.elements * at.element);
  header.sequence = number_of(asked.sequence);
  header.root = asked.root;
  header.meaning = asked.meaning;
  if (!run_from_) run_from_ = asked.sequence;
  ++datagram_numbers_;
  way_->contribute(header, data_of(at).bytes, now);
  if (BufferRef copy = std::exchange(at.copy, {}); copy && retains_) at.kept = copy;
  outbox_.await_datagrams(!std::holds_alternative<member_number::Sent>(at.state));
}

Errc ClientGroup::on_datagram(std::span<const std::byte> datagram, Time now) {
  if (!way_) return Errc::denied;
  if (const Errc read = way_->on_datagram(datagram, now); read != Errc::ok) return read;
  if (datagram_trial_ == Trial::open && way_->is_closed(seq_previous(joined_.first))) datagram_trial_ = Trial::passed;
  take_datagrams(now);
  return Errc::ok;
}

/// Returns false where there is no memory for its result: the next datagram or tick finds it again.
bool ClientGroup::takes_datagram(Entry& at, Sequence number, Time now) {
  if (!std::holds_alternative<member_number::Sent>(at.state)) {
    if (way_->is_closed(number)) advance(at, number, member_number::Closed{}, nullptr, now);
    return true;
  }
  if (!way_->is_answered(number)) return true;
  const auto data = way_->result(number);
  BufferRef frame = copies_.acquire(wire::kAggHeaderBytes + data.size());
  if (!frame) return false;
  wire::store(frame.data(), at.header);
  std::memcpy(frame.data() + wire::kAggHeaderBytes, data.data(), data.size());
  advance(at, number, member_number::Result{number == done_}, &frame, now);
  return true;
}

void ClientGroup::take_datagrams(Time now) {
  if (!run_from_) return;
  for (Sequence number = owed_; number != next_; number = seq_next(number))
    if (Entry& at = entry(number); at.is_datagram && !takes_datagram(at, number, now)) break;
  closed_ = way_->is_idle() ? next_ : way_->first_open();
  follow(now);
}

bool ClientGroup::has_drained_datagrams() const noexcept {
  return !run_from_ || !way_ || way_->is_idle() || !HOP_KEEPS(kHopAwaitsDatagrams);
}

bool ClientGroup::awaits_datagrams(Sequence before) const noexcept {
  const bool is_over = has_let_go_ && HOP_KEEPS(kHopLetsGo);
  if (is_over || verdict_ticks_ >= kVerdictTicksMax || !HOP_KEEPS(kHopAnswersBefore)) return false;
  for (Sequence number = done_; number != next_ && seq_before(number, before); number = seq_next(number))
    if (const Entry& at = entry(number); at.is_datagram && std::holds_alternative<member_number::Sent>(at.state))
      return way_.has_value();
  return false;
}

void ClientGroup::tick_datagrams(Time now) {
  way_->tick(now);
  if (datagram_trial_ == Trial::open && ++trial_ticks_ >= kTrialTicksMax) {
    datagram_trial_ = Trial::failed;
    way_.reset();
    outbox_.datagrams_fail(config_.group_id);
    return;
  }
  if (verdict_) ++verdict_ticks_;
  take_datagrams(now);
  if (!way_ || datagram_trial_ != Trial::passed || way_->silence(now) < kSilentMost) return;
  lost_why_ = "its leaf node has left datagrams unanswered for 1 s";
  if (observer_ != nullptr && HOP_KEEPS(kHopLeavesSilent)) return leave_tree();
  give_up();
  live(membership::GroupOver{}, now);
}

/// The tree may live: its observer leaves it as any other tree that lives, and nothing of the group stays there.
void ClientGroup::leave_tree() {
  if (!std::exchange(is_silent_, true)) observer_->ended(false);
}

/// Nothing that goes by the links is under way, at this member. The others decide for themselves, and tell each other.
bool ClientGroup::may_lose_links() const noexcept {
  const auto* standing = std::get_if<membership::Standing>(&life_);
  if (observer_ == nullptr || standing == nullptr || standing->leaving || verdict_ || has_given_up_) return false;
  if (!way_ || datagram_trial_ != Trial::passed || !way_from_ || sent_ < *way_from_) return false;
  return run_from_.has_value() || (owed_ == next_ && closed_ == next_);
}

bool ClientGroup::lose_links(Time now) {
  if (!has_links()) return true;
  if (!may_lose_links()) return false;
  links_lost_at_ = now;
  due_ = std::min(due_, now + kWithoutLinksMost);
  observer_->lost_links();
  return true;
}

void ClientGroup::await_links(Time now) {
  if (wants_links_since_ == kNever) wants_links_since_ = now;
  due_ = std::min(due_, wants_links_since_ + kAwaitsLinksMost);
}

void ClientGroup::tick_without_links(Time now) {
  const Time until = std::min(links_lost_at_ + kWithoutLinksMost,
                              wants_links_since_ == kNever ? kNever : wants_links_since_ + kAwaitsLinksMost);
  if (now >= until) return leave_tree();
  due_ = std::min(due_, until);
}

}  // namespace sumac::proto
