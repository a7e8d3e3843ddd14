#include "bindings/common/worth.h"

#include <inttypes.h>
#include <stdio.h>

#include "bindings/common/job.h"

uint32_t sumac_calls_before_team(const struct hcoll_settings* settings, int hosts, bool is_world) {
  if (is_world || hosts > 1 || sumac_job_serves(settings, hosts) || settings->level >= HCOLL_FORCE_COMM) {
    return 0;
  }
  return (uint32_t)settings->team_after;
}

void sumac_spared_why(uint32_t spared, char* why) {
  snprintf(why, SUMAC_SPARED_WHY_BYTES,
           "a team costs more than a few calls gain, so it is made after %" PRIu32
           " collectives: set SUMAC_TEAM_AFTER=0 to make it at once",
           spared);
}
