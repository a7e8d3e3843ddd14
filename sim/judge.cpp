#include "sim/judge.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace sumac::sim {
namespace {

const Member* first_alive(const Session& session) {
  for (const Member* member : session.members)
    if (member->fate != Member::Fate::dead) return member;
  return nullptr;
}

bool same(const std::optional<proto::Verdict>& a, const std::optional<proto::Verdict>& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a || (a->first_failed == b->first_failed && std::memcmp(&a->body, &b->body, sizeof a->body) == 0);
}

const char* to_string(Member::Fate fate) {
  switch (fate) {
    case Member::Fate::running: return "running";
    case Member::Fate::left: return "left";
    case Member::Fate::refused: return "refused";
    case Member::Fate::lost: return "lost";
    case Member::Fate::dead: return "dead";
  }
  return "?";
}

}  // namespace

std::string Judgement::failure() const {
  const Member* first = first_alive(session);
  if (first == nullptr) return {};
  if (!session.crosses_lost_link)
    for (const Member* member : session.members)
      if (member->fate != Member::Fate::dead)
        if (const std::string text = agreement(*first, *member); !text.empty())
          return fmt::format("session {}.{}: ranks {} and {}: {}", session.track, session.index, first->rank,
                             member->rank, text);
  if (session.crosses_lost_link)
    for (const Member* behind : session.members)
      for (const Member* ahead : session.members)
        if (const std::string text = doubt(*behind, *ahead); !text.empty())
          return fmt::format("session {}.{}: ranks {} and {}: {}", session.track, session.index, behind->rank,
                             ahead->rank, text);
  if (const std::string text = expectation(*first); !text.empty())
    return fmt::format("session {}.{}: {}", session.track, session.index, text);
  return {};
}

bool Judgement::may_differ(std::size_t op) const {
  if (!plan.ordered) return false;
  const auto coll = session.plan->ops[op].coll;
  const bool is_rooted = coll == wire::Coll::bcast || coll == wire::Coll::reduce;
  return is_rooted || (plan.scenario == Scenario::disagree && is_victims() && op == plan.victim_op);
}

std::string Judgement::agreement(const Member& a, const Member& b) const {
  if (a.fate != b.fate) return fmt::format("one {}, the other {}", to_string(a.fate), to_string(b.fate));
  // A verdict from the number of Leave on fails nothing: a member with nothing else in flight may leave without
  // receiving it.
  const auto all_done = [&](const Member& m) {
    return m.status.size() == session.plan->ops.size() &&
           std::all_of(m.status.begin(), m.status.end(), [](Errc e) { return e == Errc::ok; });
  };
  const bool unheard = a.verdict.has_value() != b.verdict.has_value() && all_done(a) && all_done(b);
  if (!unheard && !same(a.verdict, b.verdict)) return "different verdicts";
  // One member may have posted less when the verdict came; where both know an operation's end, they must agree.
  for (std::size_t op = 0; op < std::min(a.status.size(), b.status.size()); ++op)
    if (a.status[op] != b.status[op] && !may_differ(op))
      return fmt::format("operation {} ended with {} here and {} there", op, sumac::to_string(a.status[op]),
                         sumac::to_string(b.status[op]));
  const auto succeeded = [&](const Member& m) {
    std::size_t count = 0;
    for (std::size_t op = 0; op < m.status.size(); ++op) count += m.status[op] == Errc::ok && !may_differ(op) ? 1 : 0;
    return count;
  };
  if (succeeded(a) != succeeded(b)) return "different numbers of operations succeeded";
  return {};
}

std::string Judgement::doubt(const Member& behind, const Member& ahead) const {
  const auto first_failed = [](const Member& m) {
    return static_cast<std::uint32_t>(std::ranges::find_if(m.status, [](Errc e) { return e != Errc::ok; }) -
                                      m.status.begin());
  };
  const auto has = first_failed(behind), other_has = first_failed(ahead);
  if (std::find(behind.status.begin() + has, behind.status.end(), Errc::ok) != behind.status.end())
    return fmt::format("operation {} failed here, and a later one did not", has);
  std::size_t needed = behind.posted;  // the first operation that could not succeed there without this member
  while (needed < session.plan->ops.size() && may_differ(needed)) ++needed;
  if (other_has > needed) return fmt::format("operation {} succeeded there, and it was never posted here", needed);
  if (other_has > has + behind.depth && !plan.ordered)
    return fmt::format("{} operations succeeded there, {} here, with {} in flight", other_has, has, behind.depth);
  return {};
}

