/* Open MPI 5.0 installs opal/mca/threads/threads.h, which includes this header, but not the header itself. Macros of its
 * waits use the function below; the component has none of them. */
#ifndef SUMAC_SHIM_THREADS_PTHREADS_THREADS_H
#define SUMAC_SHIM_THREADS_PTHREADS_THREADS_H

#include <sched.h>

static inline void opal_thread_yield(void) { sched_yield(); }

#endif
