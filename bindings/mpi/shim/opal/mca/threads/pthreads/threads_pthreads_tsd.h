/* Open MPI 5.0 installs opal/mca/threads/tsd.h, which includes this header, but not the header itself. */
#ifndef SUMAC_SHIM_THREADS_PTHREADS_TSD_H
#define SUMAC_SHIM_THREADS_PTHREADS_TSD_H

#include <pthread.h>

typedef pthread_key_t opal_tsd_key_t;

static inline int opal_tsd_get(opal_tsd_key_t key, void** value_p) {
  *value_p = pthread_getspecific(key);
  return 0;
}

#endif
