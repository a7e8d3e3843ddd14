/* A program that uses MPI as real programs do between computations; the first argument chooses one:
 *   many N    makes, uses and frees N communicators, some of them kept meanwhile: the number of descriptors
 *             and mappings and the memory must stay the same
 *   free      frees communicators whose nonblocking and persistent collectives are still pending, in another order than made
 *   fork      forks children that exec and that exit, with collectives before and after
 *   signals   a timer interrupts the collectives, small and large, blocking and not, a thousand times a second
 *   abort     one rank calls MPI_Abort in the middle of all ranks' collectives
 *   closed    a rank sends and receives in memory that the system refuses to copy, five times
 *   alone     communicators of one rank, between groups and of all, each used once
 *   sleeper   a rank posts and leaves MPI until the others have the result: only a progress thread completes it */
#include <mpi.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "persistent.h"

static int rank, size;

static void fail(const char* what) {
  fprintf(stderr, "hygiene: rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void use(MPI_Comm comm) {
  long own[200], sum[200];
  int members, me;
  MPI_Comm_size(comm, &members);
  MPI_Comm_rank(comm, &me);
  for (int i = 0; i < 200; ++i) own[i] = me + i;
  MPI_Allreduce(own, sum, 200, MPI_LONG, MPI_SUM, comm);
  for (int i = 0; i < 200; ++i)
    if (sum[i] != (long)members * (members - 1) / 2 + (long)i * members) fail("a wrong sum");
  MPI_Barrier(comm);
}

struct descriptors {
  int watched; /* pidfds: a process that waited for milliseconds opens one for each other rank of its host, and keeps it */
  int others;
};
static struct descriptors count_descriptors(void) {
  struct descriptors count = {0, 0};
  DIR* folder = opendir("/proc/self/fd");
  for (struct dirent* entry; NULL != folder && NULL != (entry = readdir(folder));) {
    char to[64] = "";
    ssize_t length = readlinkat(dirfd(folder), entry->d_name, to, sizeof to - 1);
    ++*(length > 0 && NULL != strstr(to, "pidfd") ? &count.watched : &count.others);
  }
  if (NULL != folder) closedir(folder);
  return count;
}
static int lines_of(const char* path) {
  FILE* file = fopen(path, "r");
  int count = 0, c;
  while (NULL != file && EOF != (c = fgetc(file))) count += '\n' == c;
  if (NULL != file) fclose(file);
  return count;
}
static long resident_kib(void) {
  long pages = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (NULL == file || 2 != fscanf(file, "%ld %ld", &pages, &resident)) fail("/proc/self/statm");
  fclose(file);
  return resident * sysconf(_SC_PAGESIZE) / 1024;
}

static void round_of_communicators(void) {
  MPI_Comm a, b, c;
  MPI_Comm_dup(MPI_COMM_WORLD, &a);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &b);
  use(a);
  MPI_Comm_dup(b, &c);
  use(c);
  use(b);
  MPI_Comm_free(&a);
  MPI_Comm_free(&c);
  MPI_Comm_free(&b);
}

static void many(int rounds) {
  for (int i = 0; i < 50; ++i) round_of_communicators();
  int fds = count_descriptors().others, maps = lines_of("/proc/self/maps");
  long kib = resident_kib();
  for (int i = 0; i < rounds; ++i) round_of_communicators();
  const struct descriptors left = count_descriptors();
  if (left.others > fds + 1 || left.watched > size - 1) fail("descriptors are left");
  if (lines_of("/proc/self/maps") > maps + 8) fail("mappings are left");
  if (resident_kib() > kib + 8192) fail("memory is left");
}

static void free_early(void) {
  enum { ROUNDS = 200, AT_ONCE = 4 };
  for (int i = 0; i < ROUNDS; ++i) {
    MPI_Comm comms[AT_ONCE];
    MPI_Request requests[AT_ONCE], again[AT_ONCE];
    static int in[AT_ONCE][3000], out[AT_ONCE][3000], data[AT_ONCE];
    for (int k = 0; k < AT_ONCE; ++k) {
      MPI_Comm_dup(MPI_COMM_WORLD, &comms[k]);
      use(comms[k]);
      for (int n = 0; n < 3000; ++n) in[k][n] = rank + n + i;
      data[k] = rank == 0 ? i + k : -1;
      MPI_Iallreduce(in[k], out[k], 3000, MPI_INT, MPI_SUM, comms[k], &requests[k]);
      INIT(Bcast_init)(&data[k], 1, MPI_INT, 0, comms[k], MPI_INFO_NULL, &again[k]);
    }
    for (int k = 0; k < AT_ONCE; ++k) MPI_Comm_free(&comms[i % 2 ? k : AT_ONCE - 1 - k]);
    MPI_Startall(AT_ONCE, again);
    MPI_Waitall(AT_ONCE, again, MPI_STATUSES_IGNORE);
    MPI_Waitall(AT_ONCE, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < AT_ONCE; ++k) {
      if (data[k] != i + k || out[k][2999] != size * (size - 1) / 2 + size * (2999 + i))
        fail("a wrong result of a freed communicator");
      MPI_Request_free(&again[k]);
    }
  }
}

static void forks(void) {
  for (int i = 0; i < 20; ++i) {
    use(MPI_COMM_WORLD);
    pid_t child = fork();
    if (0 == child) {
      if (i % 2) _exit(0);
      execlp("true", "true", (char*)NULL);
      _exit(1);
    }
    use(MPI_COMM_WORLD);
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || 0 != status) fail("a child did not end well");
  }
}

