// The addresses at which the daemons of a job answer Inspect (control.proto). Hosts of the job ask once, when its first rank is
// there, so that they know them when this manager is dead.
#include <algorithm>
#include <unordered_map>

#include "manager/core.hpp"

namespace sumac::manager {
namespace {

constexpr std::size_t kAddressMax = 200;

}  // namespace

void Manager::host_inspectable(StreamId stream, const std::string& address) {
  if (const auto found = sharpds_.find(stream); found != sharpds_.end())
    found->second.inspectable = address.substr(0, kAddressMax);
}

void Manager::node_inspectable(StreamId stream, const std::string& address) {
  if (Node* node = registered(stream); node != nullptr) node->inspectable = address.substr(0, kAddressMax);
}

/// Returns the job if it is granted, the host is one of its hosts, and the key is the job's.
const Manager::Job* Manager::granted_to(const Sharpd& host, JobId id, const std::optional<Secret>& key) const {
  const auto found = jobs_.find(id);
  const auto known = host_by_name_.find(host.name);
  if (found == jobs_.end() || !found->second.granted || known == host_by_name_.end() || !key) return nullptr;
  const auto& record = found->second.record;
  const bool is_of_job = std::ranges::find(record.hosts, known->second) != record.hosts.end();
  return is_of_job && same_secret(record.job_key, *key) ? &found->second : nullptr;
}

ActionList Manager::job_daemons(StreamId stream, const JobDaemonsAsked& asked) const {
  ActionList out;
  const Sharpd* host = host_of(out, stream);
  if (host == nullptr) return out;
  const Job* job = granted_to(*host, asked.job_id, asked.job_key);
  if (job == nullptr) return out;
  JobDaemons answer{asked.job_id, {}};
  const auto add = [&](const char* role, const std::string& name, const std::string& address) {
    answer.daemons.push_back({role, name, address});
  };
  if (host->life != job->record.life) {
    const auto holder = stream_of_life_.find(job->record.life);
    if (holder == stream_of_life_.end()) return out;  // The host asks again when it registers anew.
    const Sharpd& began = sharpds_.at(holder->second);
    add("host", began.name, began.inspectable);
  } else {
    std::unordered_map<std::string, const std::string*> addresses;
    for (const auto& [id, one] : sharpds_) addresses[one.name] = &one.inspectable;
    for (const auto index : job->record.hosts) {
      const auto& name = fabric_.hosts[index].name;
      const auto found = addresses.find(name);
      add("host", name, found == addresses.end() ? std::string() : *found->second);
    }
    std::vector<std::uint32_t> nodes;
    for (const auto& reserved : job->reserved) nodes.insert(nodes.end(), reserved.begin(), reserved.end());
    std::ranges::sort(nodes);
    nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
    for (const auto n : nodes)
      if (!nodes_[n].inspectable.empty()) add("node", nodes_[n].name, nodes_[n].inspectable);
  }
  out.push_back(SendToHost{stream, std::move(answer)});
  return out;
}

}  // namespace sumac::manager
