#include "rank/failure.h"

#include <string.h>

#include "rank/job.h"
#include "rank/say.h"

const char* sumac_team_failure(sumac_team_t* team, enum sumac_coll coll, int rank, const char* name, bool* said_p) {
  const char* why = sumac_team_error(team);
  if ('\0' == why[0]) {
    why = "a call that breaks the rules of teams";
  }
  if (!*said_p) {
    *said_p = true;
    int speaker = NULL != strstr(why, "rank 0 ") ? 1 : 0;
    if (speaker == rank) {
      SUMAC_SAY("%s%s failed: %s (communicator %s)", sumac_job_stands() ? "SHArP: " : "", sumac_coll_name(coll), why,
                name);
    }
  }
  return why;
}
