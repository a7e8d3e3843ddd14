/* Finds out which ranks have the component, and with which settings. Each process publishes one record with the data
 * that MPI exchanges at start-up anyway. So comm_query can decide without a message, and every rank decides alike.
 *
 * To look up a process that published nothing takes about two seconds: the first such process is remembered, and
 * from then on every communicator that it belongs to is refused at once. */
#include "hcoll.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/proc/proc.h"
#include "rank/job.h"
#include "rank/place.h"

#define PRESENCE_MAGIC 0x53554d43u /* "SUMC" */
#define PRESENCE_VERSION 4

struct presence {
  /* The same at all ranks. */
  uint32_t magic, version;
  int32_t level, hosts_min, np;
  int32_t reports; /* SUMAC_PROFILE and SUMAC_TRACE: MPI_Finalize exchanges data for them */
  int32_t team_after;
  int64_t allreduce_bytes_max;
  uint64_t team_options; /* the signature of the team's options */
  /* Each rank's own; rank 0's counts for all. */
  int32_t last_line, asked;
  uint32_t host; /* the number of the host, as MPI's launcher counts nodes */
  int32_t socket, numa, core;
  uint64_t job_id; /* drawn at random */
};

enum known { UNKNOWN = 0, PRESENT, ABSENT, DIFFERS };
struct entry {
  enum known known;
  struct hcoll_reporting reporting;
  uint32_t host;
  int32_t socket, numa, core;
  uint64_t job_id;
};

/* Indexed by rank in our own MPI job. */
static struct entry* entries;
static size_t entry_count;
static struct presence mine;
static pthread_mutex_t entries_lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns the launcher's number of our node, or a hash of the node's name if the launcher gives none. */
static uint32_t my_host(void) {
  uint32_t number = 0, *number_p = &number;
  int rc;
  OPAL_MODEX_RECV_VALUE_OPTIONAL(rc, HCOLL_MODEX_NODE, OMPI_PROC_MY_NAME, (void**)&number_p, HCOLL_MODEX_UINT32);
  if (OPAL_SUCCESS == rc) {
    return number;
  }
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (const char* c = ompi_process_info.nodename; NULL != c && '\0' != *c; ++c) {
    hash = (hash ^ (unsigned char)*c) * 16777619u;
  }
  return hash;
}

int hcoll_presence_publish(void) {
  const struct hcoll_settings* settings = &mca_coll_hcoll_component.settings;
  sumac_place_t place;
  char why[512];
  sumac_own_place(ompi_process_info.my_local_rank, &place, why, sizeof(why));
  if ('\0' != why[0] && hcoll_speaks_for_host() && sumac_say_warns()) {
    SUMAC_SAY("warning: %s; going on as if all ranks of this host were close to each other", why);
  }
  memset(&mine, 0, sizeof(mine));
  mine.magic = PRESENCE_MAGIC;
  mine.version = PRESENCE_VERSION;
  mine.level = settings->level;
  mine.hosts_min = settings->hosts_min;
  mine.np = mca_coll_hcoll_component.np;
  mine.reports = (0 != settings->profile) | (NULL != settings->trace) << 1;
  mine.team_after = settings->team_after;
  mine.allreduce_bytes_max = settings->allreduce_bytes_max;
  mine.team_options = sumac_team_options_signature(mca_coll_hcoll_component.options);
  mine.asked = hcoll_is_asked_for();
  mine.last_line = settings->last_line < 0 ? mine.asked : settings->last_line;
  mine.host = my_host();
  mine.socket = place.socket;
  mine.numa = place.numa;
  mine.core = place.core;
  mine.job_id = sumac_job_draw_id();
  int rc;
  OPAL_MODEX_SEND(rc, HCOLL_MODEX_GLOBAL, &mca_coll_hcoll_component.super.collm_version, &mine, sizeof(mine));
  return rc;
}

/* A record counts as present if it equals ours except for the rank's own part. */
static enum known judge(const struct presence* theirs, size_t size) {
  if (sizeof(*theirs) != size || PRESENCE_MAGIC != theirs->magic) {
    return ABSENT;
  }
  return 0 == memcmp(theirs, &mine, offsetof(struct presence, last_line)) ? PRESENT : DIFFERS;
}

static struct entry look_up(const opal_process_name_t* name) {
  struct entry entry = {.known = ABSENT};
  void* data = NULL;
  size_t size = 0;
  int rc;
  OPAL_MODEX_RECV(rc, &mca_coll_hcoll_component.super.collm_version, name, &data, &size);
  if (OPAL_SUCCESS == rc && NULL != data) {
    entry.known = judge(data, size);
    if (PRESENT == entry.known) {
      const struct presence* theirs = data;
      entry.reporting = (struct hcoll_reporting){0 != theirs->last_line, 0 != theirs->asked};
      entry.host = theirs->host;
      entry.socket = theirs->socket;
      entry.numa = theirs->numa;
      entry.core = theirs->core;
      entry.job_id = theirs->job_id;
    }
    free(data);
  }
  return entry;
}

