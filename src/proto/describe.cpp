// This file writes refusals, verdicts, losses and reasons as sentences for people.
#include "proto/client_group.hpp"
#include "proto/client_link.hpp"
#include "proto/guard.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::proto {

std::string describe(const wire::RefusedBody& r) {
  using wire::RefuseReason;
  switch (r.reason) {
    case RefuseReason::no_group_id:
      return fmt::format("no group id left: the job was granted {} (node {})", r.limit, r.node_id);
    case RefuseReason::no_ost: return fmt::format("no OST left at node {}: the job was granted {}", r.node_id, r.limit);
    case RefuseReason::unknown_job:
      return fmt::format("node {} has no grant for job {}: it ended or never began", r.node_id, r.job_id);
    case RefuseReason::unknown_group: return fmt::format("node {} does not know the group, or it has ended", r.node_id);
    case RefuseReason::bad_path:
      return fmt::format("members disagree on the group's size or tree, or the job has none there (node {})",
                         r.node_id);
    case RefuseReason::payload_too_large:
      return fmt::format("payload or chunk is over the job's grant (node {})", r.node_id);
    case RefuseReason::bad_key: return fmt::format("node {} does not accept the key of job {}", r.node_id, r.job_id);
    case RefuseReason::version:
      return fmt::format("node {} speaks wire version {}, this side version {}: upgrade Sumac on {}", r.node_id,
                         r.limit, r.asked,
                         r.limit > r.asked ? "this host" : fmt::format("the host of node {}", r.node_id));
    case RefuseReason::node_limit:
      if (r.what == wire::AggKind::hello)
        return fmt::format(
            "node {} has {} connections of this user's jobs, as many as one user may have: use fewer ranks below it, "
            "or "
            "raise SUMAC_AM_USER_SHARE_MAX_PERCENT of sharp_am",
            r.node_id, r.limit);
      if (r.asked == 0) return fmt::format("node {} is at its limit of {}", r.node_id, r.limit);
      return fmt::format(
          "node {} has no memory left for the group's OSTs: it asks for {} KiB, the windows of all groups may take {}; "
          "destroy a communicator, ask for less payload, or raise SUMAC_NODE_MEMORY of sharp_an",
          r.node_id, r.asked, r.limit);
    case RefuseReason::member_lost: return fmt::format("a member or node was lost while joining (node {})", r.node_id);
  }
  return "refused";
}

namespace {
using Names = std::span<const std::string>;

std::string name_of(std::uint32_t rank, Names names) {
  return rank < names.size() ? names[rank] : fmt::format("rank {}", rank);
}

/// The name of a rank on the same host: "rank 3 (host h1)" beside "rank 2 (host h1)".
std::string neighbour_of(const std::string& name, std::uint64_t rank) {
  const auto host = name.find(" (host ");
  return fmt::format("rank {}{}", rank, host == std::string::npos ? "" : name.substr(host));
}

bool is_refusal(std::uint64_t coll) { return coll == static_cast<std::uint64_t>(wire::Coll::refusal); }

/// Writes the call of one member at the number of a verdict.
std::string deed(const std::string& who, std::uint64_t coll) {
  if (is_refusal(coll)) return fmt::format("{} refused its own call (its own output says why)", who);
  if (coll == static_cast<std::uint64_t>(wire::Coll::leave)) return fmt::format("{} left the group", who);
  return fmt::format("{} called {}", who, wire::to_string(static_cast<wire::Coll>(coll)));
}

std::string describe_kinds(const wire::VerdictBody& v, Names names) {
  // The member that refused its call is named first, in whichever order they came.
  const bool other_refused = is_refusal(v.other_value);
  const auto culprit = deed(name_of(v.culprit, names), v.culprit_value),
             other = deed(name_of(v.other, names), v.other_value);
  return other_refused ? other + ", " + culprit : culprit + ", " + other;
}
}  // namespace

std::string describe(const wire::LostNode& lost) {
  const auto host = wire::text_of(lost.host);
  const auto who =
      fmt::format("node {}{}{}{}", wire::text_of(lost.name), host.empty() ? "" : " (", host, host.empty() ? "" : ")");
  if (lost.noticed_by[0] == 0) return who + " was told to stop";
  const auto by =
      fmt::format("its {} {} noticed", lost.is_parent != 0 ? "child" : "parent", wire::text_of(lost.noticed_by));
  if (lost.silent_ms == 0) return fmt::format("{} is gone, its connection ended; {}", who, by);
  return fmt::format("{} stopped answering; {} after {:.1f} s", who, by, lost.silent_ms / 1000.0);
}

std::string describe(const wire::OverBody& v) {
  if (v.reason == wire::OverReason::manager) {
    const auto why = wire::why_of(v);
    return fmt::format("the job has ended{}{}; its time to leave is over", why.empty() ? "" : ": ", why);
  }
  if (v.lost.name[0] != 0) return describe(v.lost);
  return fmt::format("node {} has no such group any more", wire::text_of(v.lost.noticed_by));
}

