/* cacheline: the round trip of one cache line between two cores, in ns, printed beside every table: the machine's speed
 * drifts, and this number drifts with it. Two threads, each bound to its own core, hand a counter to and fro; the median of
 * many short batches, so that those in which one of them was off its core do not count. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "bench/measure.h"

enum { kBatches = 401, kRoundTrips = 500 };

static _Alignas(128) _Atomic unsigned ball;

static int bind_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void* answer(void* cpu) {
  if (bind_to(*(int*)cpu) != 0) return cpu;
  /* Acquire and release, as any hand-over of data through a flag would use. */
  for (unsigned i = 1; i <= 2u * kBatches * kRoundTrips; i += 2) {
    while (atomic_load_explicit(&ball, memory_order_acquire) != i) continue;
    atomic_store_explicit(&ball, i + 1, memory_order_release);
  }
  return NULL;
}

int main(void) {
  cpu_set_t allowed;
  int cpus[2], count = 0;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return perror("cacheline: sched_getaffinity"), 1;
  for (int cpu = 0; cpu < CPU_SETSIZE && count < 2; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus[count++] = cpu;
  if (count < 2) return fprintf(stderr, "cacheline: needs two cores, this process may use one\n"), 1;
  pthread_t other;
  if (bind_to(cpus[0]) != 0) return fprintf(stderr, "cacheline: cannot bind to core %d\n", cpus[0]), 1;
  const int code = pthread_create(&other, NULL, answer, &cpus[1]);
  if (code != 0) return fprintf(stderr, "cacheline: pthread_create: %s\n", strerror(code)), 1;
  double round_trip_ns[kBatches];
  unsigned next = 1;
  for (int batch = 0; batch < kBatches; ++batch) {
    const int64_t start = bench_now_ns();
    for (int i = 0; i < kRoundTrips; ++i, next += 2) {
      atomic_store_explicit(&ball, next, memory_order_release);
      while (atomic_load_explicit(&ball, memory_order_acquire) != next + 1) continue;
    }
    round_trip_ns[batch] = (double)(bench_now_ns() - start) / kRoundTrips;
  }
  pthread_join(other, NULL);
  const bench_summary s = bench_summarise(round_trip_ns, kBatches);
  printf("{\"cacheline_ns\":%.1f,\"min\":%.1f,\"max\":%.1f}\n", s.median, s.min, s.max);
  return 0;
}
