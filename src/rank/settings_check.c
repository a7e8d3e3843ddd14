/* A variable that nobody reads is a mistake that costs an afternoon, so a warning names it and the name that was
 * probably meant. */
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char** environ;

enum { NAME_BYTES_MAX = 63 };

/* The number of edits (insert, remove, replace) from one word to the other. */
static size_t distance(const char* a, size_t a_length, const char* b) {
  size_t row[NAME_BYTES_MAX + 1], b_length = strlen(b);
  for (size_t j = 0; j <= b_length; ++j) {
    row[j] = j;
  }
  for (size_t i = 1; i <= a_length; ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b_length; ++j) {
      size_t best = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      best = row[j] + 1 < best ? row[j] + 1 : best;
      row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
    }
  }
  return row[b_length];
}

/* Returns all known names, "" if a variable has no alias. */
static const char* name_of(size_t index, const char* (*others)(size_t)) {
  if (index < 2 * hcoll_variable_count) {
    const struct hcoll_variable* variable = &hcoll_variables[index / 2];
    const char* name = 0 == index % 2 ? variable->name : variable->alias;
    return NULL == name ? "" : name;
  }
  return NULL == others ? NULL : others(index - 2 * hcoll_variable_count);
}

/* A name with more edits is no typing error; all our programs use the same bound. */
static const char* nearest(const char* name, size_t length, const char* (*others)(size_t)) {
  size_t best = (length / 5 > 2 ? length / 5 : 2) + 1;
  const char *found = NULL, *known;
  for (size_t i = 0; NULL != (known = name_of(i, others)); ++i) {
    if ('\0' == known[0] || strlen(known) > NAME_BYTES_MAX || '_' == known[strlen(known) - 1]) {
      continue;
    }
    size_t edits = distance(name, length, known);
    if (edits < best) {
      best = edits;
      found = known;
    }
  }
  return found;
}

static int is_called(const char* known, const char* name, size_t length) {
  size_t known_length = strlen(known);
  if (0 == known_length) {
    return 0;
  }
  if ('_' == known[known_length - 1]) {
    return length > known_length && 0 == strncmp(name, known, known_length);
  }
  return length == known_length && 0 == strncmp(name, known, length);
}

static int is_known(const char* name, size_t length, const char* (*others)(size_t)) {
  const char* known;
  for (size_t i = 0; NULL != (known = name_of(i, others)); ++i) {
    if (is_called(known, name, length)) {
      return 1;
    }
  }
  return 0;
}

void hcoll_settings_check(void (*say)(const char* sentence), const char* (*others)(size_t index)) {
  char sentence[512];
  for (char** entry = environ; NULL != entry && NULL != *entry; ++entry) {
    const char* equals = strchr(*entry, '=');
    if (NULL == equals || 0 != strncmp(*entry, "HCOLL_", 6)) {
      continue;
    }
    size_t length = (size_t)(equals - *entry);
    if (!is_known(*entry, length, others)) {
      const char* meant = nearest(*entry, length, others);
      snprintf(sentence, sizeof(sentence), "unknown variable %.*s%s%s%s", (int)length, *entry,
               NULL == meant ? "" : ": did you mean ", NULL == meant ? "" : meant, NULL == meant ? "" : "?");
      say(sentence);
    }
  }
}
