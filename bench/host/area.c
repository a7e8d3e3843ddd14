#define _GNU_SOURCE
#include "bench/host/area.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/host/ticks.h"
#include "bench/measure.h"

enum { kLine = 128, kBatches = 21, kRoundTrips = 50, kSpinsBeforeYield = 200 };

typedef struct {
  _Alignas(kLine) _Atomic uint32_t arrived;
  _Alignas(kLine) double number;
} own_line;

static struct area {
  _Alignas(kLine) _Atomic uint32_t turn; /* futex: raised with each command */
  area_command command;
  _Alignas(kLine) _Atomic uint32_t measured; /* futex: raised when ranks 0 and 1 have their round trip */
  _Alignas(kLine) _Atomic uint32_t ball;
  own_line own[kAreaRanksMax];
  int64_t notes[kAreaRanksMax][kAreaIterationsMax];
  _Alignas(4096) char copies[2][kAreaCopyBytes];
} * area;

static int my_rank, rank_count, must_yield;
static uint32_t turns_seen, measured_seen, aligned;

int area_open(const char* path) {
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return -1;
  void* memory = MAP_FAILED;
  if (ftruncate(fd, (off_t)sizeof *area) == 0)
    memory = mmap(NULL, sizeof *area, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int why = errno;
  close(fd);
  errno = why;
  if (memory == MAP_FAILED) return -1;
  area = memory;
  return 0;
}

void area_enter(int rank, int ranks, int yields) { my_rank = rank, rank_count = ranks, must_yield = yields; }

static void sleep_while(_Atomic uint32_t* word, uint32_t value) {
  /* Woken early or for nothing: the caller looks again. */
  while (atomic_load_explicit(word, memory_order_acquire) == value)
    syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void raise_word(_Atomic uint32_t* word) {
  /* Whoever sees the number sees everything that was written before. */
  atomic_fetch_add_explicit(word, 1, memory_order_release);
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void area_give_command(const area_command* command) {
  area->command = *command;
  raise_word(&area->turn);
}

void area_take_command(area_command* command) {
  sleep_while(&area->turn, turns_seen++);
  *command = area->command;
}

static void wait_for(_Atomic uint32_t* word, uint32_t value) {
  for (unsigned spins = 0; (int32_t)(atomic_load_explicit(word, memory_order_acquire) - value) < 0; ++spins) {
#if defined(__x86_64__)
    _mm_pause();
#endif
    if (must_yield && spins > kSpinsBeforeYield) sched_yield();
  }
}

void area_align(void) {
  atomic_store_explicit(&area->own[my_rank].arrived, ++aligned, memory_order_release);
  for (int rank = 0; rank < rank_count; ++rank) wait_for(&area->own[rank].arrived, aligned);
}

static int allowed_cpu(int index, const cpu_set_t* allowed) {
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, allowed) && index-- == 0) return cpu;
  return -1;
}

static int pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set);
}

int area_pin(int rank) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  const int cpu = allowed_cpu(rank, &allowed);
  return cpu < 0 ? -1 : pin_to(cpu);
}

static double serve(void) {
  double ns[kBatches];
  for (int batch = 0; batch < kBatches; ++batch) {
    const int64_t start = bench_now_ns();
    for (int i = 0; i < kRoundTrips; ++i) {
      const uint32_t next =
          atomic_load_explicit(&area->ball, memory_order_relaxed) + 1; /* only the two write it, in turn */
      atomic_store_explicit(&area->ball, next, memory_order_release);
      while (atomic_load_explicit(&area->ball, memory_order_acquire) == next) continue;
    }
    ns[batch] = (double)(bench_now_ns() - start) / kRoundTrips;
  }
  return bench_summarise(ns, kBatches).median;
}

static void answer(uint32_t first) {
  for (uint32_t i = 0; i < kBatches * kRoundTrips; ++i) {
    const uint32_t expected = first + 2 * i + 1;
    while (atomic_load_explicit(&area->ball, memory_order_acquire) != expected) continue;
    atomic_store_explicit(&area->ball, expected + 1, memory_order_release);
  }
}

double area_round_trip_ns(void) {
  cpu_set_t before;
  if (rank_count < 2 || sched_getaffinity(0, sizeof before, &before) != 0) return 0;
  /* A pinned rank keeps its core. The others move to one for the moment; that there are two is the same for both. */
  const int pinned = CPU_COUNT(&before) == 1;
  if (!pinned && CPU_COUNT(&before) < 2) return 0;
  if (my_rank > 1) return sleep_while(&area->measured, measured_seen++), 0;
  const uint32_t first = measured_seen++ * 2 * kBatches * kRoundTrips;
  if (!pinned && pin_to(allowed_cpu(my_rank, &before)) != 0) return 0;
  double ns = 0;
  if (my_rank == 0) {
    ns = serve();
    raise_word(&area->measured);
  } else {
    answer(first);
  }
  if (!pinned && sched_setaffinity(0, sizeof before, &before) != 0) return 0;
  return ns;
}

void area_note(int iteration, int64_t ticks) { area->notes[my_rank][iteration] = ticks; }
const int64_t* area_notes(void) { return &area->notes[0][0]; }
void area_put(double number) { area->own[my_rank].number = number; }
double area_get(int rank) { return area->own[rank].number; }
char* area_copies(int rank) { return area->copies[rank]; }
