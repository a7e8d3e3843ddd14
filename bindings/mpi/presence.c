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

#define PRESENCE_MAGIC 0x53554d43u /* "SUMC" */
#define PRESENCE_VERSION 6

struct presence {
  /* The same at all ranks. */
  uint32_t magic, version;
  uint64_t np, settings;
  /* Each rank's own; rank 0's counts for all. */
  struct hcoll_reporting reporting;
  uint64_t host; /* the number of the host, as MPI's launcher counts nodes */
  sumac_place_t place;
};

enum known { UNKNOWN = 0, PRESENT, ABSENT, DIFFERS };
struct entry {
  enum known known;
  struct presence it; /* if it is present */
};

/* Indexed by rank in our own MPI job: the component's close forgets them. */
static struct entry* entries;
static struct presence mine;
static pthread_mutex_t entries_lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns the launcher's number of our node, or a hash of the node's name if the launcher gives none. */
static uint64_t my_host(void) {
  uint32_t number = 0, *number_p = &number;
  int rc;
  OPAL_MODEX_RECV_VALUE_OPTIONAL(rc, HCOLL_MODEX_NODE, OMPI_PROC_MY_NAME, (void**)&number_p, HCOLL_MODEX_UINT32);
  return OPAL_SUCCESS == rc ? number : sumac_hash(ompi_process_info.nodename);
}

int hcoll_presence_publish(void) {
  const int asks = hcoll_is_asked_for(), line = hcoll.process.settings.last_line;
  entries = calloc(ompi_process_info.num_procs, sizeof(*entries));
  if (NULL == entries) {
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  memset(&mine, 0, sizeof(mine));
  mine.magic = PRESENCE_MAGIC;
  mine.version = PRESENCE_VERSION;
  mine.np = (uint64_t)hcoll.np;
  mine.settings = sumac_process_signature(&hcoll.process);
  mine.reporting.asked = asks;
  mine.reporting.last_line = line < 0 ? asks : line;
  mine.reporting.job_id = sumac_job_draw_id();
  mine.host = my_host();
  sumac_process_place(ompi_process_info.my_local_rank, hcoll_speaks_for_host(), &mine.place);
  int rc;
  OPAL_MODEX_SEND(rc, HCOLL_MODEX_GLOBAL, hcoll.version, &mine, sizeof(mine));
  return rc;
}

/* A record counts as present if it equals ours except for the rank's own part. */
static enum known judge(const struct presence* theirs, size_t size) {
  if (sizeof(*theirs) != size || PRESENCE_MAGIC != theirs->magic) {
    return ABSENT;
  }
  return 0 == memcmp(theirs, &mine, offsetof(struct presence, reporting)) ? PRESENT : DIFFERS;
}

static struct entry look_up(const opal_process_name_t* name) {
  struct entry entry = {.known = ABSENT};
  void* data = NULL;
  size_t size = 0;
  int rc;
  OPAL_MODEX_RECV(rc, hcoll.version, name, &data, &size);
  if (OPAL_SUCCESS == rc && NULL != data) {
    entry.known = judge(data, size);
    if (PRESENT == entry.known) {
      memcpy(&entry.it, data, sizeof(entry.it));
    }
    free(data);
  }
  return entry;
}

static void shape_locked(ompi_communicator_t* comm, struct hcoll_shape* shape, uint64_t* hosts) {
  int size = ompi_comm_size(comm);
  /* Known entries come first: a communicator with a member known to be absent costs no look-up. */
  for (int pass = 0; pass < 2; ++pass) {
    for (int rank = 0; rank < size; ++rank) {
      const opal_process_name_t* name = &ompi_comm_peer_lookup(comm, rank)->super.proc_name;
      shape->absent_rank = rank;
      if (name->jobid != OMPI_PROC_MY_NAME->jobid) {
        shape->why = "belongs to another MPI job";
        return;
      }
      struct entry* entry = &entries[name->vpid];
      if (UNKNOWN == entry->known && 1 == pass) {
        *entry = look_up(name);
      }
      shape->is_mute = ABSENT == entry->known;
      if (shape->is_mute || DIFFERS == entry->known) {
        shape->why = shape->is_mute ? "does not have the component on" : "has other HCOLL settings";
        return;
      }
      hosts[rank] = entry->it.host;
    }
  }
  shape->hosts = sumac_number_hosts(hosts, size, NULL);
}

int hcoll_presence_of(ompi_communicator_t* comm, struct hcoll_shape* shape) {
  memset(shape, 0, sizeof(*shape));
  uint64_t* hosts = malloc(sizeof(*hosts) * (size_t)ompi_comm_size(comm));
  if (NULL == hosts) {
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  pthread_mutex_lock(&entries_lock);
  shape_locked(comm, shape, hosts);
  pthread_mutex_unlock(&entries_lock);
  free(hosts);
  return OMPI_SUCCESS;
}

int hcoll_presence_places(struct sumac_record* record, sumac_place_t* places) {
  ompi_communicator_t* comm = hcoll_module_of(record)->comm;
  const int size = record->size;
  uint64_t* hosts = malloc(sizeof(*hosts) * (size_t)size);
  if (NULL == hosts) {
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  pthread_mutex_lock(&entries_lock);
  for (int rank = 0; rank < size; ++rank) {
    const struct presence* it = &entries[ompi_comm_peer_lookup(comm, rank)->super.proc_name.vpid].it;
    places[rank] = it->place;
    hosts[rank] = it->host;
  }
  pthread_mutex_unlock(&entries_lock);
  (void)sumac_number_hosts(hosts, size, places);
  free(hosts);
  return OMPI_SUCCESS;
}

struct hcoll_reporting hcoll_presence_reporting(void) {
  pthread_mutex_lock(&entries_lock);
  const struct hcoll_reporting reporting = entries[0].it.reporting; /* zeroed unless rank 0 is present */
  pthread_mutex_unlock(&entries_lock);
  return reporting;
}

void hcoll_presence_forget(void) {
  free(entries);
  entries = NULL;
}