std::string Judgement::expectation(const Member& first) const {
  const auto operations = session.plan->ops.size();
  switch (plan.scenario) {
    case Scenario::disagree:
      if (!is_victims()) break;
      if (!first.verdict) return "members disagreed, and no verdict came";
      if (first.verdict->body.reason != wire::TroubleReason::disagree)
        return "the verdict is not about the disagreement";
      if (first.status.size() > plan.victim_op && first.status[plan.victim_op] == Errc::ok &&
          !may_differ(plan.victim_op))
        return "the operation they disagreed on succeeded";
      return {};
    case Scenario::lost_standing:
    case Scenario::far_number:
      if (!is_victims() || victim->fate != Member::Fate::dead) break;
      if (!first.verdict) {
        if (first.status.size() == operations &&
            std::count(first.status.begin(), first.status.end(), Errc::ok) == static_cast<std::ptrdiff_t>(operations))
          return {};  // the verdict's F was the number of Leave
        return "a member was lost, and no verdict came";
      }
      if (first.verdict->body.reason != wire::TroubleReason::lost_connection ||
          first.verdict->body.culprit != victim->rank)
        return fmt::format("the verdict names rank {}, lost was {}", first.verdict->body.culprit, victim->rank);
      return {};
    case Scenario::lost_joining:
      if (!is_victims()) break;
      if (first.fate != Member::Fate::refused && !first.verdict)
        return "a member was lost while joining, and nobody heard";
      return {};
    case Scenario::bad_join:
      if (!is_victims()) break;
      return first.fate == Member::Fate::refused ? "" : "a member told another size, and nobody was refused";
    case Scenario::few_groups:
      if (first.fate == Member::Fate::refused && first.refusal->reason == wire::RefuseReason::no_group_id) return {};
      break;
    case Scenario::revoked:
      if (session.opened_after_revoke) return first.fate == Member::Fate::refused ? "" : "a revoked job made a group";
      if (revoked && first.fate == Member::Fate::refused) return {};
      break;
    case Scenario::lost_link:
      if (session.crosses_lost_link) return {};
      break;
    default: break;
  }
  // Another group's OSTs at a node return when the node learns of that group's end, which may be after the id is free
  // again. And if that refusal is lost until the id is used again, its reason is lost too.
  const bool by_osts =
      first.fate == Member::Fate::refused && (first.refusal->reason == wire::RefuseReason::no_ost ||
                                              first.refusal->reason == wire::RefuseReason::unknown_group);
  if (by_osts) return {};
  if (first.fate != Member::Fate::left)
    return fmt::format("{}{}", to_string(first.fate),
                       first.refusal ? fmt::format(" ({})", proto::describe(*first.refusal)) : "");
  if (first.verdict) return fmt::format("a verdict that nothing called for (culprit {})", first.verdict->body.culprit);
  if (first.status.size() != operations ||
      std::any_of(first.status.begin(), first.status.end(), [](Errc e) { return e != Errc::ok; }))
    return "not all operations succeeded";
  return {};
}

std::uint32_t Judgement::operations() const {
  std::size_t least = session.plan->ops.size();
  for (const Member* member : session.members)
    if (member->fate != Member::Fate::dead) least = std::min(least, member->status.size());
  return static_cast<std::uint32_t>(least);
}

std::uint32_t Judgement::refused() const {
  const Member* first = first_alive(session);
  return first != nullptr && first->fate == Member::Fate::refused ? 1 : 0;
}

std::uint32_t Judgement::verdict() const {
  const Member* first = first_alive(session);
  return first != nullptr && first->verdict ? 1 : 0;
}

std::string given_too_much(const NodeBox& node) {
  for (const auto& job : node.engine->jobs()) {
    if (job.osts_free > job.grant.quota.osts)
      return fmt::format("node {}: {} of {} OSTs are free", node.end, job.osts_free, job.grant.quota.osts);
    if (node.end == 0 && job.groups_used > job.grant.quota.max_groups)
      return fmt::format("{} groups of {} granted are in use", job.groups_used, job.grant.quota.max_groups);
  }
  return {};
}

std::string left_behind(const NodeBox& node, bool revoked) {
  if (!node.engine->idle()) return fmt::format("node {} still holds {} groups", node.end, node.engine->groups().size());
  const auto jobs = node.engine->jobs();
  if (revoked && !jobs.empty()) return fmt::format("node {} still holds the revoked job", node.end);
  for (const auto& job : jobs) {
    if (job.osts_free != job.grant.quota.osts)
      return fmt::format("node {}: {} of {} OSTs came back", node.end, job.osts_free, job.grant.quota.osts);
    if (job.groups_used != 0) return fmt::format("node {}: {} group ids did not come back", node.end, job.groups_used);
  }
  if (node.engine->stats().buffer_copies != 0) return fmt::format("node {} copied an accumulator", node.end);
  return {};
}

std::string still_waiting(const std::vector<std::unique_ptr<Session>>& sessions) {
  std::string text;
  for (const auto& session : sessions) {
    if (session->judged) continue;
    text += fmt::format(" session {}.{} group {} waits for", session->track, session->index, session->group_id);
    for (const Member* member : session->members)
      if (member->fate == Member::Fate::running)
        text += fmt::format(" rank {} (client {}, {}, {} of {} operations)", member->rank, member->client,
                            member->group ? proto::to_string(member->group->phase()) : "no id", member->completed,
                            session->plan->ops.size());
  }
  return text;
}

}  // namespace sumac::sim
