#pragma once
/* A wait against another clock than the condition's own, CLOCK_REALTIME (C++ makes no others), for C libraries before 2.30. It
 * waits until the same moment of the real-time clock, again while the wanted clock is behind: somebody may set the other meanwhile.
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

typedef int (*TimedWait)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);

static inline long long nanoseconds_of(clockid_t clock) {
  struct timespec at;
  clock_gettime(clock, &at);
  return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static inline int clock_wait(TimedWait wait, pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                             const struct timespec* until) {
  if (clock == CLOCK_REALTIME) return wait(condition, mutex, until);
  const long long end = until->tv_sec * 1000000000LL + until->tv_nsec;
  for (;;) {
    const long long left = end - nanoseconds_of(clock);
    const long long moment = nanoseconds_of(CLOCK_REALTIME) + left;
    const struct timespec at = {.tv_sec = moment / 1000000000, .tv_nsec = moment % 1000000000};
    const int status = left <= 0 ? ETIMEDOUT : wait(condition, mutex, &at);
    if (status != ETIMEDOUT || end <= nanoseconds_of(clock)) return status;
  }
}
