/* Open MPI 5.0 installs opal/mca/threads/mutex.h, which includes this header, but not the header itself. Its locks are
 * members of Open MPI's structures, so their types here must be those that its library was built with: POSIX's. The
 * functions are those that inline functions of Open MPI call: completing a request wakes its waiter, and 5.0.7's mutex.h
 * makes and ends locks and conditions. */
#ifndef SUMAC_SHIM_THREADS_PTHREADS_MUTEX_H
#define SUMAC_SHIM_THREADS_PTHREADS_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

typedef pthread_mutex_t opal_thread_internal_mutex_t;
typedef pthread_cond_t opal_thread_internal_cond_t;

static inline void opal_thread_internal_mutex_lock(opal_thread_internal_mutex_t* lock) { pthread_mutex_lock(lock); }
static inline void opal_thread_internal_mutex_unlock(opal_thread_internal_mutex_t* lock) { pthread_mutex_unlock(lock); }
static inline int opal_thread_internal_mutex_trylock(opal_thread_internal_mutex_t* lock) {
  return 0 != pthread_mutex_trylock(lock);
}
static inline int opal_thread_internal_mutex_init(opal_thread_internal_mutex_t* lock, bool recursive) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  if (recursive) pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
  const int status = pthread_mutex_init(lock, &kind);
  pthread_mutexattr_destroy(&kind);
  return status;
}
static inline void opal_thread_internal_mutex_destroy(opal_thread_internal_mutex_t* lock) {
  pthread_mutex_destroy(lock);
}
static inline int opal_thread_internal_cond_init(opal_thread_internal_cond_t* cond) {
  return pthread_cond_init(cond, NULL);
}
static inline void opal_thread_internal_cond_destroy(opal_thread_internal_cond_t* cond) { pthread_cond_destroy(cond); }
static inline void opal_thread_internal_cond_wait(opal_thread_internal_cond_t* cond,
                                                  opal_thread_internal_mutex_t* lock) {
  pthread_cond_wait(cond, lock);
}
static inline void opal_thread_internal_cond_signal(opal_thread_internal_cond_t* cond) { pthread_cond_signal(cond); }

#endif
