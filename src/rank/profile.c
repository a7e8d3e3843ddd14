#include "rank/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "rank/place.h"
#include "rank/say.h"
#include "rank/trace.h"

static struct {
  struct sumac_communicator world;
  char host[64];
  int hosts;
  const char* next;
  const char* folder; /* NULL: no trace is wanted */
  int prints;         /* SUMAC_PROFILE */
  int64_t start_ns;
  pthread_mutex_t lock; /* guards the members below */
  struct sumac_profile_table table;
  struct sumac_trace trace;
} mine = {.lock = PTHREAD_MUTEX_INITIALIZER};

int64_t sumac_profile_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void sumac_profile_begin(const struct sumac_profile_spec* spec) {
  mine.world = spec->world;
  snprintf(mine.host, sizeof(mine.host), "%s", spec->host);
  mine.hosts = spec->hosts;
  mine.next = spec->next;
  mine.folder = spec->settings->trace;
  mine.prints = spec->settings->profile;
  mine.trace.events_max = SUMAC_TRACE_EVENTS_MAX;
  (void)mine.world.barrier(mine.world.context); /* the hosts' clocks are compared by the end of it */
  mine.start_ns = sumac_profile_now();
}

bool sumac_profile_traces(void) { return NULL != mine.folder; }

static uint16_t own_thread(void) {
  static atomic_uint threads;
  static _Thread_local unsigned number; /* from 1 on; 0: not numbered yet */
  if (0 == number) {
    number = 1 + atomic_fetch_add(&threads, 1);
  }
  return (uint16_t)(number > UINT16_MAX ? UINT16_MAX : number - 1);
}

void sumac_profile_add(const struct sumac_profile_call* call, const char* communicator) {
  const int64_t ns = sumac_profile_now() - call->start_ns;
  pthread_mutex_lock(&mine.lock);
  sumac_profile_count(&mine.table, call->coll, call->form, call->way, call->bytes, ns);
  if (NULL != mine.folder) {
    const struct sumac_trace_event event = {.start_ns = call->start_ns,
                                            .ns = ns,
                                            .bytes = call->bytes,
                                            .communicator = sumac_trace_name(&mine.trace, communicator),
                                            .thread = own_thread(),
                                            .coll = (uint8_t)call->coll,
                                            .form = (uint8_t)call->form,
                                            .way = (uint8_t)call->way};
    sumac_trace_add(&mine.trace, &event);
  }
  pthread_mutex_unlock(&mine.lock);
}

int sumac_profile_way_of(const uint64_t ways[SUMAC_WAYS], uint64_t passed, int coll, uint64_t bytes) {
  for (int way = 0; way < SUMAC_WAYS; ++way) {
    if (ways[way] > 0) {
      return way;
    }
  }
  return passed > 0 || bytes > 0 || SUMAC_COLL_BARRIER == coll ? SUMAC_WAY_PASS : SUMAC_PROFILE_NO_DATA;
}

/* ---- MPI_Finalize ---- */

static int sum(int64_t* values, int count) { return mine.world.sum(mine.world.context, values, count); }
static int min(int64_t* values, int count) { return mine.world.min(mine.world.context, values, count); }

/* Finds for each value the largest one of all ranks and the lowest rank that has it. `value_at` steps over an array of
 * records; `most` and `who` hold the answers. */
static int find_largest(const int64_t* values, size_t step, int count, int64_t* most, int64_t* who) {
  for (int i = 0; i < count; ++i) {
    most[i] = -values[(size_t)i * step];
  }
  int rc = min(most, count);
  for (int i = 0; i < count; ++i) {
    most[i] = -most[i];
    who[i] = values[(size_t)i * step] == most[i] ? mine.world.rank : INT64_MAX;
  }
  return 0 != rc ? rc : min(who, count);
}

