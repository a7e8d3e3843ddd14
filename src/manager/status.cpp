// What `sumac` and people see of the manager, as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "manager/core.hpp"

namespace sumac::manager {

std::string Core::status_json(Time now, std::uint64_t heard, const Viewer& viewer) const {
  using nlohmann::json;
  json nodes = json::array(), jobs = json::array();
  bool all_registered = true;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const auto& node = nodes_[i];
    const bool registered = node.stream != 0;
    all_registered &= registered || !node.in_tree;
    json entry{{"id", id_of(i)}, {"name", node.name}, {"registered", registered}, {"root", i == root_}};
    entry["in_tree"] = node.in_tree;
    entry["parent"] = node.parent < 0 ? json() : json(nodes_[static_cast<std::size_t>(node.parent)].name);
    if (registered) {
      entry["address"] = node.who.address();
      entry["pid"] = node.who.pid();
      entry["osts"] = node.who.osts();
      entry["groups"] = node.who.groups();
      entry["link_up"] = node.parent < 0 || node.link_up;
      if (node.parent >= 0 && !node.link_up) entry["link_why"] = node.link_why;
    }
    nodes.push_back(std::move(entry));
  }
  for (const auto& [id, job] : jobs_) {
    if (!viewer.everything && viewer.uid != job.record.uid) continue;
    jobs.push_back({{"id", id},
                    {"number", job.record.number},
                    {"holder", job.record.holder},
                    {"uid", job.record.uid},
                    {"reservation", job.record.reservation},
                    {"running", job.granted},
                    {"hosts", job.record.leaves.size()},
                    {"osts", job.record.grant.osts},
                    {"groups", job.record.grant.max_groups},
                    {"payload", job.record.grant.payload_per_ost},
                    {"stream_window", job.record.grant.stream_window},
                    {"age_ms", std::chrono::duration_cast<Millis>(now - job.begun).count()},
                    {"lease_ms", std::chrono::duration_cast<Millis>(job.lease_until - now).count()}});
  }
  json top{{"tree_id", tree_id_},        {"root", nodes_[root_].name},    {"hosts", leaf_of_host_.size()},
           {"sharpds", hosts_.size()},   {"nodes", std::move(nodes)},     {"jobs", std::move(jobs)},
           {"osts_granted", used_.osts}, {"groups_granted", used_.groups}};
  top["messages"] = heard;
  top["jobs_total"] = jobs_.size();
  top["rules"] = {{"default_quota_percent", rules_.quota.default_percent},
                  {"user_jobs_max", rules_.user.jobs_max},
                  {"user_share_max_percent", rules_.user.share_max_percent},
                  {"reservation_mode", reservations_.on()},
                  {"reservations", reservations_.count()}};
  if (all_registered) {
    const auto least = capacity();
    top["osts_free"] = least.osts - std::min(used_.osts, least.osts);
    top["groups_free"] = least.groups - std::min(used_.groups, least.groups);
  }
  // Names come from other processes: what is no UTF-8 must not throw here.
  return top.dump(2, ' ', false, json::error_handler_t::replace);
}

}  // namespace sumac::manager