std::string describe(const wire::VerdictBody& v, Names names) {
  if (v.lost.name[0] != 0) return describe(v.lost);
  const std::string culprit = name_of(v.culprit, names);
  switch (v.reason) {
    case wire::TroubleReason::disagree:
      if (v.field == wire::Field::coll) return describe_kinds(v, names);
      return fmt::format("{} differs from {} in {}: {}, not {}", culprit, name_of(v.other, names),
                         wire::to_string(v.field), wire::describe(v.field, v.culprit_value),
                         wire::describe(v.field, v.other_value));
    case wire::TroubleReason::lost_connection: return culprit + " lost its connection to the tree";
    case wire::TroubleReason::gave_up:
      if (v.culprit_value != 0) return neighbour_of(culprit, v.culprit_value - 1) + " is dead";
      return culprit + " gave up (its own output says why)";
    case wire::TroubleReason::dead_rank: return culprit + " is dead";
  }
  return "verdict";
}

const char* to_string(ClientGroup::Phase phase) noexcept {
  switch (phase) {
    case ClientGroup::Phase::joining: return "joining";
    case ClientGroup::Phase::standing: return "standing";
    case ClientGroup::Phase::condemned: return "condemned";
    case ClientGroup::Phase::leaving: return "leaving";
    case ClientGroup::Phase::left: return "left";
    case ClientGroup::Phase::refused: return "refused";
    case ClientGroup::Phase::lost: return "lost";
  }
  return "?";
}

namespace {
struct GuardText {
  const char* name;
  const char* sentence;
};
// The rows follow the order of the enum.
constexpr GuardText kGuards[] = {
    {"duplicate", "a child that is in already is not added again"},
    {"answered_again", "a child that asks again for an answered number gets the kept result"},
    {"result_expected", "a result is taken only by the number that waits for it"},
    {"agreement", "members that differ in operation, type or size are found"},
    {"late_number", "a number that every child has completed is a late copy"},
    {"beyond_window", "a number that an honest child cannot have reached costs the connection"},
    {"kept_until_proof", "a result is kept until every child has shown that it has it"},
    {"resend_up", "a message that the parent did not answer is sent again"},
    {"partial_duplicate", "a partial sum that is in already is not added again"},
    {"whole_sibling", "reproducible sums are added only to the whole of the sibling in the canonical tree"},
    {"condemned", "numbers from the verdict on are answered with it, never added up"},
    {"first_verdict", "the first verdict stands"},
    {"trouble_again", "trouble is sent again until the verdict arrives"},
    {"leave_of_the_gone", "leave of a group that has left already is answered"},
    {"over_again", "a number of a group that is over is answered with over"},
    {"closed_has_left", "a child whose link closed counts as having left"},
    {"left_may_close", "a child that has left may close its link without trouble"},
    {"leave_reaches_root", "the tree's root receives the leave of a group that never reached up to it"},
    {"join_duplicate", "a join that is counted already counts once"},
    {"join_again", "a member that asks again receives again the answer that the group stands"},
    {"join_late", "a join of a group that has left forms nothing"},
    {"join_agreement", "members that state different sizes are refused"},
    {"join_own", "a client joins only with the rank and job of its hello"},
    {"reuse_ends_old", "a newer group with the same number proves that the old one has left"},
    {"refused_up", "a node that refuses informs the nodes above"},
    {"refused_again", "a late join of a refused group is refused like the others"},
    {"pool", "OSTs are reserved only while the job has some"},
    {"same_token", "a repeated Open gets the same id"},
    {"token_over", "an Open whose group has left already takes no new id"},
    {"id_pool", "ids are given only while the job has some"},
    {"revoked", "a revoked job opens and joins nothing"},
    {"direction", "a child sends only the messages that children send"},
    {"own_group", "a link sends messages only of groups that it joined"},
    {"group_reuse", "a message of a former group with the same number does not belong to this group"},
    {"member_in_turn", "results complete in order; an early one waits"},
    {"member_late", "a result of a number that is complete already is ignored"},
    {"member_window", "nobody is more than the window ahead of what it has completed"},
    {"member_resend", "a message that the node did not answer is sent again"},
    {"owed_window", "a result by multicast counts in the window until the link's copy arrives"},
    {"owed_again", "the link's copy is asked for although the result came by multicast"},
    {"multicast_life", "a datagram of another group does not belong to this one"},
    {"verdict_in_turn", "a verdict waits until everything before it is complete"},
    {"ahead_counts_later", "data of a prompt number that go ahead are not taken for all members of their child"},
    {"rest_goes_up", "a node whose children are all in after the answer tells its parent"},
    {"answered_ahead", "a prompt result goes down before the children have contributed"},
    {"closed_window", "a number that some member has not contributed counts in the window"},
    {"closed_alone", "the closed count goes down alone when no result carries it in time"},
    {"kept_ahead", "a member keeps a prompt result until its own call"},
};
static_assert(std::size(kGuards) == kGuardCount);
}  // namespace

const char* describe(ByLink why) noexcept {
  switch (why) {
    case ByLink::none: return "";
    case ByLink::not_offered: return "a node or member takes no datagrams";
    case ByLink::no_answer: return "the datagrams of its trial were not answered";
    case ByLink::kind: return "it does barriers, allreduces, reduces and bcasts";
    case ByLink::size: return "it is too large for a datagram";
    case ByLink::operation: return "no kernel adds up this type and operation";
    case ByLink::order: return "SUMAC_REPRODUCIBLE, and the ranks of some node are no block of the order of sums";
    case ByLink::returns_early:
      return "its calls return early, and without SUMAC_RECOVERY nobody repeats lost datagrams";
  }
  return "?";
}

const char* to_string(Guard guard) noexcept { return kGuards[static_cast<std::size_t>(guard)].name; }
const char* describe(Guard guard) noexcept { return kGuards[static_cast<std::size_t>(guard)].sentence; }

}  // namespace sumac::proto