/* Every rank calls it with the same rank. */
static int fill_host(struct sumac_profile_rank* rank) {
  memcpy(rank->host, mine.host, sizeof(rank->host));
  return mine.world.bcast(mine.world.context, rank->host, sizeof(rank->host), rank->rank);
}

/* All ranks have the same sums, so all choose the same rows. */
static int fill_rows(struct sumac_profile* profile) {
  static struct sumac_profile_table all;
  static int64_t most[SUMAC_PROFILE_CELLS], who[SUMAC_PROFILE_CELLS];
  const int64_t* own = &mine.table.cells[0][0][0][0].calls;
  all = mine.table;
  int rc = sum(&all.cells[0][0][0][0].calls, (int)(sizeof(all) / sizeof(int64_t)));
  if (0 == rc) {
    rc = find_largest(own + 2, 3, (int)SUMAC_PROFILE_CELLS, most, who); /* `ns` is a cell's third member */
  }
  if (0 != rc) {
    return rc;
  }
  profile->total = sumac_profile_total(&all);
  profile->is_exact = mine.prints > 1;
  const int rows_max = profile->is_exact ? (int)SUMAC_PROFILE_CELLS : SUMAC_PROFILE_ROWS_MAX;
  profile->row_count = sumac_profile_rows(&all, profile->rows, rows_max, &profile->left_out, &profile->left_out_rows);
  for (int i = 0; i < profile->row_count && 0 == rc; ++i) {
    struct sumac_profile_row* row = &profile->rows[i];
    row->slowest.ns = most[row->cell];
    row->slowest.rank = (int)who[row->cell];
    rc = fill_host(&row->slowest);
  }
  return rc;
}

static int fill(struct sumac_profile* profile, int64_t wall_ns) {
  profile->ranks = mine.world.size;
  profile->hosts = mine.hosts;
  profile->next = mine.next;
  const int64_t own_ns = sumac_profile_total(&mine.table).ns;
  int64_t least[2] = {own_ns, -wall_ns}, who;
  profile->wall_ns_sum = wall_ns;
  int rc = sum(&profile->wall_ns_sum, 1);
  if (0 == rc) {
    rc = min(least, 2);
  }
  if (0 == rc) {
    rc = find_largest(&own_ns, 1, 1, &profile->slowest.ns, &who);
  }
  if (0 != rc) {
    return rc;
  }
  profile->ns_min = least[0];
  profile->wall_ns_max = -least[1];
  profile->slowest.rank = (int)who;
  rc = fill_host(&profile->slowest);
  return 0 != rc ? rc : fill_rows(profile);
}

/* Prints with one call, so that lines of other ranks do not mix with the table. */
static void print(const struct sumac_profile* profile) {
  char* text = NULL;
  size_t bytes = 0;
  FILE* out = open_memstream(&text, &bytes);
  if (NULL == out) {
    sumac_profile_print(profile, stderr);
    return;
  }
  sumac_profile_print(profile, out);
  fclose(out);
  fputs(text, stderr);
  free(text);
}

/* ---- the trace ---- */

/* CLOCK_MONOTONIC is the same for all processes since the kernel began, so ranks that share the kernel share the zero of
 * their traces: the earliest of their starts. Other kernels have other clocks; their starts lie a barrier apart. */
struct start {
  uint64_t kernel;
  int64_t ns;
};

/* Returns the zero of this rank's trace. */
static int64_t agree_on_zero(void) {
  const int size = mine.world.size;
  struct start own = {sumac_own_kernel(mine.host), mine.start_ns}, *all = malloc(sizeof(own) * (size_t)size);
  int64_t without[1] = {NULL == all};
  if (0 != sum(without, 1) || without[0] > 0 ||
      0 != mine.world.gather(mine.world.context, 0, &own, all, (int)sizeof(own)) ||
      0 != mine.world.bcast(mine.world.context, all, (int)sizeof(own) * size, 0)) {
    free(all);
    return mine.start_ns;
  }
  int64_t zero = own.ns;
  for (int rank = 0; rank < size; ++rank) {
    zero = all[rank].kernel == own.kernel && all[rank].ns < zero ? all[rank].ns : zero;
  }
  free(all);
  return zero;
}

