// The datagram way of a node's group: its agreement while the group joins, and numbers that went past this node's links.
#include <bit>

#include "coll/canonical.hpp"
#include "hop/rule.h"
#include "proto/guard.hpp"
#include "proto/node_group.hpp"
#include "wire/proof.hpp"

namespace sumac::proto {
namespace {

/// Returns the order of merges by which these blocks of ranks become one along the canonical tree. Nothing: they do not.
std::optional<std::vector<DatagramNode::Merge>> merges_of(std::vector<coll::RankBlock> blocks, std::uint32_t size) {
  std::vector<DatagramNode::Merge> merges;
  for (const auto& block : blocks)
    if (!coll::is_canonical(block, size)) return std::nullopt;
  for (std::size_t left = 0; merges.size() + 1 < blocks.size();) {
    if (left == blocks.size()) return std::nullopt;
    const auto wanted = coll::sibling(blocks[left], size);
    const auto right = wanted ? std::ranges::find(blocks, *wanted) : blocks.end();
    if (blocks[left].count == 0 || right == blocks.end() || right->first < blocks[left].first) {
      ++left;
      continue;
    }
    merges.push_back({static_cast<std::uint16_t>(left), static_cast<std::uint16_t>(right - blocks.begin())});
    blocks[left] = coll::joined(blocks[left], *right);
    *right = {};
    left = 0;
  }
  return merges;
}

}  // namespace

/// All children have joined. Each of them must take datagrams, or nobody does.
void NodeGroup::reserve_way() {
  DatagramNode* kernel = ctx_.outbox.datagram_node();
  if (kernel == nullptr || ctx_.config.limits.resend_after.count() != 0 || std::exchange(has_asked_way_, true)) return;
  std::uint16_t payload = UINT16_MAX;
  for (const Child& child : children_) {
    if (child.end.port == 0) return;
    payload = std::min<std::uint16_t>(payload, child.end.payload_max & ~7u);
  }
  if (payload == 0) return;
  const auto terms = kernel->reserve(static_cast<std::uint32_t>(children_.size()));
  if (!terms) return;
  way_.emplace().terms = *terms;
  way_->payload_max = std::min(payload, terms->end.payload_max);
  std::vector<coll::RankBlock> blocks;
  for (const Child& child : children_) {
    if (child.role == wire::Role::node && !child.is_canonical) return;
    blocks.push_back({child.lowest_rank, child.members});
  }
  way_->merges = merges_of(std::move(blocks), group_size_);
}

/// The join to the parent says whether this node takes datagrams.
void NodeGroup::offer_way(wire::JoinBody& body) {
  reserve_way();
  if (!way_) return;
  auto end = way_->terms.end;
  end.payload_max = way_->payload_max;
  if (way_->merges) body.features |= wire::kFeatureCanonical;
  wire::put_datagram_end(body, end);
}

void NodeGroup::begin_way() {
  const bool is_root = expected_ == group_size_;
  if (is_root) reserve_way();
  const Job* job = ctx_.jobs.find(job_id_);
  if (!way_) return;
  if ((!is_root && !way_above_) || job == nullptr) return end_way();
  way_->window = is_root ? std::bit_floor(std::min(way_->terms.window, joined_.osts)) : way_above_->window;
  if (!is_root) way_->payload_max = std::min(way_->payload_max, way_above_->payload_max);
  DatagramNode::Group group{.number = way_->terms.end.group,
                            .window = way_->window,
                            .payload_max = way_->payload_max,
                            .first = seq_previous(joined_.first)};
  if (!is_root && (way_above_->features & wire::kDatagramsCanonical) == 0) way_->merges.reset();
  if (way_->merges) group.merges = *way_->merges;
  const auto& key = job->grant.job_key;
  bool has_keys = wire::make_datagram_key(key, way_->terms.nonce, id_, wire::kResults, group.results);
  for (std::uint32_t i = 0; i < children_.size(); ++i) {
    auto& child = group.children.emplace_back();
    child.link = children_[i].link;
    child.end = children_[i].end;
    if (children_[i].members == 1) child.alone = children_[i].lowest_rank;
    has_keys = has_keys && wire::make_datagram_key(key, way_->terms.nonce, id_, i, child.key);
  }
  if (!is_root) {
    group.parent = ctx_.parent;
    group.terms_of_parent = *way_above_;
    has_keys = has_keys && wire::make_datagram_key(key, way_above_->nonce, id_, way_above_->child, group.up) &&
               wire::make_datagram_key(key, way_above_->nonce, id_, wire::kResults, group.results_of_parent);
  }
  way_->after = joined_.first;
  way_->stands = has_keys && way_->window <= way_->terms.window && ctx_.outbox.datagram_node()->begin(group);
  if (!way_->stands) return end_way();
  if (!is_root) ctx_.due = Time{};  // The first probe goes with the next tick.
}

void NodeGroup::end_way() {
  if (!way_) return;
  DatagramNode& kernel = *ctx_.outbox.datagram_node();
  goes_on_ ? kernel.let_go(way_->terms.end.group) : kernel.end(way_->terms.end.group);
  way_.reset();
}

/// The members can do without their links: whatever is open there, they decide by themselves.
bool NodeGroup::may_go_on() const noexcept { return is<group_life::Standing>() && outlives() && way_ && way_->stands; }

void NodeGroup::daemon_gone(const wire::TroubleBody& trouble, Time now) {
  goes_on_ = true;
  wire::OverBody why = over_body();
  why.lost = trouble.lost;
  live(group_life::DaemonGone{why, trouble, own_leave(first_unanswered_)}, now);
}

AggHeader NodeGroup::with_way(wire::AggKind kind) const noexcept {
  AggHeader h = ctx_.header(kind, id_);
  if (goes_on_) h.flags |= wire::kFlagDatagrams;
  return h;
}

void NodeGroup::send_way(LinkId to) {
  const auto child =
      std::ranges::find_if(children_, [&](const Child& one) { return one.link == to; }) - children_.begin();
  wire::DatagramsBody body{.nonce = way_->terms.nonce,
                           .group = way_->terms.end.group,
                           .payload_max = way_->payload_max,
                           .child = static_cast<std::uint8_t>(child),
                           .window = static_cast<std::uint8_t>(way_->window),
                           .features = 0};
  if (way_->merges) body.features = wire::kDatagramsCanonical;
  ctx_.control(to, ctx_.header(wire::AggKind::datagrams, id_), body);
}

void NodeGroup::datagrams(const wire::DatagramsBody& body) {
  if (is<group_life::AwaitingJoined>()) way_above_ = body;
}

/// A member goes from one way to the other when it knows everything as closed that it has sent by the first. So what is not closed here
/// and lies before the first number by the links went as datagrams. A child node's messages need not begin with that number.
NodeGroup::Flaw NodeGroup::follow_datagrams(const wire::AggHeader& header, Time now) {
  if ((header.flags & wire::kFlagDatagrams) == 0) return nullptr;
  if (!way_) return "contribute: it speaks of datagrams, but this group has none";
  if (header.closed == way_->after) return nullptr;
  if (!seq_before(settled(), header.closed) || seq_before(header.sequence, header.closed))
    return "contribute: it follows other datagrams than those of this group";
  skip_to(header.closed, now);
  return nullptr;
}

/// All numbers before this one are closed, and those of this node's links are answered here.
void NodeGroup::skip_to(Sequence number, Time now) {
  way_->after = number;
  for (Slot& at : slots_)
    if (seq_before(at.sequence, number) && std::holds_alternative<node_number::Answered>(at.state))
      advance(at, node_number::Proven{}, 0, nullptr, nullptr, now);
  for (Child& child : children_)
    if (child.told == closed_) child.told = number;
  if (told_ == closed_) told_ = number;
  kept_from_ = first_unanswered_ = number;
  if (seq_before(closed_, number)) closed_ = number;
  if (seq_before(begun_, number)) begun_ = number;
}

/// The parent knows these numbers as closed. What is no number of this node's links went as a datagram.
void NodeGroup::skip_closed(Sequence closed, Time now) {
  if (way_ && seq_before(first_unanswered_, closed)) skip_to(closed, now);
}

namespace {

/// The fields of HopSlot::agreed.
std::uint64_t agreed_of(std::uint64_t coll, std::uint64_t op, std::uint64_t dtype, std::uint64_t bytes,
                        std::uint64_t root, std::uint64_t meaning) noexcept {
  return coll | op << 8 | dtype << 12 | std::min<std::uint64_t>(bytes, 0xFFFF) << 16 | root << 32 | meaning << 48;
}

/// Returns the lowest rank that has contributed to a number that lacks others; kNoRank for any other number.
std::uint32_t lowest_of_some(const node_number::State& state) noexcept {
  if (const auto* s = std::get_if<node_number::Collecting>(&state); s != nullptr) return s->origin;
  if (const auto* s = std::get_if<node_number::Relaying>(&state); s != nullptr) return s->origin;
  if (const auto* s = std::get_if<node_number::Unclosed>(&state); s != nullptr) return s->origin;
  return wire::kNoRank;
}

}  // namespace

void NodeGroup::differ(std::uint64_t culprits, std::uint64_t others, std::uint32_t culprit, std::uint32_t other,
                       Time now) {
  // Elements are counted where the types are the same.
  const auto dtype = static_cast<Dtype>(culprits >> 12 & 0xF);
  const std::size_t element = std::max<std::size_t>(1, width(dtype));
  const struct {
    wire::Field field;
    unsigned from;
    std::uint64_t mask, unit;
  } fields[] = {{wire::Field::coll, 0, 0xFF, 1},    {wire::Field::op, 8, 0xF, 1},
                {wire::Field::dtype, 12, 0xF, 1},   {wire::Field::count, 16, 0xFFFF, element},
                {wire::Field::root, 32, 0xFFFF, 1}, {wire::Field::meaning, 48, 0xFFFF, 1}};
  for (const auto& one : fields) {
    const std::uint64_t theirs = culprits >> one.from & one.mask, mine = others >> one.from & one.mask;
    if (theirs != mine)
      return disagree({.field = one.field,
                       .culprit = culprit,
                       .other = other,
                       .culprit_value = theirs / one.unit,
                       .other_value = mine / one.unit},
                      now);
  }
  disagree({.field = wire::Field::flags, .culprit = culprit, .other = other}, now);
}

void NodeGroup::datagram_differs(const HopHeader& frame, std::uint64_t agreed, std::uint32_t other, Time now) {
  if (frame.child >= children_.size()) return;
  // A result from above may be all that is known of the number here: then its root has sent something else.
  const bool is_here = other < children_.size();
  if (!is_here && !HOP_KEEPS(kHopNamesTheRoot)) return;
  const std::uint32_t lowest =
      is_here ? children_[other].lowest_rank : static_cast<std::uint32_t>(agreed >> 32 & 0xFFFF);
  differ(agreed_of(frame.coll, frame.op, frame.dtype, frame.payload_bytes, frame.root, frame.meaning), agreed,
         children_[frame.child].lowest_rank, lowest, now);
}

/// Datagrams of a number go up only when all children have sent them, and so do messages. So a node where both come sees both.
void NodeGroup::look_at_datagrams(Time now) {
  const Slot& at = slot(settled());
  const std::uint32_t lowest = lowest_of_some(at.state);
  if (at.sequence != settled() || lowest == wire::kNoRank) return;
  const auto begun = ctx_.outbox.datagram_node()->begun(way_->terms.end.group, settled());
  if (!begun || begun->child >= children_.size()) return;
  const auto& h = at.agreed;
  const auto agreed = agreed_of(static_cast<std::uint64_t>(h.coll), static_cast<std::uint64_t>(h.op),
                                static_cast<std::uint64_t>(h.dtype), h.count * std::max<std::size_t>(1, width(h.dtype)),
                                h.root, h.meaning);
  differ(begun->agreed, agreed, children_[begun->child].lowest_rank, lowest, now);
}

/// The first number that gets no answer if a verdict comes now. At the group's root the kernel is asked, and answers nothing more.
Sequence NodeGroup::first_failed() {
  if (!way_ || expected_ != group_size_) return first_unanswered_;
  return ctx_.outbox.datagram_node()->freeze(way_->terms.end.group, first_unanswered_);
}

group_life::Step NodeGroup::step_life(group_life::Event& event, Time now) {
  auto taken = group_life::step(life_, event, now, life_limits());
  if (!way_ || std::ranges::none_of(taken.actions,
                                    [](const auto& a) { return std::holds_alternative<group_life::VerdictAll>(a); }))
    return taken;
  // Only now is it certain that there will be a verdict, so that the kernel may be stopped.
  if (auto* trouble = std::get_if<group_life::Trouble>(&event); trouble != nullptr)
    trouble->first_unanswered = first_failed();
  if (auto* closed = std::get_if<group_life::ChildClosed>(&event); closed != nullptr)
    closed->first_unanswered = first_failed();
  return group_life::step(life_, event, now, life_limits());
}

}  // namespace sumac::proto
