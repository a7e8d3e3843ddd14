/* A variable that nobody reads is a mistake that costs an afternoon: it is named, with what was probably meant. */
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char** environ;

enum { NAME_BYTES_MAX = 63 };

/* Edits (insert, remove, replace) from one word to the other. */
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

/* Farther than this is not a slip of the finger: the same bound as for all our programs. */
static const char* nearest(const char* name, size_t length) {
  size_t best = (length / 5 > 2 ? length / 5 : 2) + 1;
  const char* found = NULL;
  for (size_t i = 0; i < hcoll_variable_count; ++i) {
    const char* names[] = {hcoll_variables[i].name, hcoll_variables[i].alias};
    for (int k = 0; k < 2; ++k) {
      if (NULL == names[k] || strlen(names[k]) > NAME_BYTES_MAX || '_' == names[k][strlen(names[k]) - 1]) {
        continue;
      }
      size_t edits = distance(name, length, names[k]);
      if (edits < best) {
        best = edits;
        found = names[k];
      }
    }
  }
  return found;
}

static int is_called(const char* known, const char* name, size_t length) {
  if (NULL == known) {
    return 0;
  }
  size_t known_length = strlen(known);
  if ('_' == known[known_length - 1]) {
    return length > known_length && 0 == strncmp(name, known, known_length);
  }
  return length == known_length && 0 == strncmp(name, known, length);
}

static const struct hcoll_variable* find(const char* name, size_t length) {
  for (size_t i = 0; i < hcoll_variable_count; ++i) {
    if (is_called(hcoll_variables[i].name, name, length) || is_called(hcoll_variables[i].alias, name, length)) {
      return &hcoll_variables[i];
    }
  }
  return NULL;
}

void hcoll_settings_check(void (*say)(const char* sentence), int with_no_effect) {
  char sentence[512];
  for (char** entry = environ; NULL != entry && NULL != *entry; ++entry) {
    const char* equals = strchr(*entry, '=');
    if (NULL == equals || 0 != strncmp(*entry, "HCOLL_", 6)) {
      continue;
    }
    size_t length = (size_t)(equals - *entry);
    const struct hcoll_variable* variable = find(*entry, length);
    if (NULL == variable) {
      const char* meant = nearest(*entry, length);
      snprintf(sentence, sizeof(sentence), "unknown variable %.*s%s%s%s", (int)length, *entry,
               NULL == meant ? "" : ": did you mean ", NULL == meant ? "" : meant, NULL == meant ? "" : "?");
      say(sentence);
    } else if (NULL != variable->no_effect && with_no_effect && '\0' != equals[1]) {
      snprintf(sentence, sizeof(sentence), "%.*s has no effect yet: %s", (int)length, *entry, variable->no_effect);
      say(sentence);
    }
  }
}
