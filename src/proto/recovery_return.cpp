#include "proto/recovery_return.hpp"

#include <algorithm>

#include "proto/recovery_bytes.hpp"
#include "proto/recovery_rule.hpp"

namespace sumac::proto::recovery {
namespace {

using Stage = Proposal::Stage;
using State = Readiness::State;

}  // namespace

// ---- member 0

void Return::propose(TreeId tree, GroupId group) {
  Proposal next{proposal_.attempt + 1, Stage::join, tree, group, 0};
  adopt(next);
  announce(Stage::join);
}

void Return::withdraw() {
  if (self_ != 0 || has_gone() || proposal_.stage == Stage::none) return;
  Proposal none = proposal_;
  none.stage = Stage::none;
  adopt(none);
  announce(Stage::none);
}

void Return::announce(Stage stage) {
  proposal_.stage = stage;
  for (Rank each = 1; each < heard_.size(); ++each) sends_.push_back(each);
}

void Return::hear(Rank from, const Readiness& readiness) {
  if (self_ != 0 || from >= heard_.size() || readiness.attempt != proposal_.attempt) return;
  // A member takes nothing back, but it may say that it cannot.
  if (heard_[from].attempt == readiness.attempt && heard_[from].state >= readiness.state &&
      readiness.state != State::cannot)
    return;
  heard_[from] = readiness;
  weigh();
}

void Return::weigh() {
  if (self_ != 0 || has_gone() || proposal_.stage == Stage::none) return;
  const auto all = [&](State state) {
    return std::ranges::all_of(
        heard_, [&](const Readiness& each) { return each.attempt == proposal_.attempt && each.state == state; });
  };
  if (std::ranges::any_of(heard_, [&](const Readiness& each) {
        return each.attempt == proposal_.attempt && each.state == State::cannot;
      }))
    return withdraw();
  if (proposal_.stage == Stage::join && (all(State::stands) || !keeps(Rule::return_when_all_stand))) {
    announce(Stage::hold);
    actions_.push_back(Action::hold);
  } else if (proposal_.stage == Stage::hold && all(State::holds)) {
    if (keeps(Rule::return_at_the_most))
      proposal_.first = std::ranges::max_element(heard_, {}, &Readiness::begun)->begun;
    else
      proposal_.first = heard_[0].begun;
    announce(Stage::go);
    actions_.push_back(Action::go);
  }
}

// ---- every member

void Return::adopt(const Proposal& proposal) {
  const bool had_group = proposal_.stage != Stage::none;
  const bool is_other = proposal.attempt != proposal_.attempt;
  const bool held = readiness().state == State::holds || proposal_.stage == Stage::hold;
  if (had_group && (is_other || proposal.stage == Stage::none)) {
    actions_.push_back(Action::drop);
    if (held) actions_.push_back(Action::free);
  }
  const Stage before = is_other ? Stage::none : proposal_.stage;
  proposal_ = proposal;
  if (is_other) heard_[self_] = {proposal.attempt, State::none, 0};
  if (before < Stage::join && proposal.stage >= Stage::join) actions_.push_back(Action::join);
  if (before < Stage::hold && proposal.stage == Stage::hold) actions_.push_back(Action::hold);
  if (before < Stage::go && proposal.stage == Stage::go) actions_.push_back(Action::go);
}

void Return::hear(Rank from, const Proposal& proposal) {
  if (self_ == 0 || from != 0 || has_gone() || proposal.attempt < proposal_.attempt) return;
  const bool is_end = proposal.stage == Stage::none || proposal_.stage == Stage::none;
  if (proposal.attempt == proposal_.attempt &&
      (is_end ? proposal_.stage == Stage::none : proposal.stage <= proposal_.stage))
    return;
  adopt(proposal);
}

void Return::say(State state, std::uint32_t begun) {
  if (has_gone() || proposal_.stage == Stage::none) return;
  Readiness& own = heard_[self_];
  if (own.state == State::cannot || (own.state >= state && state != State::cannot)) return;
  own = {proposal_.attempt, state, begun};
  if (self_ == 0) return weigh();
  sends_.push_back(0);
}

void Return::stands() { say(State::stands); }
void Return::cannot() { say(State::cannot); }
void Return::holds(std::uint32_t begun) { say(State::holds, begun); }

void Return::lost_link(Rank peer) {
  if (proposal_.attempt == 0) return;
  if (self_ == 0 || peer == 0) sends_.push_back(peer);
}

// ---- the bytes

void encode(GroupKey group, const Proposal& p, std::vector<std::byte>& to) {
  Writer out(to);
  put(out, {kProposalKind, group, p.attempt});
  out.put(static_cast<std::uint32_t>(p.stage));
  out.put(number_of(p.tree));
  out.put(number_of(p.group));
  out.put(p.first);
}

void encode(GroupKey group, const Readiness& r, std::vector<std::byte>& to) {
  Writer out(to);
  put(out, {kReadinessKind, group, r.attempt});
  out.put(static_cast<std::uint32_t>(r.state));
  out.put(r.begun);
}

bool speaks_of_return(std::span<const std::byte> frame) noexcept {
  if (!group_of(frame)) return false;
  const auto kind = std::to_integer<std::uint8_t>(frame[3]);
  return kind == kProposalKind || kind == kReadinessKind;
}

const char* decode(std::span<const std::byte> frame, std::optional<Proposal>& proposal,
                   std::optional<Readiness>& readiness) {
  Reader in(frame);
  Head head;
  if (const char* wrong = get(in, head)) return wrong;
  if (head.kind != kProposalKind && head.kind != kReadinessKind) return "a word of the return of no known kind";
  if (head.word == 0) return "a word of the return without an attempt";
  const bool is_proposal = head.kind == kProposalKind;
  const auto what = in.get<std::uint32_t>();
  const TreeId tree{is_proposal ? in.get<std::uint32_t>() : 0};
  const GroupId group{is_proposal ? in.get<std::uint32_t>() : 0};
  const auto number = in.get<std::uint32_t>();
  if (!in.is_done()) return "a word of the return has another length";
  if (is_proposal) {
    if (what > static_cast<std::uint32_t>(Stage::go)) return "a proposal has no known stage";
    proposal = {head.word, static_cast<Stage>(what), tree, group, number};
    return nullptr;
  }
  if (what > static_cast<std::uint32_t>(State::holds) || what == 0) return "a member's readiness has no known state";
  readiness = {head.word, static_cast<State>(what), number};
  return nullptr;
}

}  // namespace sumac::proto::recovery
