/* Functions of newer C libraries, for the files of the tar on systems whose C library is older (2.28 at least). `lower` gives the
 * symbols of this library to files that ask for them with a newer version of glibc. This file itself asks for old versions alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock_wait.h"
#include "close_each.h"

#define EXPORT __attribute__((visibility("default")))
/* Declares `name` as the function that the C library has under this name and old version. */
#define OLD(result, name, of, version, ...) \
  extern result name(__VA_ARGS__);          \
  __asm__(".symver " #name "," #of "@GLIBC_" version)

/* The compiler reads this flag in place of counting threads. 0 means that there may be several, which is always safe. */
EXPORT const char __libc_single_threaded = 0;

/* stat and its like were inline functions over these until 2.33; 1 is the layout of struct stat on x86-64. */
enum { kStatLayout = 1 };
OLD(int, old_xstat, __xstat, "2.2.5", int layout, const char* path, struct stat* to);
OLD(int, old_lxstat, __lxstat, "2.2.5", int layout, const char* path, struct stat* to);
OLD(int, old_fxstat, __fxstat, "2.2.5", int layout, int file, struct stat* to);
OLD(int, old_fxstatat, __fxstatat, "2.4", int layout, int folder, const char* path, struct stat* to, int flags);

EXPORT int stat(const char* path, struct stat* to) { return old_xstat(kStatLayout, path, to); }
EXPORT int lstat(const char* path, struct stat* to) { return old_lxstat(kStatLayout, path, to); }
EXPORT int fstat(int file, struct stat* to) { return old_fxstat(kStatLayout, file, to); }
EXPORT int fstatat(int folder, const char* path, struct stat* to, int flags) {
  return old_fxstatat(kStatLayout, folder, path, to, flags);
}
_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "x86-64 has one struct stat");
EXPORT int stat64(const char* path, struct stat64* to) { return old_xstat(kStatLayout, path, (struct stat*)to); }
EXPORT int lstat64(const char* path, struct stat64* to) { return old_lxstat(kStatLayout, path, (struct stat*)to); }
EXPORT int fstat64(int file, struct stat64* to) { return old_fxstat(kStatLayout, file, (struct stat*)to); }
EXPORT int fstatat64(int folder, const char* path, struct stat64* to, int flags) {
  return old_fxstatat(kStatLayout, folder, path, (struct stat*)to, flags);
}

EXPORT pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

EXPORT int close_range(unsigned first, unsigned last, int flags) {
  const int status = (int)syscall(SYS_close_range, first, last, flags);
  return status != 0 && errno == ENOSYS && flags == 0 ? close_each(first, last) : status;
}

EXPORT const char* strerrordesc_np(int error) {
  const char* text = strerror(error);
  return strncmp(text, "Unknown error", 13) == 0 ? NULL : text;
}

EXPORT unsigned arc4random(void) {
  unsigned number = 0;
  ssize_t got;
  do {
    got = getrandom(&number, sizeof number, 0);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof number) abort(); /* As glibc does: there is no weaker source to take instead. */
  return number;
}

/* These kept their form, but their version is one that a file need not name otherwise. */
OLD(int, old_setname, pthread_setname_np, "2.12", pthread_t thread, const char* name);
OLD(int, old_getaffinity, pthread_getaffinity_np, "2.3.4", pthread_t thread, size_t bytes, cpu_set_t* to);
OLD(int, old_setaffinity, pthread_setaffinity_np, "2.3.4", pthread_t thread, size_t bytes, const cpu_set_t* from);
OLD(int, old_attr_setaffinity, pthread_attr_setaffinity_np, "2.3.4", pthread_attr_t* attr, size_t bytes,
    const cpu_set_t* from);
OLD(int, old_dlinfo, dlinfo, "2.3.3", void* handle, int request, void* to);
OLD(int, old_timer_create, timer_create, "2.3.3", clockid_t clock, struct sigevent* event, timer_t* to);
OLD(int, old_timer_delete, timer_delete, "2.3.3", timer_t timer);
OLD(int, old_timer_settime, timer_settime, "2.3.3", timer_t timer, int flags, const struct itimerspec* to,
    struct itimerspec* was);

