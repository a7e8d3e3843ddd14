/* Preloaded into programs of a build with -finstrument-functions: it writes the enters and leaves of every thread into a ring in the folder
 * SUMAC_WALK_DIR, which rooms.py reads. The C library has empty versions of both hooks, so such a build also runs without it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 1 << 18, DEPTH = 256 }; /* the oldest events are overwritten */

struct event {
  uint64_t ns;       /* CLOCK_MONOTONIC */
  uint64_t function; /* its address; the highest bit says that it was left */
};

struct ring {
  uint64_t events;       /* ever written */
  uint64_t depth;        /* functions that the thread is in now */
  uint64_t stack[DEPTH]; /* their addresses, the outermost first: a reader goes back from here */
  struct event last[EVENTS];
};

#define LEFT (UINT64_C(1) << 63)

static _Thread_local struct ring* ring;
static _Thread_local bool is_off; /* no folder, or no memory: then the thread is not recorded */

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Addresses mean nothing without the map of the process. It is copied when a thread's ring is opened, for processes that are killed, and again
 * at a process's end, behind the first copy: Python maps further libraries of ours later, and Open MPI unmaps components before. */
static void copy_maps(const char* path) {
  char buffer[1 << 16];
  int from = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  int to = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  ssize_t got = 0;
  while (from >= 0 && to >= 0 && (got = read(from, buffer, sizeof buffer)) > 0) {
    if (write(to, buffer, (size_t)got) != got) break;
  }
  if (from >= 0) close(from);
  if (to >= 0) close(to);
}

struct map_copy {
  struct map_copy* next;
  char path[];
};
static _Atomic(struct map_copy*) map_copies;

static void remember(const char* path) {
  struct map_copy* copy = malloc(sizeof *copy + strlen(path) + 1);
  if (copy == NULL) return;
  strcpy(copy->path, path);
  copy->next = map_copies;
  while (!atomic_compare_exchange_weak(&map_copies, &copy->next, copy)) continue;
}

__attribute__((destructor)) static void copy_maps_again(void) {
  for (struct map_copy* copy = map_copies; copy != NULL; copy = copy->next) copy_maps(copy->path);
}

static void open_ring(void) {
  int saved = errno;
  const char* folder = getenv("SUMAC_WALK_DIR");
  is_off = true; /* until all of it is there; what is called below is not recorded either */
  if (folder != NULL) {
    char path[4096], maps[4200];
    /* Processes of several PID namespaces may have the same number, so the time is part of the name. */
    snprintf(path, sizeof path, "%s/%s.%d.%ld.%llu", folder, program_invocation_short_name, (int)getpid(),
             (long)syscall(SYS_gettid), (unsigned long long)now_ns());
    snprintf(maps, sizeof maps, "%s.maps", path);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 && ftruncate(file, sizeof(struct ring)) == 0) {
      void* memory = mmap(NULL, sizeof(struct ring), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (memory != MAP_FAILED) {
        copy_maps(maps);
        remember(maps);
        ring = memory;
        is_off = false;
      }
    }
    if (file >= 0) close(file);
  }
  errno = saved;
}

static void record(uint64_t function) {
  if (is_off) return;
  if (ring == NULL) open_ring();
  if (ring == NULL) return;
  if ((function & LEFT) == 0) {
    if (ring->depth < DEPTH) ring->stack[ring->depth] = function;
    ++ring->depth;
  } else if (ring->depth > 0) { /* a child's first leaves belong to enters before the fork */
    --ring->depth;
  }
  ring->last[ring->events % EVENTS] = (struct event){now_ns(), function};
  ++ring->events;
}

/* A forked child writes into a ring of its own. */
static void forget(void) {
  ring = NULL;
  map_copies = NULL;
}
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, forget); }

__attribute__((visibility("default"))) void __cyg_profile_func_enter(void* function, void* caller) {
  (void)caller;
  record((uintptr_t)function);
}

__attribute__((visibility("default"))) void __cyg_profile_func_exit(void* function, void* caller) {
  (void)caller;
  record((uintptr_t)function | LEFT);
}
