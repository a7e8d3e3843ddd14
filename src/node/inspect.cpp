// The answers to `sumac explain` about a running job: the children for which its groups at this node wait.
#include "control/quota.hpp"
#include "net/address.hpp"
#include "net/own_address.hpp"
#include "node/control_link.hpp"

namespace sumac::node {
namespace {

std::vector<proto::GroupView> groups_of(const DataPath& data, JobId id, const Secret& key) {
  std::vector<proto::GroupView> groups;
  if (data.node() == nullptr) return groups;
  for (const auto& job : data.node()->jobs()) {
    if (job.grant.job_id != id || !same_secret(job.grant.job_key, key)) continue;
    groups = data.node()->groups();
    std::erase_if(groups, [&](const auto& group) { return group.job_id != id || group.missing_since == kNever; });
  }
  return groups;
}

}  // namespace

/// Called when the manager has registered this node. Daemons that meet it at a unix socket are those of `sumac up`, where the one
/// node waits for ranks that sharpd knows better.
void ControlLink::be_inspectable() {
  if (control::is_unix(config_.manager)) return;
  if (inspectable_.empty()) {
    const auto own = net::address_towards(net::host_of(config_.manager));
    auto bound = own ? inspect_.listen(net::format_address(own->address), {.tls = config_.tls.get(), .log = &log_})
                     : Result<std::string>(tl::unexpected(own.error()));
    if (!bound) {
      SUMAC_WARN(log_, "`sumac explain` does not see this node: {}", bound.error().context);
      return;
    }
    inspectable_ = *std::move(bound);
  }
  control::v1::NodeUp up;
  up.mutable_inspectable()->set_address(inspectable_);
  streams_.send(ticket_, std::move(up));
}

/// The job's key is shown by a sharpd that has ranks of the job, and by nobody else.
Result<control::v1::InspectReply> ControlLink::inspected(const control::InspectCall& call) {
  if (call.caller().certificate && call.caller().certificate->role != control::CertRole::host)
    return fail(Errc::denied, "{} is no sharpd", call.caller().describe());
  const auto key = control::key_of(call.request().job_key());
  if (!key) return tl::unexpected(key.error());
  control::v1::InspectReply reply;
  auto& own = *reply.add_daemons();
  own.set_role("node");
  own.set_name(config_.name);
  own.set_monotonic_ns(monotonic_now().time_since_epoch().count());
  for (auto& [index, tree] : trees_) {
    const auto groups =
        tree.shard->call([&](DataPath& data) { return groups_of(data, JobId{call.request().job_id()}, *key); });
    for (const auto& group : groups) {
      auto& wait = *own.add_waits();
      wait.set_group(number_of(group.group_id));
      wait.set_since_ns(group.missing_since.time_since_epoch().count());
      for (const auto& child : group.children)
        if (child.missing) wait.add_children(proto::who(child.role, child.peer, child.name));
    }
  }
  return reply;
}

}  // namespace sumac::node
