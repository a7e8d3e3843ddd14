#include "hostd/session.hpp"

#include <algorithm>

#include "control/identity.hpp"
#include "control/quota.hpp"

namespace sumac::hostd {
namespace {

using wire::HostKind;
using wire::HostMessage;

/// Status numbers of the low-level library, as clients print them.
constexpr std::uint32_t kStatusJobError = 35, kStatusNoManager = 52;

ToClient refusal(JobId job_id, std::uint32_t status, std::string_view why) {
  wire::JobRefusedBody body;
  body.status = status;
  // The manager's text may have several lines. A text field holds one line; otherwise the client would reject the whole
  // message.
  std::string text(why.substr(0, body.text.size() - 1));
  std::ranges::replace_if(text, wire::is_control, ' ');
  if (!wire::put_text(body.text, text)) body.text.fill('\0');
  return {wire::host_message(HostKind::job_refused, body, job_id)};
}

bool add_tree(Actions& out, JobId job_id, const control::v1::GrantedTree& tree, std::uint32_t index) {
  wire::JobTreeBody body;
  body.tree_id = TreeId{tree.tree_id()};
  body.tree_index = index;
  body.root_node = NodeId{tree.root_node()};
  body.node_count = static_cast<std::uint32_t>(tree.nodes_size());
  body.rate_bits_per_s = tree.rate_bits_per_s();
  body.delay_ns = tree.delay_ns();
  body.member_nodes = tree.member_nodes();
  std::vector<wire::JobNodeEntry> nodes;
  for (const auto& node : tree.nodes()) {
    wire::JobNodeEntry entry;
    entry.node_id = NodeId{node.node_id()};
    entry.parent_id = NodeId{node.parent_id()};
    const std::string name = node.name().substr(0, entry.name.size() - 1);
    if (!wire::put_text(entry.name, name) || !wire::put_text(entry.address, node.address())) return false;
    nodes.push_back(entry);
  }
  std::vector<wire::JobLeafEntry> leaves;
  for (const auto leaf : tree.leaves()) leaves.push_back({NodeId{leaf}});
  if (nodes.empty() || leaves.empty()) return false;
  out.push_back(ToClient{wire::host_message(HostKind::job_tree, body, job_id)});
  for (auto& message : wire::host_lists(HostKind::job_node, nodes, job_id)) out.push_back(ToClient{message});
  for (auto& message : wire::host_lists(HostKind::job_leaf, leaves, job_id)) out.push_back(ToClient{message});
  return true;
}

}  // namespace

std::optional<Actions> granted_messages(JobId job_id, const control::v1::JobGranted& granted,
                                        std::uint32_t times_again) {
  wire::JobGrantedBody body;
  body.quota = control::quota_of(granted.quota());
  body.tree_count = static_cast<std::uint32_t>(granted.trees_size());
  body.rails = granted.fabric().rails();
  body.nodes_on_member_hosts = granted.fabric().nodes_on_member_hosts();
  body.host_rate_bits_per_s = granted.fabric().host_rate_bits_per_s();
  body.times_again = times_again;
  const auto key = control::key_of(granted.job_key());
  if (!key) return std::nullopt;
  body.job_key = *key;
  Actions out;
  out.push_back(ToClient{wire::host_message(HostKind::job_granted, body, job_id)});
  for (int i = 0; i < granted.trees_size(); ++i)
    if (!add_tree(out, job_id, granted.trees(i), static_cast<std::uint32_t>(i))) return std::nullopt;
  // Our own decoder checks the messages, because the client would refuse what the decoder refuses.
  for (const auto& action : out)
    if (wire::flaw_of_host_message(wire::encoded(std::get<ToClient>(action).message)) != nullptr) return std::nullopt;
  return out;
}

Session::Session(Peer peer, std::string host, std::function<Ticket()> next_ticket, std::string devices)
    : peer_(peer), host_(std::move(host)), next_ticket_(std::move(next_ticket)), devices_(std::move(devices)) {}

std::string Session::describe() const {
  return fmt::format("{} pid {} uid {}{}", host_, peer_.pid, peer_.uid,
                     attached_ ? fmt::format(" rank {}", world_rank_) : "");
}

void Session::adopt(JobId job_id, Ticket ticket) {
  Job job;
  job.phase = Phase::held;
  job.ticket = ticket;
  jobs_.emplace(job_id, std::move(job));
}

Actions Session::received(const HostMessage& message) {
  const auto kind = message.header.kind;
  if (kind != HostKind::attach && !attached_)
    return {Offence{fmt::format("it sent {} before attach", to_string(kind))}};
  switch (kind) {
    case HostKind::attach: return attach(message);
    case HostKind::job_begin: return begin(message);
    case HostKind::job_host: return hosts(message);
    case HostKind::job_end: return end(message);
    case HostKind::member: return enter(message);
    case HostKind::leave: return leave(message);
    case HostKind::trees_wanted: return want_trees(message);
    case HostKind::attached:
    case HostKind::job_granted:
    case HostKind::job_tree:
    case HostKind::job_node:
    case HostKind::job_leaf:
    case HostKind::job_refused:
    case HostKind::job_ended:
    case HostKind::rank_died: break;
  }
  return {Offence{fmt::format("it sent {}, which only sharpd may send", to_string(kind))}};
}

Actions Session::attach(const HostMessage& message) {
  if (attached_) return {Offence{"attached twice"}};
  attached_ = true;
  world_rank_ = wire::host_entry<wire::AttachBody>(message).world_rank;
  wire::AttachedBody body;
  // main() has checked both texts, so a failure would be our own mistake.
  if (!wire::put_text(body.host, host_)) return {Offence{"this host's name does not fit"}};
  if (!wire::put_text(body.devices, devices_)) return {Offence{"this host's devices do not fit"}};
  return {ToClient{wire::host_message(HostKind::attached, body)}};
}

Actions Session::begin(const HostMessage& message) {
  const auto job_id = message.header.job_id;
  const auto body = wire::host_entry<wire::JobBeginBody>(message);
  if (jobs_.contains(job_id)) return {Offence{fmt::format("it began job {} twice", job_id)}};
  if (naming_) return {Offence{fmt::format("it began job {} before it had named all hosts of another", job_id)}};
  if (jobs_.size() >= kJobsPerClientMax)
    return {refusal(job_id, kStatusJobError, fmt::format("this process holds {} jobs: end one first", jobs_.size()))};
  if (body.host_count == 0 || body.host_count > wire::kListMax || body.world_size < body.host_count)
    return {Offence{fmt::format("it began a job of {} ranks on {} hosts", body.world_size, body.host_count)}};
  Job job;
  job.hosts_expected = body.host_count;
  job.begin.set_job_id(number_of(job_id));
  job.begin.set_world_size(body.world_size);
  *job.begin.mutable_quota() = control::quota_message(body.quota);
  job.begin.set_holder(peer_.batch_job.empty() ? describe() : fmt::format("{} {}", describe(), peer_.batch_job));
  job.begin.set_uid(peer_.person);
  job.begin.set_devices(std::string(wire::get_text(body.devices)));
  job.begin.set_outlives_trees((body.flags & wire::kOutlivesTrees) != 0);
  job.begin.set_queue_seconds(body.queue_seconds);
  jobs_.emplace(job_id, std::move(job));
  naming_ = true;
  return {};
}

Actions Session::hosts(const HostMessage& message) {
  const auto& header = message.header;
  const auto found = jobs_.find(header.job_id);
  if (found == jobs_.end() || found->second.phase != Phase::collecting)
    return {Offence{fmt::format("it sent hosts of job {}, which it is not beginning", header.job_id)}};
  Job& job = found->second;
  if (header.total != job.hosts_expected || header.index != static_cast<std::uint32_t>(job.begin.hosts_size()))
    return {Offence{fmt::format("it sent host {} of {} instead of host {} of {}", header.index, header.total,
                                job.begin.hosts_size(), job.hosts_expected)}};
  for (std::uint32_t i = 0; i < header.entries; ++i) {
    const auto entry = wire::host_entry<wire::JobHostEntry>(message, i);
    const auto name = wire::get_text(entry.host);
    if (!control::is_certificate_name(name))
      return {Offence{fmt::format("host {} of job {} has no legal name", header.index + i, header.job_id)}};
    job.begin.add_hosts(std::string(name));
    ++names_;
  }
  if (job.begin.hosts_size() < static_cast<int>(job.hosts_expected)) return {};
  naming_ = false;
  job.phase = Phase::beginning;
  job.ticket = next_ticket_();
  return {BeginJob{job.ticket, std::move(job.begin)}};
}

Actions Session::end(const HostMessage& message) {
  const auto job_id = message.header.job_id;
  const auto found = jobs_.find(job_id);
  if (found == jobs_.end()) return {Offence{fmt::format("it ended job {}, which it does not hold", job_id)}};
  switch (found->second.phase) {
    case Phase::held: found->second.phase = Phase::ending; return {EndJob{found->second.ticket}};
    case Phase::orphaned:  // The manager has already ended the job.
      jobs_.erase(found);
      return {ToClient{wire::host_message(HostKind::job_ended, job_id)}};
    case Phase::collecting:
    case Phase::beginning:
    case Phase::ending: break;
  }
  return {Offence{fmt::format("it ended job {}, which is not running", job_id)}};
}

Actions Session::enter(const HostMessage& message) {
  const auto job_id = message.header.job_id;
  const auto body = wire::host_entry<wire::MemberBody>(message);
  if (memberships_.size() >= kJobsPerClientMax)
    return {Offence{fmt::format("it is a member of more than {} jobs", kJobsPerClientMax)}};
  if (std::ranges::any_of(memberships_, [&](const auto& one) { return one.job_id == job_id; }))
    return {Offence{fmt::format("it became a member of job {} twice", job_id)}};
  memberships_.push_back({job_id, body.world_rank, body.job_key, (body.flags & wire::kHearsDeaths) != 0});
  return {};
}

Actions Session::leave(const HostMessage& message) {
  const auto job_id = message.header.job_id;
  if (std::erase_if(memberships_, [&](const auto& one) { return one.job_id == job_id; }) == 0)
    return {Offence{fmt::format("it left job {}, of which it is no member", job_id)}};
  return {};
}

Actions Session::want_trees(const HostMessage& message) const {
  const auto job_id = message.header.job_id;
  const auto found = std::ranges::find(memberships_, job_id, &Membership::job_id);
  if (found == memberships_.end())
    return {Offence{fmt::format("it wants trees of job {}, of which it is no member", job_id)}};
  return {WantTrees{job_id, found->job_key, wire::host_entry<wire::TreesWantedBody>(message).times_again}};
}

Session::Jobs::iterator Session::find(Ticket ticket) {
  return std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
    return entry.second.ticket == ticket && entry.second.phase != Phase::collecting;
  });
}

