#include "manager/metrics.hpp"

#include <algorithm>

#include "control/command_line.hpp"

namespace sumac::manager {
namespace {

struct TreeGauge {
  const char* name;
  const char* help;
  bool complete_only;  ///< The number is known only while all nodes of the tree are registered.
  std::uint64_t (*of)(const TreeFacts&);
};

constexpr TreeGauge kTreeGauges[] = {
    {"sumac_manager_tree_up", "1 while the tree has nodes and all of them are registered.", false,
     [](const TreeFacts& t) { return std::uint64_t{!t.lost && t.complete}; }},
    {"sumac_manager_tree_nodes", "Nodes that lie on the path of some host.", false,
     [](const TreeFacts& t) { return std::uint64_t{t.nodes}; }},
    {"sumac_manager_osts_granted", "OSTs granted to jobs, at the fullest node.", false,
     [](const TreeFacts& t) { return std::uint64_t{t.granted.osts}; }},
    {"sumac_manager_osts_free", "OSTs left for a job on all hosts.", true,
     [](const TreeFacts& t) { return std::uint64_t{t.osts_free}; }},
    {"sumac_manager_groups_granted", "Groups granted to jobs, at the fullest node.", false,
     [](const TreeFacts& t) { return std::uint64_t{t.granted.groups}; }},
    {"sumac_manager_groups_free", "Groups left for a job on all hosts.", true,
     [](const TreeFacts& t) { return std::uint64_t{t.groups_free}; }},
};

}  // namespace

metrics::Page metrics_page(const Facts& facts, const Received& received) {
  const auto count_of = [&](bool NodeFacts::*what) {
    return static_cast<std::uint64_t>(std::ranges::count(facts.nodes, true, what));
  };
  metrics::Page page;
  metrics::add_build_info(page, "sharp_am", "", control::version_text());
  page.gauge("sumac_manager_jobs", "Jobs that run or begin.").value(facts.jobs.size());
  page.gauge("sumac_manager_leaving_jobs", "Ended jobs whose ranks have not left.").value(facts.leaving.size());
  page.gauge("sumac_manager_waiting_begins", "Jobs that wait for nodes or for room.").value(facts.waiting.size());
  page.gauge("sumac_manager_job_osts", "OSTs of a job in each of its trees, by the job and who holds it.");
  for (const auto& job : facts.jobs)
    page.value(job.record->quota.osts,
               {{"job", fmt::format("{}", job.record->job_id)}, {"holder", job.record->holder}});
  page.gauge("sumac_manager_users", "Users who hold something.").value(facts.users->size());
  page.gauge("sumac_manager_hosts", "Hosts of the fabric.").value(facts.hosts);
  page.gauge("sumac_manager_sharpds", "Hosts whose sharpd is registered.").value(facts.sharpds->size());
  page.gauge("sumac_manager_nodes", "Nodes of the fabric.").value(facts.nodes.size());
  page.gauge("sumac_manager_nodes_registered", "Nodes that are registered.").value(count_of(&NodeFacts::registered));
  page.gauge("sumac_manager_nodes_silent", "Registered nodes that a neighbour does not hear: new jobs go without them.")
      .value(count_of(&NodeFacts::silent));
  page.counter("sumac_manager_jobs_granted_total", "Jobs granted.").value(facts.counts.jobs_granted);
  page.counter("sumac_manager_jobs_refused_total", "Jobs refused.").value(facts.counts.jobs_refused);
  page.counter("sumac_manager_jobs_released_total", "Jobs ended because their lease, host or tree was lost.")
      .value(facts.counts.jobs_released);
  page.counter("sumac_manager_rank_deaths_total", "Ranks that died, as their own hosts reported.")
      .value(facts.counts.rank_deaths);
  page.counter("sumac_manager_messages_received_total", "Messages of nodes and sharpds, without renewals of leases.")
      .value(received.messages);
  page.counter("sumac_manager_callers_turned_away_total",
               "Callers refused: strangers, and users with too many streams or calls.")
      .value(received.strangers, {{"reason", "stranger"}})
      .value(received.limited, {{"reason", "limit"}});
  for (const auto& row : kTreeGauges) {
    page.gauge(row.name, row.help);
    for (std::size_t i = 0; i < facts.trees.size(); ++i)
      if (!row.complete_only || facts.trees[i].complete)
        page.value(row.of(facts.trees[i]), {{"tree", fmt::format("{}", i)}});
  }
  return page;
}

}  // namespace sumac::manager
