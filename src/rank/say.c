#include "rank/say.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
  char host[256];
  unsigned world_rank;
  bool warns;
} speaker = {.host = "?", .warns = true};

void sumac_say_as(const char* host, unsigned world_rank) {
  snprintf(speaker.host, sizeof(speaker.host), "%s", NULL == host ? "?" : host);
  speaker.world_rank = world_rank;
}

void sumac_say_warnings(bool on) { speaker.warns = on; }
bool sumac_say_warns(void) { return speaker.warns; }

void sumac_say(const char* file, int line, const char* function, const char* format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  const char* base = strrchr(file, '/');
  /* One call, so that the lines of several ranks never mix. */
  fprintf(stderr, "[%s:%d:%u][%s:%d:%s] %s\n", speaker.host, (int)getpid(), speaker.world_rank, base ? base + 1 : file,
          line, function, text);
}

/* Thousands of communicators may have the same message. Only rank 0 of the first one prints it; the other ranks,
 * which may be rank 0 of the next communicator, remember it as well. */
void sumac_say_once(const char* line, bool by_us) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static char said[8][512];
  static size_t next;
  pthread_mutex_lock(&lock);
  bool is_new = true;
  for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); ++i) {
    is_new = is_new && 0 != strncmp(said[i], line, sizeof(said[i]) - 1);
  }
  if (is_new) {
    snprintf(said[next++ % (sizeof(said) / sizeof(said[0]))], sizeof(said[0]), "%s", line);
  }
  pthread_mutex_unlock(&lock);
  if (is_new && by_us && speaker.warns) {
    SUMAC_SAY("%s", line);
  }
}

void sumac_say_each_once(char* lines, bool by_us) {
  char* rest = NULL;
  for (char* line = strtok_r(lines, "\n", &rest); NULL != line; line = strtok_r(NULL, "\n", &rest)) {
    sumac_say_once(line, by_us);
  }
}

void sumac_say_failure(const char* line) {
  enum { kLinesMost = 100 };
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static char* said[kLinesMost];
  static size_t count;
  pthread_mutex_lock(&lock);
  bool is_new = count < kLinesMost;
  for (size_t i = 0; i < count && is_new; ++i) {
    is_new = 0 != strcmp(said[i], line);
  }
  if (is_new && NULL != (said[count] = strdup(line))) {
    ++count;
    SUMAC_SAY("%s", line);
  }
  pthread_mutex_unlock(&lock);
}