static struct entry* entry_of(uint32_t vpid) {
  if (vpid >= entry_count) {
    size_t count = entry_count ? entry_count : 64;
    while (count <= vpid) {
      count *= 2;
    }
    struct entry* grown = realloc(entries, count * sizeof(*grown));
    if (NULL == grown) {
      return NULL;
    }
    memset(grown + entry_count, 0, (count - entry_count) * sizeof(*grown));
    entries = grown;
    entry_count = count;
  }
  return &entries[vpid];
}

static int by_number(const void* a, const void* b) {
  uint32_t x = *(const uint32_t*)a, y = *(const uint32_t*)b;
  return (x > y) - (x < y);
}

static int shape_locked(ompi_communicator_t* comm, struct hcoll_shape* shape, uint32_t* hosts) {
  int size = ompi_comm_size(comm);
  /* Known entries come first: a communicator with a member known to be absent costs no look-up. */
  for (int pass = 0; pass < 2; ++pass) {
    for (int rank = 0; rank < size; ++rank) {
      ompi_proc_t* proc = ompi_comm_peer_lookup(comm, rank);
      if (proc->super.proc_name.jobid != OMPI_PROC_MY_NAME->jobid) {
        shape->absent_rank = rank;
        shape->why = "belongs to another MPI job";
        return OMPI_SUCCESS;
      }
      struct entry* entry = entry_of(proc->super.proc_name.vpid);
      if (NULL == entry) {
        return OMPI_ERR_OUT_OF_RESOURCE;
      }
      if (UNKNOWN == entry->known && 1 == pass) {
        *entry = look_up(&proc->super.proc_name);
      }
      if (ABSENT == entry->known || DIFFERS == entry->known) {
        shape->absent_rank = rank;
        shape->is_mute = ABSENT == entry->known;
        shape->why = ABSENT == entry->known ? "does not have the component on" : "has other HCOLL settings";
        return OMPI_SUCCESS;
      }
      hosts[rank] = entry->host;
    }
  }
  qsort(hosts, (size_t)size, sizeof(*hosts), by_number);
  shape->hosts = 0;
  for (int i = 0; i < size; ++i) {
    shape->hosts += 0 == i || hosts[i] != hosts[i - 1];
  }
  shape->all_present = true;
  return OMPI_SUCCESS;
}

int hcoll_presence_of(ompi_communicator_t* comm, struct hcoll_shape* shape) {
  memset(shape, 0, sizeof(*shape));
  shape->absent_rank = -1;
  uint32_t* hosts = malloc(sizeof(*hosts) * (size_t)ompi_comm_size(comm));
  if (NULL == hosts) {
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  pthread_mutex_lock(&entries_lock);
  int rc = shape_locked(comm, shape, hosts);
  pthread_mutex_unlock(&entries_lock);
  free(hosts);
  return rc;
}

/* Numbers hosts in the order in which ranks name them. The list is short, and most ranks in a row have the same
 * host, so it is searched about once for each host. */
static int32_t number_of(uint32_t host, uint32_t* seen, int32_t* count_p, int32_t last) {
  if (last >= 0 && seen[last] == host) {
    return last;
  }
  for (int32_t i = 0; i < *count_p; ++i) {
    if (seen[i] == host) {
      return i;
    }
  }
  seen[*count_p] = host;
  return (*count_p)++;
}

int hcoll_presence_places(ompi_communicator_t* comm, sumac_place_t* places) {
  int size = ompi_comm_size(comm);
  uint32_t* seen = malloc(sizeof(*seen) * (size_t)size);
  if (NULL == seen) {
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  int32_t hosts = 0, last = -1;
  pthread_mutex_lock(&entries_lock);
  for (int rank = 0; rank < size; ++rank) {
    const struct entry* entry = &entries[ompi_comm_peer_lookup(comm, rank)->super.proc_name.vpid];
    last = number_of(entry->host, seen, &hosts, last);
    places[rank] = (sumac_place_t){last, entry->socket, entry->numa, entry->core};
  }
  pthread_mutex_unlock(&entries_lock);
  free(seen);
  return OMPI_SUCCESS;
}

struct hcoll_reporting hcoll_presence_reporting(void) {
  struct hcoll_reporting reporting = {false, false};
  pthread_mutex_lock(&entries_lock);
  if (entry_count > 0 && PRESENT == entries[0].known) {
    reporting = entries[0].reporting;
  }
  pthread_mutex_unlock(&entries_lock);
  return reporting;
}

uint64_t hcoll_presence_job_id(void) {
  pthread_mutex_lock(&entries_lock);
  const uint64_t id = entry_count > 0 && PRESENT == entries[0].known ? entries[0].job_id : 0;
  pthread_mutex_unlock(&entries_lock);
  return id;
}

void hcoll_presence_forget(void) {
  free(entries);
  entries = NULL;
  entry_count = 0;
}