static volatile sig_atomic_t ticks;
static void on_tick(int number) {
  (void)number;
  ++ticks;
}

/* Uses a vector of megabytes, a message of megabytes from another root each time, and both at once without blocking. */
static void use_large(int round) {
  enum { COUNT = 3 << 17 };
  static int in[COUNT], out[COUNT], data[COUNT];
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int root = round % size;
  for (int i = 0; i < COUNT; ++i) in[i] = rank + i + round, data[i] = rank == root ? i ^ round : -1;
  if (round % 2) {
    MPI_Iallreduce(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(data, COUNT, MPI_INT, root, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else {
    MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(data, COUNT, MPI_INT, root, MPI_COMM_WORLD);
  }
  for (int i = 0; i < COUNT; ++i) {
    if (out[i] != size * (size - 1) / 2 + (i + round) * size) fail("a wrong sum of a large vector");
    if (data[i] != (i ^ round)) fail("a wrong large message");
  }
  const int block = COUNT / size;
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < block; ++i) in[r * block + i] = (rank * size + r) * 1000 + i % 1000 + round;
  MPI_Alltoall(in, block, MPI_INT, out, block, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < block; ++i)
      if (out[r * block + i] != (r * size + rank) * 1000 + i % 1000 + round) fail("a wrong large block");
}

static void signals(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_tick; /* without SA_RESTART: system calls are interrupted */
  sigaction(SIGALRM, &action, NULL);
  struct itimerval every = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &every, NULL);
  int go_on = 1;
  for (int round = 0; go_on; ++round) {
    for (int i = 0; i < 50; ++i) use(MPI_COMM_WORLD);
    use_large(2 * round);
    use_large(2 * round + 1);
    int mine = ticks < 200;
    MPI_Allreduce(&mine, &go_on, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
}

static void abort_in_the_middle(void) {
  for (int i = 0; i < 1000; ++i) {
    use(MPI_COMM_WORLD);
    if (500 == i && size - 1 == rank) MPI_Abort(MPI_COMM_WORLD, 5);
  }
}

static void closed(void) {
  enum { COUNT = 100000, ROUNDS = 5 };
  size_t bytes = sizeof(int) * COUNT;
  int fd = size - 1 == rank ? (int)syscall(SYS_memfd_secret, 0) : -1;
  int* data = malloc(bytes);
  int has_secret = size - 1 != rank;
  if (fd >= 0 && 0 == ftruncate(fd, (off_t)bytes)) {
    void* secret = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    has_secret = MAP_FAILED != secret;
    if (has_secret) data = secret;
  }
  MPI_Bcast(&has_secret, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
  if (!has_secret && 0 == rank) printf("hygiene: no secret memory\n");
  for (int round = 0; has_secret && round < ROUNDS; ++round) {
    int root = round % size;
    for (int i = 0; i < COUNT; ++i) data[i] = root == rank ? round + i : -1;
    MPI_Bcast(data, COUNT, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; ++i)
      if (data[i] != round + i) fail("a wrong number");
  }
}

/* Uses ranks with even and with odd numbers apart. */
static void alone(void) {
  MPI_Comm own, half, between, all;
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &own);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &between);
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  MPI_Comm* comms[] = {&own, &half, &between, &all};
  for (int i = 0; i < 4; ++i) {
    MPI_Barrier(*comms[i]);
    MPI_Comm_free(comms[i]);
  }
}

static void sleeper(const char* folder) {
  enum { COUNT = 1 << 18 };
  static int in[COUNT], out[COUNT], block[COUNT], blocks[COUNT];
  char name[4096];
  snprintf(name, sizeof name, "%s/done", folder);
  for (int i = 0; i < COUNT; ++i) in[i] = block[i] = rank + i;
  use(MPI_COMM_WORLD); /* this call makes the team */
  MPI_Request requests[2];
  MPI_Iallreduce(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  MPI_Ialltoall(block, COUNT / size, MPI_INT, blocks, COUNT / size, MPI_INT, MPI_COMM_WORLD, &requests[1]);
  if (0 == rank) { /* it calls no MPI until the others are done */
    struct stat found;
    for (int ms = 0; 0 != stat(name, &found); ++ms) {
      if (ms > 60000) fail("nobody finished while rank 0 was outside MPI");
      usleep(1000);
    }
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (1 == rank) {
    FILE* file = fopen(name, "w");
    if (NULL == file) fail("can't write");
    fclose(file);
  }
  for (int i = 0; i < COUNT; ++i)
    if (out[i] != size * (size - 1) / 2 + i * size) fail("a wrong sum");
  for (int r = 0; r < size; ++r)
    if (blocks[r * (COUNT / size)] != r + rank * (COUNT / size)) fail("a wrong block");
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (0 == strcmp(what, "many"))
    many(argc > 2 ? atoi(argv[2]) : 1000);
  else if (0 == strcmp(what, "free"))
    free_early();
  else if (0 == strcmp(what, "fork"))
    forks();
  else if (0 == strcmp(what, "signals"))
    signals();
  else if (0 == strcmp(what, "abort"))
    abort_in_the_middle();
  else if (0 == strcmp(what, "closed"))
    closed();
  else if (0 == strcmp(what, "alone"))
    alone();
  else if (0 == strcmp(what, "sleeper") && argc > 2)
    sleeper(argv[2]);
  else
    fail("which: many, free, fork, signals, abort, closed, alone or sleeper FOLDER?");
  if (0 == rank) printf("hygiene: %s passed\n", what);
  MPI_Finalize();
  return 0;
}