/* Writes a new file, which takes the name `name` in the folder once it is whole. In a folder that others may write, the
 * name may be a link to a file of ours elsewhere: a rename replaces the link. Returns 0, or the errno of what failed;
 * then no file of ours is left. */
static int write_file(const char* name, int64_t zero_ns, int64_t end_ns) {
  if (0 != mkdir(mine.folder, 0777) && EEXIST != errno) {
    return errno;
  }
  const int folder = open(mine.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) {
    return errno;
  }
  char fresh[64];
  snprintf(fresh, sizeof(fresh), ".%s.%d", name, (int)getpid());
  const int file = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  FILE* out = file < 0 ? NULL : fdopen(file, "w");
  if (NULL == out) {
    const int failed = errno;
    if (file >= 0) {
      (void)close(file);
      (void)unlinkat(folder, fresh, 0);
    }
    (void)close(folder);
    return failed;
  }
  const struct sumac_trace_process process = {.rank = mine.world.rank,
                                              .pid = (int)getpid(),
                                              .host = mine.host,
                                              .next = mine.next,
                                              .zero_ns = zero_ns,
                                              .wall_end_ns = end_ns};
  errno = 0;
  sumac_trace_write(&mine.trace, &process, out);
  int failed = ferror(out) ? (0 != errno ? errno : EIO) : 0;
  if (0 != fclose(out) && 0 == failed) {
    failed = errno;
  }
  if (0 == failed && 0 != renameat(folder, fresh, folder, name)) {
    failed = errno;
  }
  if (0 != failed) {
    (void)unlinkat(folder, fresh, 0);
  }
  (void)close(folder);
  return failed;
}

static void say_written(uint64_t dropped) {
  char text[160] = "";
  if (dropped > 0) {
    snprintf(text, sizeof(text), "; %" PRIu64 " events were dropped, the oldest: a rank keeps its last %zu", dropped,
             SUMAC_TRACE_EVENTS_MAX);
  }
  fprintf(stderr, "sumac: trace: %d files %s/sumac-trace-RANK.json for https://ui.perfetto.dev%s\n", mine.world.size,
          mine.folder, text);
}

static void write_trace(int64_t end_ns) {
  char name[32];
  snprintf(name, sizeof(name), "sumac-trace-%d.json", mine.world.rank);
  const int failed = write_file(name, agree_on_zero(), end_ns);
  int64_t sums[2] = {0 != failed, (int64_t)sumac_trace_dropped(&mine.trace)};
  int64_t first = 0 != failed ? mine.world.rank : INT64_MAX;
  if (0 != sum(sums, 2) || 0 != min(&first, 1)) {
    SUMAC_SAY("SUMAC_TRACE: the MPI's exchange failed");
  } else if (0 == sums[0] && 0 == mine.world.rank) {
    say_written((uint64_t)sums[1]);
  } else if (first == mine.world.rank) {
    SUMAC_SAY(
        "SUMAC_TRACE=%s: %d of %d ranks wrote no trace; this one cannot write %s/%s: %s: name a folder that every rank "
        "may write to",
        mine.folder, (int)sums[0], mine.world.size, mine.folder, name, strerror(failed));
  }
}

void sumac_profile_end(void) {
  const int64_t end_ns = sumac_profile_now();
  if (0 != mine.prints) {
    static struct sumac_profile profile;
    if (0 != fill(&profile, end_ns - mine.start_ns)) {
      SUMAC_SAY("SUMAC_PROFILE: the MPI's exchange failed");
    } else if (0 == mine.world.rank) {
      print(&profile);
    }
  }
  if (NULL != mine.folder) {
    write_trace(end_ns);
  }
  sumac_trace_free(&mine.trace);
}
