#include "rank/communicator.h"

#include <poll.h>
#include <stdlib.h>

#include "rank/say.h"

#define ABORT_WAIT_MS 10000

/* Rank 0 prints the reason and ends the job. The others wait to be ended with it and print nothing: they would
 * repeat the reason, or end the job before rank 0 has printed it. They go on only where rank 0 does not come here
 * because it lacks the binding. */
void sumac_communicator_abort(const struct sumac_communicator* comm) {
  if (0 != comm->rank) {
    (void)poll(NULL, 0, ABORT_WAIT_MS);
  }
  SUMAC_SAY("SHArP: Fallback disabled, exiting..");
  comm->abort(comm->context);
  exit(1);
}
