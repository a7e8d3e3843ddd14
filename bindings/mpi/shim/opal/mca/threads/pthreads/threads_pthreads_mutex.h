/* Open MPI 5.0 installs opal/mca/threads/mutex.h, which includes this header, but not the header itself. Its locks are
 * members of Open MPI's structures, so their types here must be those that its library was built with: POSIX's. The
 * functions are those that inline functions of Open MPI call for the component: completing a request wakes its waiter. */
#ifndef SUMAC_SHIM_THREADS_PTHREADS_MUTEX_H
#define SUMAC_SHIM_THREADS_PTHREADS_MUTEX_H

#include <pthread.h>

typedef pthread_mutex_t opal_thread_internal_mutex_t;
typedef pthread_cond_t opal_thread_internal_cond_t;

static inline void opal_thread_internal_mutex_lock(opal_thread_internal_mutex_t* lock) { pthread_mutex_lock(lock); }
static inline void opal_thread_internal_mutex_unlock(opal_thread_internal_mutex_t* lock) { pthread_mutex_unlock(lock); }
static inline int opal_thread_internal_mutex_trylock(opal_thread_internal_mutex_t* lock) {
  return 0 != pthread_mutex_trylock(lock);
}
static inline void opal_thread_internal_cond_signal(opal_thread_internal_cond_t* cond) { pthread_cond_signal(cond); }

#endif
