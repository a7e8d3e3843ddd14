#pragma once
/* Several of our libraries may be in one process of an MPI, and one of them serves its collectives. The others stand aside. */

#include "base/c_linkage.h"

SUMAC_C_BEGIN

/** Returns which library serves the MPI's communicators before the MPI calls a library of its own, as a clause for users; NULL: none
 *  does. The answer is the same at all ranks that were started alike. The interposed library comes before Open MPI's component. */
const char* sumac_served_by(void);

SUMAC_C_END
