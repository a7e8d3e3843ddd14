#include "bench/field/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"

int field_parse_number(const char* text, long least, long* number) {
  char* end = NULL;
  if (text == NULL || text[0] < '0' || text[0] > '9') return -1;
  errno = 0;
  const long value = strtol(text, &end, 10);
  if (errno != 0 || *end != '\0' || value < least || value > kFieldNumberMost) return -1;
  *number = value;
  return 0;
}

/* Copies a part of a text, so that it can be read alone. @return -1: it is too long to be a number. */
static int copy_part(const char* begin, size_t length, char part[32]) {
  if (length >= 32) return -1;
  memcpy(part, begin, length);
  part[length] = '\0';
  return 0;
}

int field_parse_sizes(const char* text, size_t* least, size_t* most) {
  const char* colon = strchr(text, ':');
  const char* last = colon == NULL ? text : colon + 1;
  char part[32];
  const size_t smallest = *least == 0 ? 0 : 1;
  size_t from = *least, to = *most;
  if (colon != NULL && colon != text &&
      (copy_part(text, (size_t)(colon - text), part) != 0 || bench_parse_bytes(part, &from) != 0))
    return -1;
  if (*last != '\0' && bench_parse_bytes(last, &to) != 0) return -1;
  if (colon == NULL && *last == '\0') return -1;
  // A MAX below the default MIN is meant: so it is in OSU's programs too.
  if (colon == NULL && from > to) from = to;
  if (from < smallest || to < from || to > (size_t)1 << 30) return -1;
  *least = from;
  *most = to;
  return 0;
}

int field_parse_exponents(const char* text, int* least, int* most) {
  const char* colon = strchr(text, ':');
  char part[32];
  long from = *least, to = *most;
  if (colon != NULL && (copy_part(text, (size_t)(colon - text), part) != 0 || field_parse_number(part, 0, &from) != 0))
    return -1;
  if (field_parse_number(colon == NULL ? text : colon + 1, 0, &to) != 0 || to < from || to > 30) return -1;
  *least = (int)from;
  *most = (int)to;
  return 0;
}
