/* The trace of one rank: its last collective calls, written as a file of the Chrome trace event format, which Perfetto
 * opens. It knows no MPI and no clock. */
#ifndef SUMAC_RANK_TRACE_H
#define SUMAC_RANK_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A rank keeps so many events, the last ones: 8 MiB. */
#define SUMAC_TRACE_EVENTS_MAX ((size_t)1 << 18)
/** The names of so many communicators; later ones share one more name. */
#define SUMAC_TRACE_NAMES_MAX 1024

struct sumac_trace_event {
  int64_t start_ns, ns;
  uint64_t bytes;
  uint16_t communicator; /* sumac_trace_name() */
  uint16_t thread;       /* 0: the process's first thread that called */
  uint8_t coll, form, way;
};

/** Zeroed with `events_max` set: an empty trace. One thread at a time. */
struct sumac_trace {
  size_t events_max;
  struct sumac_trace_event* events; /* a ring once `events_max` are there */
  size_t room;                      /* events for which there is memory */
  uint64_t added;                   /* events since the beginning */
  char (*names)[64];
  size_t name_count, name_room;
};

/** Returns the number of a communicator's name. */
uint16_t sumac_trace_name(struct sumac_trace* trace, const char* name);
/** Adds an event; if there is no more room, the oldest one is dropped. */
void sumac_trace_add(struct sumac_trace* trace, const struct sumac_trace_event* event);
uint64_t sumac_trace_dropped(const struct sumac_trace* trace);
void sumac_trace_free(struct sumac_trace* trace);

/** The process that a trace belongs to. */
struct sumac_trace_process {
  int rank, pid;
  const char* host;
  const char* next;    /* the name of the software that does the calls which are passed on */
  int64_t zero_ns;     /* the time that is 0 in the file */
  int64_t wall_end_ns; /* the end of the job */
};

/** Writes the file's text, with the events in the order of their beginning. */
void sumac_trace_write(struct sumac_trace* trace, const struct sumac_trace_process* process, FILE* out);

#ifdef __cplusplus
}
#endif

#endif