EXPORT int pthread_setname_np(pthread_t thread, const char* name) { return old_setname(thread, name); }
EXPORT int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t* to) {
  return old_getaffinity(thread, bytes, to);
}
EXPORT int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t* from) {
  return old_setaffinity(thread, bytes, from);
}
EXPORT int pthread_attr_setaffinity_np(pthread_attr_t* attr, size_t bytes, const cpu_set_t* from) {
  return old_attr_setaffinity(attr, bytes, from);
}
EXPORT int dlinfo(void* handle, int request, void* to) { return old_dlinfo(handle, request, to); }
EXPORT int timer_create(clockid_t clock, struct sigevent* event, timer_t* to) {
  return old_timer_create(clock, event, to);
}
EXPORT int timer_delete(timer_t timer) { return old_timer_delete(timer); }
EXPORT int timer_settime(timer_t timer, int flags, const struct itimerspec* to, struct itimerspec* was) {
  return old_timer_settime(timer, flags, to, was);
}

/* Since 2.29 these report errors without a hook that no program sets any more; what they return is the same. */
OLD(double, old_exp, exp, "2.2.5", double x);
OLD(double, old_log, log, "2.2.5", double x);
OLD(double, old_log2, log2, "2.2.5", double x);
OLD(double, old_pow, pow, "2.2.5", double x, double y);

EXPORT double exp(double x) { return old_exp(x); }
EXPORT double log(double x) { return old_log(x); }
EXPORT double log2(double x) { return old_log2(x); }
EXPORT double pow(double x, double y) { return old_pow(x, y); }

OLD(int, old_timedwait, pthread_cond_timedwait, "2.3.2", pthread_cond_t* condition, pthread_mutex_t* mutex,
    const struct timespec* until);
OLD(void*, old_dlvsym, dlvsym, "2.2.5", void* handle, const char* name, const char* version);

EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const struct timespec* until) {
  typedef int (*ClockWait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
  static _Atomic(ClockWait) own;
  static atomic_bool asked;
  if (!atomic_load(&asked)) {
    atomic_store(&own, (ClockWait)old_dlvsym(RTLD_DEFAULT, "pthread_cond_clockwait", "GLIBC_2.30"));
    atomic_store(&asked, true);
  }
  const ClockWait wait = atomic_load(&own);
  return wait != NULL ? wait(condition, mutex, clock, until)
                      : clock_wait(old_timedwait, condition, mutex, clock, until);
}

/* Since 2.34 a program leaves it to the C library to call its constructors; an older one expects a function that does. */
OLD(int, old_start_main, __libc_start_main, "2.2.5", int (*main)(int, char**, char**), int argc, char** argv,
    int (*init)(int, char**, char**), void (*fini)(void), void (*loader_fini)(void), void* stack_end);

static int construct(int argc, char** argv, char** environment) {
  const ElfW(Phdr)* const headers = (const ElfW(Phdr)*)getauxval(AT_PHDR);
  const unsigned long count = getauxval(AT_PHNUM);
  const ElfW(Dyn)* dynamic = NULL;
  ElfW(Addr) base = 0;
  for (unsigned long i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_PHDR) base = (ElfW(Addr))headers - headers[i].p_vaddr;
  }
  for (unsigned long i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_DYNAMIC) dynamic = (const ElfW(Dyn)*)(base + headers[i].p_vaddr);
  }
  typedef void (*Constructor)(int, char**, char**);
  Constructor first = NULL;
  const Constructor* all = NULL;
  size_t bytes = 0;
  for (; dynamic != NULL && dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_INIT) first = (Constructor)(base + dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_INIT_ARRAY) all = (const Constructor*)(base + dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_INIT_ARRAYSZ) bytes = dynamic->d_un.d_val;
  }
  if (first != NULL) first(argc, argv, environment);
  for (size_t i = 0; i < bytes / sizeof *all; ++i) all[i](argc, argv, environment);
  return 0;
}

EXPORT int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, int (*init)(int, char**, char**),
                             void (*fini)(void), void (*loader_fini)(void), void* stack_end) {
  return old_start_main(main, argc, argv, init != NULL ? init : construct, fini, loader_fini, stack_end);
}
