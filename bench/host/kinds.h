/* The table of what hostbench can be asked for: collectives, each measured in one way. */
#ifndef SUMAC_BENCH_HOST_KINDS_H
#define SUMAC_BENCH_HOST_KINDS_H

#include "bench/host/area.h"
#include "bench/host/world.h"

/* A call is measured in one of these ways. Back to back: ranks wait for each other anyway; large ones are aligned all the same (run_calls).
 * Aligned: an untimed barrier before each call, or a root would run ahead. Post: overlap with a sleep outside of the
 * library, or with arithmetic (post busy). Dup and first: communicators. Churn: a duplicate and a part of the communicator, each
 * made, used by four collectives and freed. New: many calls on a new communicator, together. Osu: the same buffers again and again,
 * as the programs osu_* measure. Stream: many rooted calls in a row without a barrier. Late: a partner comes late to each of
 * some rooted calls, and the ranks that need nobody note how long they are in them. Copies: no call at all but the copies that an alltoall or allgather can't do without (copies.h).
 * Cold: aligned, behind a sweep through more memory than a core has caches for. Fresh: aligned, each call in buffers that the last ones did not use. */
typedef enum {
  kBackToBack,
  kAligned,
  kPost,
  kPostBusy,
  kDup,
  kFirst,
  kChurn,
  kNew,
  kOsu,
  kCopies,
  kStream,
  kLate,
  kCold,
  kFresh
} way;

typedef struct {
  const char* name;
  world_kind kind;
  way how;
  world_form form;
} kind_row;

/** The calls of a program are named by their index here. */
extern const kind_row kKinds[];

/** @return the index of the row of this name, or -1. */
int kinds_find(const char* name);
int kinds_has_data(int kind);
/** The numbers that so many bytes are made of. */
bench_type kinds_type(int kind, size_t bytes);
int kinds_is_char(int kind);
/** Bytes of an element. */
size_t kinds_width(int kind, size_t bytes);

/** @return NULL, or what is wrong with the command. */
const char* kinds_refuse(const area_command* command);

#endif
