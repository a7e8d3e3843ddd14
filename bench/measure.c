#include "bench/measure.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

int bench_parse_bytes(const char* text, size_t* bytes) {
  static const char* const kUnits[] = {"", "k", "m", "g"};
  char* end = NULL;
  if (!isdigit((unsigned char)text[0])) return -1;
  errno = 0;
  const unsigned long long number = strtoull(text, &end, 10);
  if (errno != 0) return -1;
  for (unsigned unit = 0; unit < 4; ++unit) {
    char with_b[8], with_ib[8];
    snprintf(with_b, sizeof with_b, "%sb", kUnits[unit]);
    snprintf(with_ib, sizeof with_ib, "%sib", kUnits[unit]);
    if (strcasecmp(end, kUnits[unit]) != 0 && strcasecmp(end, with_b) != 0 && strcasecmp(end, with_ib) != 0) continue;
    if (number > (SIZE_MAX >> (10 * unit))) return -1;
    *bytes = (size_t)number << (10 * unit);
    return 0;
  }
  return -1;
}

static int parse_count(const char* text, int least, int* out) {
  char* end = NULL;
  errno = 0;
  const long number = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || number < least || number > 10000000) return -1;
  *out = (int)number;
  return 0;
}

int bench_parse_case(const char* text, bench_case* out, char* error, size_t error_bytes) {
  char copy[512];
  if (strlen(text) >= sizeof copy) return snprintf(error, error_bytes, "case is too long: %.40s...", text), -1;
  strcpy(copy, text);
  *out = (bench_case){.iterations = -1, .warmup = -1};
  char* rest = copy;
  const char* name = strsep(&rest, ":");
  char* sizes = strsep(&rest, ":");
  const char* iterations = strsep(&rest, ":");
  const char* warmup = strsep(&rest, ":");
  if (name[0] == '\0' || strlen(name) >= sizeof out->name || rest != NULL)
    return snprintf(error, error_bytes, "case '%s' is not NAME[:SIZES[:ITERATIONS[:WARMUP]]]", text), -1;
  strcpy(out->name, name);
  if (sizes == NULL || sizes[0] == '\0')
    out->size_count = 1;  // one size, 0
  else
    for (char* one = NULL; (one = strsep(&sizes, ",")) != NULL;) {
      if (out->size_count == kBenchSizesMax)
        return snprintf(error, error_bytes, "case '%s': more than %d sizes", text, (int)kBenchSizesMax), -1;
      if (bench_parse_bytes(one, &out->sizes[out->size_count++]) != 0)
        return snprintf(error, error_bytes, "case '%s': '%s' is not a size such as 8, 64K or 16M", text, one), -1;
    }
  if (iterations != NULL && parse_count(iterations, 1, &out->iterations) != 0)
    return snprintf(error, error_bytes, "case '%s': '%s' is not a number of iterations", text, iterations), -1;
  if (warmup != NULL && parse_count(warmup, 0, &out->warmup) != 0)
    return snprintf(error, error_bytes, "case '%s': '%s' is not a number of warm-up iterations", text, warmup), -1;
  return 0;
}

int bench_default_iterations(size_t bytes) {
  if (bytes <= (size_t)64 << 10) return 200;
  return bytes <= (size_t)16 << 20 ? 10 : 5;
}

int bench_default_warmup(int iterations) {
  const int tenth = (iterations + 9) / 10;
  return tenth > 5 ? tenth : 5;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

bench_summary bench_summarise(double* values, size_t count) {
  bench_summary s = {0, 0, 0, 0, 0};
  if (count == 0) return s;
  qsort(values, count, sizeof *values, by_value);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += values[i];
  s.median = count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
  s.mean = sum / (double)count;
  s.min = values[0];
  s.max = values[count - 1];
  s.p90 = values[(count * 9 + 9) / 10 - 1];
  return s;
}

void bench_mean_over_ranks_ms(const int64_t* ns, int ranks, int stride, int first, int iterations, double* out_ms) {
  for (int i = 0; i < iterations; ++i) {
    double sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += (double)ns[(size_t)rank * (size_t)stride + (size_t)(first + i)];
    out_ms[i] = sum / ranks / 1e6;
  }
}

void bench_span_over_ranks_ms(const int64_t* begin_ns, const int64_t* end_ns, int ranks, int stride, int first,
                              int iterations, double* out_ms) {
  for (int i = 0; i < iterations; ++i) {
    int64_t begin = 0, end = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const size_t at = (size_t)rank * (size_t)stride + (size_t)(first + i);
      if (begin_ns[at] > begin) begin = begin_ns[at];
      if (end_ns[at] > end) end = end_ns[at];
    }
    out_ms[i] = (double)(end - begin) / 1e6;
  }
}

int64_t bench_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void bench_sleep_until_ns(int64_t when_ns) {
  prctl(PR_SET_TIMERSLACK, 1UL);  // In ns. With the default the kernel may wake the thread 50 us late.
  const struct timespec when = {.tv_sec = when_ns / 1000000000, .tv_nsec = when_ns % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR) continue;
}

int64_t bench_cpu_ns(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return ((int64_t)used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000 +
         ((int64_t)used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

void bench_print_json(FILE* out, const bench_result* r) {
  fprintf(out, "{\"program\":\"%s\",\"case\":\"%s\",\"bytes\":%zu,", r->program, r->collective, r->bytes);
  if (r->type != NULL)
    fprintf(out, "\"type\":\"%s\",", r->type);
  else
    fprintf(out, "\"type\":null,");
  fprintf(out, "\"ranks\":%d,\"iterations\":%d,\"warmup\":%d,\"unit\":\"ms\",", r->ranks, r->iterations, r->warmup);
  fprintf(out, "\"median\":%.6f,\"mean\":%.6f,\"min\":%.6f,\"max\":%.6f,\"p90\":%.6f,", r->ms.median, r->ms.mean,
          r->ms.min, r->ms.max, r->ms.p90);
  fprintf(out, "\"cpu_ms\":%.6f,", r->cpu_ms);
  if (r->verified >= 0)
    fprintf(out, "\"verified\":%ld,\"errors\":%ld}\n", r->verified, r->errors);
  else
    fprintf(out, "\"verified\":null,\"errors\":null}\n");
  fflush(out);
}
