#include "rank/left.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A program has few kinds of calls; those beyond are counted in the last line alone. */
enum { ROWS = 64 };
static sumac_left_calls_t rows[ROWS];
static size_t used;

const char* sumac_left_words(enum sumac_left why) {
  switch (why) {
    case SUMAC_LEFT_OFF: return "switched off";
    case SUMAC_LEFT_FASTER: return "faster there";
    case SUMAC_LEFT_SIZE: return "too large";
    case SUMAC_LEFT_TYPE: return "of a type or operation that the tree lacks";
    case SUMAC_LEFT_COLL: return "that would gain nothing";
    case SUMAC_LEFTS: break;
  }
  return "?";
}

static bool is_same(const sumac_left_calls_t* a, const sumac_left_calls_t* b) {
  return a->coll == b->coll && a->why == b->why && 0 == strcmp(a->type_name, b->type_name) &&
         0 == strcmp(a->op_name, b->op_name);
}

static void add(const sumac_left_calls_t* one) {
  size_t at = 0;
  while (at < used && !is_same(&rows[at], one)) {
    ++at;
  }
  if (at == used) {
    if (ROWS == used) {
      return;
    }
    rows[used++] = *one;
    return;
  }
  rows[at].calls += one->calls;
  rows[at].bytes_min = one->bytes_min < rows[at].bytes_min ? one->bytes_min : rows[at].bytes_min;
  rows[at].bytes_max = one->bytes_max > rows[at].bytes_max ? one->bytes_max : rows[at].bytes_max;
}

void sumac_left_add(const sumac_team_t* team) {
  sumac_left_calls_t one;
  for (size_t index = 0; sumac_team_left(team, index, &one); ++index) {
    if (one.calls > 0) {
      add(&one);
    }
  }
}

static void print(const sumac_left_calls_t* row, const char* next) {
  char sizes[64] = "", types[160] = "";
  if (row->bytes_min < row->bytes_max) {
    snprintf(sizes, sizeof(sizes), " of %zu to %zu B", row->bytes_min, row->bytes_max);
  } else if (row->bytes_max > 0) {
    snprintf(sizes, sizeof(sizes), " of %zu B", row->bytes_max);
  }
  if ('\0' != row->type_name[0]) {
    snprintf(types, sizeof(types), " (%s with %s)", row->type_name, row->op_name);
  }
  fprintf(stderr, "sumac: left to the %s: %s %" PRIu64 "%s%s: %s\n", next, sumac_coll_name(row->coll), row->calls,
          sizes, types, sumac_left_words((enum sumac_left)row->why));
}

void sumac_left_print(const char* next) {
  for (size_t at = 0; at < used; ++at) {
    print(&rows[at], next);
  }
}
