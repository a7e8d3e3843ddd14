#pragma once
/* Closes descriptors one by one, on kernels before 5.9, which cannot close a range. Children call it between fork and exec, where
 * a program with threads may neither allocate nor take a lock: it makes system calls alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As the kernel fills it; the C library's form of it belongs to readdir. */
struct kernel_entry {
  uint64_t inode;
  int64_t next;
  unsigned short bytes;
  unsigned char type;
  char name[1]; /* the first of them */
};

static inline int close_each(unsigned first, unsigned last) {
  const int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -1;
  uint64_t entries[128];
  long got;
  while ((got = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
    const struct kernel_entry* entry;
    for (long at = 0; at < got; at += entry->bytes) {
      entry = (const struct kernel_entry*)((const char*)entries + at);
      const char* name = entry->name;
      unsigned number = 0;
      for (; *name >= '0' && *name <= '9'; ++name) number = 10 * number + (unsigned)(*name - '0');
      if (*name == '\0' && number >= first && number <= last && number != (unsigned)folder) close((int)number);
    }
  }
  close(folder);
  return got < 0 ? -1 : 0;
}
