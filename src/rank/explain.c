#include "rank/explain.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank/left.h"

/* A program may make thousands of communicators without a team. The first of each reason has a line, and the end of the
 * job tells how many more there were. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  char why[256];
  uint64_t more;
} reasons[16];
static size_t used;

/* Returns true if the reason is new. */
static bool note(const char* why) {
  bool is_new = true;
  pthread_mutex_lock(&lock);
  for (size_t at = 0; at < used; ++at) {
    if (0 == strncmp(reasons[at].why, why, sizeof(reasons[at].why) - 1)) {
      ++reasons[at].more;
      is_new = false;
    }
  }
  if (is_new && used < sizeof(reasons) / sizeof(reasons[0])) {
    snprintf(reasons[used++].why, sizeof(reasons[0].why), "%s", why);
  }
  pthread_mutex_unlock(&lock);
  return is_new;
}

void sumac_explain_none(const sumac_team_options_t* options, const char* name, int size, const char* why) {
  if (sumac_team_options_explain(options) && note(why)) {
    fprintf(stderr, "sumac: communicator %s: %d rank%s: no team: %s\n", '\0' != name[0] ? name : "without a name", size,
            1 == size ? "" : "s", why);
  }
}

void sumac_explain_team(const sumac_team_options_t* options, const sumac_team_t* team) {
  if (!sumac_team_options_explain(options)) {
    return;
  }
  char* text = sumac_team_explain(team);
  if (NULL != text) {
    fputs(text, stderr);
    free(text);
  }
}

void sumac_explain_end(const sumac_team_options_t* options, const char* next) {
  if (!sumac_team_options_explain(options)) {
    return;
  }
  for (size_t at = 0; at < used; ++at) {
    if (reasons[at].more > 0) {
      fprintf(stderr, "sumac: no team for %" PRIu64 " more communicator%s: %s\n", reasons[at].more,
              1 == reasons[at].more ? "" : "s", reasons[at].why);
    }
  }
  sumac_left_print(next);
}
