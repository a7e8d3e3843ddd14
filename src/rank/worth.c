#include "rank/worth.h"

#include "cost/worth.h"
#include "rank/job.h"

/* A team took 0.038 ms to make, and an allreduce of 8 B then 0.17 us in place of the MPI's 0.36 (2 ranks with a core each, a
 * virtual Xeon whose cache line takes 120 ns, 27 November 2026: rows `team-make-2r` and `comm-new-allreduce-8B-2r` of
 * bench/host). So 200 calls pay for a team there, and some 600 on an EPYC, whose MPI gains 0.1 us a call. After 600 calls
 * the making adds less than a fifth to what they took. */
enum { CALLS_ON_ONE_HOST = 600 };

uint32_t sumac_calls_before_team(const struct hcoll_settings* settings, int hosts, bool is_world) {
  if (is_world || (1 == hosts && sumac_job_serves(settings, hosts)) || settings->level >= HCOLL_FORCE_COMM) {
    return 0;
  }
  if (settings->team_after >= 0) {
    return (uint32_t)settings->team_after;
  }
  return hosts > 1 ? sumac_cost_calls_that_pay((uint32_t)hosts) : CALLS_ON_ONE_HOST;
}
