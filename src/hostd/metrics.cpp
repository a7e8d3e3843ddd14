#include "hostd/metrics.hpp"

#include "control/command_line.hpp"

namespace sumac::hostd {

metrics::Page metrics_page(std::string_view host, const ServerNumbers& n) {
  metrics::Page page;
  metrics::add_build_info(page, "sharpd", host, control::version_text());
  page.gauge("sumac_host_registered", "1 while the manager knows this sharpd and the fabric has its host.")
      .value(n.registered ? 1 : 0);
  page.gauge("sumac_host_clients", "Processes that are connected.").value(n.clients);
  page.gauge("sumac_host_jobs", "Jobs that processes of this host hold or ask for.").value(n.jobs);
  page.gauge("sumac_host_orphaned_jobs", "Jobs of a former sharpd whose processes have not connected since.")
      .value(n.orphans);
  page.gauge("sumac_host_departed_ranks", "Processes that closed their connection with jobs not left, and still run.")
      .value(n.departed);
  page.counter("sumac_host_jobs_begun_total", "Jobs asked of the manager.").value(n.jobs_begun);
  page.counter("sumac_host_jobs_refused_total", "Jobs that the manager refused.").value(n.jobs_refused);
  page.counter("sumac_host_jobs_lost_total", "Jobs that the manager ended, and requests that no manager answered.")
      .value(n.jobs_lost);
  page.counter("sumac_host_rank_deaths_total", "Ranks that died without leaving their jobs.").value(n.deaths);
  page.counter("sumac_host_offences_total", "Clients that broke a rule, or did not attach in time.").value(n.offences);
  page.counter("sumac_host_clients_turned_away_total", "Clients refused: no room for more, or too many of one user.")
      .value(n.turned_away, {{"reason", "full"}})
      .value(n.crowded_out, {{"reason", "user"}});
  return page;
}

}  // namespace sumac::hostd
