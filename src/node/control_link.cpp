#include "node/control_link.hpp"

#include <unistd.h>

#include <algorithm>
#include <random>

#include "control/command_line.hpp"

namespace sumac::node {

using control::v1::NodeDown;
using control::v1::NodeUp;

namespace {

/// How often a grant that has to wait for members of an ended job is tried: their leaving is not announced to us.
constexpr Duration kGrantRetry = Millis(5);

/// Not a secret: it only has to differ from that of the process before.
std::uint64_t draw_life() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

/// None for a job that began before there were keys.
Result<Secret> key_of(const std::string& bytes) {
  Secret key{};
  if (!bytes.empty() && bytes.size() != key.size())
    return fail(Errc::unsupported, "the manager sends a key of {} bytes: install the same version everywhere",
                bytes.size());
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

Result<proto::JobGrant> grant_of(const control::v1::Grant& message) {
  proto::JobGrant grant;
  grant.job_id = message.job_id();
  grant.osts = message.osts();
  grant.max_groups = message.groups();
  grant.payload = message.payload_max();
  grant.stream_window = message.stream_window();
  grant.chunk = message.chunk_max();
  auto key = key_of(message.key());
  if (!key) return tl::unexpected(key.error());
  grant.key = *key;
  return grant;
}

}  // namespace

ControlLink::ControlLink(ControlConfig config, control::WakeEvent& wake, DataPath& data,
                         const proto::NodeLimits& limits, Logger& log)
    : config_(std::move(config)),
      data_(data),
      limits_(limits),
      log_(log),
      streams_(config_.manager, control::start_node_stream, wake, config_.tls),
      life_(draw_life()) {}

Result<> ControlLink::progress(Time now) {
  if (!open_ && now >= retry_at_) open_stream();
  if (streams_.pending())
    for (auto& answer : streams_.take()) {
      if (answer.ticket != ticket_) continue;
      if (answer.over) {
        if (auto over = stream_over(answer.why, now); !over) return over;
      } else if (auto done = heard(answer.down, now); !done) {
        return done;
      }
    }
  if (auto change = data_.take_parent_change()) {
    parent_ = *std::move(change);
    tell_link(parent_);
  }
  if (!waiting_.empty() && now >= retry_at_) {
    retry_waiting();
    retry_at_ = now + kGrantRetry;
  }
  return {};
}

Time ControlLink::next_due() const noexcept { return open_ && waiting_.empty() ? kNever : retry_at_; }

void ControlLink::open_stream() {
  NodeUp up;
  auto* who = up.mutable_register_();
  who->set_version(control::kControlVersion);
  who->set_name(config_.name);
  who->set_address(data_.transport().address());
  who->set_osts(limits_.osts);
  who->set_groups(limits_.groups);
  who->set_payload_max(limits_.payload_max);
  who->set_pid(static_cast<std::uint32_t>(::getpid()));
  who->set_life(life_);
  open_ = true;
  streams_.open(++ticket_, std::move(up));
}

Result<> ControlLink::stream_over(const Error& why, Time now) {
  open_ = false;
  waiting_.clear();  // their sequences meant something in that stream only
  retry_at_ = now + config_.retry;
  switch (why.code) {
    case Errc::ok:
    case Errc::lost:
    case Errc::timeout:
    case Errc::exists:  // a former life of ours that the manager has not missed yet, or a twin
      if (!complained_)
        SUMAC_WARN(log_, "{}{}; trying again", why.context.empty() ? "the manager ended the stream" : why.context,
                   registered_ ? ": the data path goes on" : "");
      complained_ = true;
      return {};
    default: return within(fmt::format("the manager at {} refuses node {}", config_.manager, config_.name), why);
  }
}

Result<> ControlLink::heard(const NodeDown& down, Time now) {
  switch (down.what_case()) {
    case NodeDown::kRegistered:
      if (auto applied = apply(down.registered(), now); !applied) return applied;
      acknowledge(down.sequence());
      return {};
    case NodeDown::kTree:
      if (!registered_) break;
      enter_tree(down.tree().tree_id(), now);
      acknowledge(down.sequence());
      return {};
    case NodeDown::kParent:
      if (!data_.identified()) break;
      data_.set_parent(down.parent().name(), down.parent().address(), now);
      acknowledge(down.sequence());
      return {};
    case NodeDown::kGrant: {
      if (!data_.identified()) break;
      auto grant = grant_of(down.grant());
      if (!grant) return tl::unexpected(grant.error());
      try_grant(down.sequence(), *grant);
      return {};
    }
    case NodeDown::kRevoke:
      if (!data_.identified()) break;
      std::erase_if(waiting_, [&](const Waiting& w) { return w.grant.job_id == down.revoke().job_id(); });
      data_.revoke(down.revoke().job_id(), now);
      SUMAC_LOG_IN(log_, LogLevel::info, "JOBS", "job {} revoked: {:.200}", down.revoke().job_id(),
                   down.revoke().why());
      acknowledge(down.sequence());
      return {};
    case NodeDown::WHAT_NOT_SET:
      return fail(Errc::unsupported,
                  "the manager says what this node does not know: install the same version everywhere");
  }
  return fail(Errc::invalid, "the manager at {} speaks before it has registered this node", config_.manager);
}

void ControlLink::enter_tree(std::uint32_t tree_id, Time now) {
  waiting_.clear();  // of a former tree
  data_.identify(node_id_, tree_id, root_, now);
}

Result<> ControlLink::apply(const control::v1::Registered& who, Time now) {
  auto key = key_of(who.node_key());
  if (!key) return tl::unexpected(key.error());
  data_.set_node_key(*key);
  node_id_ = who.node_id();
  root_ = who.is_root();
  SUMAC_INFO(log_, "registered as node id {}{}; tree {:#x}", node_id_, root_ ? ", the root" : "", who.tree_id());
  registered_ = true;
  complained_ = false;
  if (!root_) tell_link(parent_);
  if (who.tree_id() == 0) return {};  // the root has not registered yet: Tree follows
  enter_tree(who.tree_id(), now);
  // Its list is the whole truth: what it does not name ended while we did not hear it.
  for (const auto& job : data_.node()->jobs()) {
    const auto known = [&](const auto& grant) { return grant.job_id() == job.grant.job_id; };
    if (!job.revoked && std::none_of(who.grants().begin(), who.grants().end(), known)) {
      SUMAC_LOG_IN(log_, LogLevel::warn, "JOBS", "job {} is unknown to the manager: revoked", job.grant.job_id);
      data_.revoke(job.grant.job_id, now);
    }
  }
  for (const auto& message : who.grants()) {
    auto grant = grant_of(message);
    if (!grant) return tl::unexpected(grant.error());
    try_grant(0, *grant);
  }
  return {};
}

void ControlLink::try_grant(std::uint64_t sequence, const proto::JobGrant& grant) {
  const auto done = data_.grant(grant);
  if (done) {
    SUMAC_LOG_IN(log_, LogLevel::info, "JOBS", "job {} granted: osts {} groups {} payload {} stream window {}",
                 grant.job_id, grant.osts, grant.max_groups, grant.payload, grant.stream_window);
    if (sequence != 0) acknowledge(sequence);
    return;
  }
  SUMAC_LOG_IN(log_, LogLevel::info, "JOBS", "job {} must wait: {}", grant.job_id, done.error().context);
  waiting_.push_back({sequence, grant});
  retry_at_ = monotonic_now() + kGrantRetry;
  if (sequence == 0) return;
  NodeUp up;
  up.mutable_deferred()->set_sequence(sequence);
  up.mutable_deferred()->set_why(done.error().context);
  streams_.send(ticket_, std::move(up));
}

void ControlLink::retry_waiting() {
  std::erase_if(waiting_, [&](const Waiting& w) {
    if (!data_.grant(w.grant)) return false;
    SUMAC_LOG_IN(log_, LogLevel::info, "JOBS", "job {} granted after a wait", w.grant.job_id);
    if (w.sequence != 0) acknowledge(w.sequence);
    return true;
  });
}

void ControlLink::acknowledge(std::uint64_t sequence) {
  NodeUp up;
  up.mutable_ack()->set_sequence(sequence);
  streams_.send(ticket_, std::move(up));
}

void ControlLink::tell_link(const ParentState& state) {
  NodeUp up;
  up.mutable_link()->set_up(state.up);
  up.mutable_link()->set_why(state.why.substr(0, 300));
  streams_.send(ticket_, std::move(up));
}

}  // namespace sumac::node
