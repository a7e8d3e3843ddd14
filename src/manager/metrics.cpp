#include "manager/metrics.hpp"

#include "control/command_line.hpp"

namespace sumac::manager {
namespace {

struct TreeGauge {
  const char* name;
  const char* help;
  bool complete_only;  ///< The number is known only while all nodes of the tree are registered.
  std::uint64_t (*of)(const TreeUsage&);
};

constexpr TreeGauge kTreeGauges[] = {
    {"sumac_manager_tree_up", "1 while the tree has nodes and all of them are registered.", false,
     [](const TreeUsage& t) { return std::uint64_t{!t.lost && t.complete}; }},
    {"sumac_manager_tree_nodes", "Nodes that lie on the path of some host.", false,
     [](const TreeUsage& t) { return std::uint64_t{t.nodes}; }},
    {"sumac_manager_osts_granted", "OSTs granted to jobs, at the fullest node.", false,
     [](const TreeUsage& t) { return std::uint64_t{t.granted.osts}; }},
    {"sumac_manager_osts_free", "OSTs left for a job on all hosts.", true,
     [](const TreeUsage& t) { return std::uint64_t{t.osts_free}; }},
    {"sumac_manager_groups_granted", "Groups granted to jobs, at the fullest node.", false,
     [](const TreeUsage& t) { return std::uint64_t{t.granted.groups}; }},
    {"sumac_manager_groups_free", "Groups left for a job on all hosts.", true,
     [](const TreeUsage& t) { return std::uint64_t{t.groups_free}; }},
};

}  // namespace

metrics::Page metrics_page(const Service::Numbers& n) {
  metrics::Page page;
  metrics::add_build_info(page, "sharp_am", "", control::version_text());
  page.gauge("sumac_manager_jobs", "Jobs that run or begin.").value(n.core.jobs);
  page.gauge("sumac_manager_leaving_jobs", "Ended jobs whose ranks have not left.").value(n.core.leaving_jobs);
  page.gauge("sumac_manager_waiting_begins", "Jobs that wait for nodes, or for ranks of ended jobs to leave.")
      .value(n.core.waiting_begins);
  page.gauge("sumac_manager_users", "Users who hold something.").value(n.core.users);
  page.gauge("sumac_manager_hosts", "Hosts of the fabric.").value(n.core.hosts);
  page.gauge("sumac_manager_sharpds", "Hosts whose sharpd is registered.").value(n.core.sharpds);
  page.gauge("sumac_manager_nodes", "Nodes of the fabric.").value(n.core.nodes);
  page.gauge("sumac_manager_nodes_registered", "Nodes that are registered.").value(n.core.nodes_registered);
  page.gauge("sumac_manager_nodes_silent", "Registered nodes that a neighbour does not hear: new jobs go without them.")
      .value(n.core.nodes_silent);
  page.counter("sumac_manager_jobs_granted_total", "Jobs granted.").value(n.core.jobs_granted);
  page.counter("sumac_manager_jobs_refused_total", "Jobs refused.").value(n.core.jobs_refused);
  page.counter("sumac_manager_jobs_released_total", "Jobs ended because their lease, host or tree was lost.")
      .value(n.core.jobs_released);
  page.counter("sumac_manager_rank_deaths_total", "Ranks that died, as their own hosts reported.")
      .value(n.core.rank_deaths);
  page.counter("sumac_manager_messages_received_total", "Messages of nodes and sharpds, without renewals of leases.")
      .value(n.messages);
  page.counter("sumac_manager_callers_turned_away_total",
               "Callers refused: strangers, and users with too many streams or calls.")
      .value(n.strangers, {{"reason", "stranger"}})
      .value(n.limited, {{"reason", "limit"}});
  for (const auto& row : kTreeGauges) {
    page.gauge(row.name, row.help);
    for (std::size_t i = 0; i < n.core.trees.size(); ++i)
      if (!row.complete_only || n.core.trees[i].complete)
        page.value(row.of(n.core.trees[i]), {{"tree", fmt::format("{}", i)}});
  }
  return page;
}

}  // namespace sumac::manager