Actions Session::answered(Ticket ticket, const control::v1::HostDown& down) {
  const auto found = find(ticket);
  if (found == jobs_.end()) return {};
  const auto job_id = found->first;
  auto& job = found->second;
  if (job.phase == Phase::beginning && (down.has_granted() || down.has_refused())) names_ -= job.hosts_expected;
  if (down.has_granted() && job.phase == Phase::beginning) {
    if (auto messages = granted_messages(job_id, down.granted())) {
      job.phase = Phase::held;
      return *std::move(messages);
    }
    jobs_.erase(found);
    return {EndJob{ticket},
            refusal(job_id, kStatusJobError, "the manager's grant makes no sense: is it of another version?")};
  }
  if (down.has_refused() && job.phase == Phase::beginning) {
    jobs_.erase(found);
    return {refusal(job_id, down.refused().status() != 0 ? down.refused().status() : kStatusJobError,
                    down.refused().text())};
  }
  if (down.has_ended() && job.phase == Phase::ending) {
    jobs_.erase(found);
    return {ToClient{wire::host_message(HostKind::job_ended, job_id)}};
  }
  // This is an answer without a question: either the manager's stream ends soon, or its next answer is right.
  return {};
}

Actions Session::manager_lost(Ticket ticket, const Error& why) {
  const auto found = find(ticket);
  if (found == jobs_.end()) return {};
  const auto job_id = found->first;
  switch (found->second.phase) {
    case Phase::beginning: {
      names_ -= found->second.hosts_expected;
      jobs_.erase(found);
      const bool unreachable = why.code == Errc::lost || why.code == Errc::timeout;
      return {refusal(job_id, unreachable ? kStatusNoManager : kStatusJobError, why.context)};
    }
    case Phase::ending: jobs_.erase(found); return {ToClient{wire::host_message(HostKind::job_ended, job_id)}};
    case Phase::held: found->second.phase = Phase::orphaned; return {};
    case Phase::collecting:
    case Phase::orphaned: break;
  }
  return {};
}

std::vector<Ticket> Session::held() const {
  std::vector<Ticket> tickets;
  for (const auto& [id, job] : jobs_)
    if (job.phase != Phase::collecting && job.phase != Phase::orphaned) tickets.push_back(job.ticket);
  return tickets;
}

}  // namespace sumac::hostd
