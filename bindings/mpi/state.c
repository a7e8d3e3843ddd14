/* The state of the process lies below all parts of the component, so that none of them needs another one for it. */
#include <stdlib.h>

#include "hcoll.h"

struct hcoll_state hcoll;
struct sumac_runtime hcoll_runtime;

/* All ranks of a host mostly have the same environment, so one of them reports what is wrong with it. The parts of
 * `mpirun -n 2 a : -n 2 b` may have different ones: then every rank reports. */
bool hcoll_speaks_for_host(void) {
  const char* programs = getenv("OMPI_NUM_APP_CTX");
  return 0 == ompi_process_info.my_local_rank || (NULL != programs && 0 != strcmp(programs, "1"));
}
