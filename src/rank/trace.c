/* https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU describes the format: "X" is an event
 * with a beginning and a duration, both in microseconds, and "M" gives a process or a thread its name. `pid` is the rank, so that
 * the files of several ranks can be joined. */
#include "rank/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rank/profile_table.h"

/* Doubles the memory of an array up to `most` elements. Returns false if there is no more. */
static bool grow(void** array, size_t* room, size_t most, size_t element_bytes) {
  size_t wanted = 0 == *room ? 256 : 2 * *room;
  wanted = wanted > most ? most : wanted;
  void* grown = wanted > *room ? realloc(*array, wanted * element_bytes) : NULL;
  if (NULL == grown) {
    return false;
  }
  *array = grown;
  *room = wanted;
  return true;
}

uint16_t sumac_trace_name(struct sumac_trace* trace, const char* name) {
  const char* text = '\0' != name[0] ? name : "without a name";
  for (size_t i = trace->name_count; i > 0; --i) { /* the newest first: they are in use */
    if (0 == strncmp(trace->names[i - 1], text, sizeof(trace->names[0]) - 1)) {
      return (uint16_t)(i - 1);
    }
  }
  if (trace->name_count == trace->name_room &&
      !grow((void**)&trace->names, &trace->name_room, SUMAC_TRACE_NAMES_MAX, sizeof(trace->names[0]))) {
    return SUMAC_TRACE_NAMES_MAX;
  }
  snprintf(trace->names[trace->name_count], sizeof(trace->names[0]), "%s", text);
  return (uint16_t)trace->name_count++;
}

/* Once memory is refused, what is there becomes the ring. */
void sumac_trace_add(struct sumac_trace* trace, const struct sumac_trace_event* event) {
  if (trace->added == trace->room && trace->room < trace->events_max &&
      !grow((void**)&trace->events, &trace->room, trace->events_max, sizeof(*event))) {
    trace->events_max = trace->room;
  }
  if (trace->room > 0) {
    trace->events[trace->added % trace->room] = *event;
  }
  ++trace->added;
}

static size_t kept(const struct sumac_trace* trace) {
  return trace->added < trace->room ? (size_t)trace->added : trace->room;
}

uint64_t sumac_trace_dropped(const struct sumac_trace* trace) { return trace->added - kept(trace); }

void sumac_trace_free(struct sumac_trace* trace) {
  free(trace->events);
  free(trace->names);
  memset(trace, 0, sizeof(*trace));
}

/* Names are bytes in no known encoding: all but ASCII is escaped, so that the file is always legal. */
static void put_string(FILE* out, const char* text) {
  fputc('"', out);
  for (const unsigned char* at = (const unsigned char*)text; '\0' != *at; ++at) {
    if ('"' == *at || '\\' == *at) {
      fprintf(out, "\\%c", *at);
    } else if (*at < 0x20 || *at >= 0x7f) {
      fprintf(out, "\\u%04x", *at);
    } else {
      fputc(*at, out);
    }
  }
  fputc('"', out);
}

/* Microseconds with the nanoseconds behind the point. */
static void put_us(FILE* out, const char* key, int64_t ns) {
  const char* sign = ns < 0 ? "-" : "";
  const uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
  fprintf(out, "\"%s\":%s%" PRIu64 ".%03" PRIu64, key, sign, size / 1000, size % 1000);
}

static int by_start(const void* a, const void* b) {
  const struct sumac_trace_event *x = a, *y = b;
  return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static void put_event(FILE* out, const struct sumac_trace* trace, const struct sumac_trace_process* process,
                      const struct sumac_trace_event* event) {
  char name[40];
  sumac_profile_name(event->coll, event->form, name);
  fprintf(out, ",\n{\"ph\":\"X\",\"cat\":\"collective\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,", name, process->rank,
          event->thread);
  put_us(out, "ts", event->start_ns - process->zero_ns);
  fputc(',', out);
  put_us(out, "dur", event->ns);
  fprintf(out, ",\"args\":{\"bytes\":%" PRIu64 ",\"way\":\"%s\",\"communicator\":", event->bytes,
          sumac_profile_way_name(event->way, process->next));
  put_string(out, event->communicator < trace->name_count ? trace->names[event->communicator] : "another communicator");
  fputs("}}", out);
}

static void put_metadata(FILE* out, const struct sumac_trace_process* process, unsigned threads) {
  char name[160];
  snprintf(name, sizeof(name), "rank %d on %s", process->rank, process->host);
  fprintf(out, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":", process->rank);
  put_string(out, name);
  fprintf(out, "}},\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,\"tid\":0,\"args\":{\"sort_index\":%d}}",
          process->rank, process->rank);
  for (unsigned thread = 0; thread < threads; ++thread) {
    fprintf(out, ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%u,\"args\":{\"name\":\"thread %u\"}}",
            process->rank, thread, thread);
  }
}

void sumac_trace_write(struct sumac_trace* trace, const struct sumac_trace_process* process, FILE* out) {
  const size_t count = kept(trace);
  unsigned threads = 1;
  for (size_t i = 0; i < count; ++i) {
    threads = trace->events[i].thread >= threads ? trace->events[i].thread + 1u : threads;
  }
  if (count > 0) {
    qsort(trace->events, count, sizeof(trace->events[0]), by_start);
  }
  fprintf(out, "{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"rank\":%d,\"process\":%d,\"host\":", process->rank,
          process->pid);
  put_string(out, process->host);
  fprintf(out, ",\"events\":%zu,\"dropped_events\":%" PRIu64 ",", count, sumac_trace_dropped(trace));
  put_us(out, "finalize_us", process->wall_end_ns - process->zero_ns);
  fputs("},\n\"traceEvents\":[\n", out);
  put_metadata(out, process, threads);
  for (size_t i = 0; i < count; ++i) {
    put_event(out, trace, process, &trace->events[i]);
  }
  fputs("\n]}\n", out);
}
