#include "bench/host/copies.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum { kLibrary, kRepeat, kLines, kWide };

/* rep movsb: the processor's own copy, which the C library chooses by size alone. */
static void repeat(char* to, const char* from, size_t bytes) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static void line_by_line(char* to, const char* from, size_t bytes) {
  size_t at = 0;
  for (; at + 64 <= bytes; at += 64)
    for (size_t part = 0; part < 64; part += 16)
      _mm_storeu_si128((__m128i*)(to + at + part), _mm_loadu_si128((const __m128i*)(from + at + part)));
  memcpy(to + at, from + at, bytes - at);
}

/* Lines are asked for ahead of their turn: the way to the other core's cache takes far longer than the copy. */
__attribute__((target("avx2"))) static void wide(char* to, const char* from, size_t bytes) {
  enum { kAhead = 16 * 64 };
  size_t at = 0;
  for (; at + 64 <= bytes; at += 64) {
    _mm_prefetch(from + at + kAhead, _MM_HINT_T0);
    const __m256i a = _mm256_loadu_si256((const __m256i*)(from + at)),
                  b = _mm256_loadu_si256((const __m256i*)(from + at + 32));
    _mm256_storeu_si256((__m256i*)(to + at), a);
    _mm256_storeu_si256((__m256i*)(to + at + 32), b);
  }
  memcpy(to + at, from + at, bytes - at);
}

int copies_has(int way) { return way != kWide || __builtin_cpu_supports("avx2"); }

void copies_do(int way, char* to, const char* from, size_t bytes) {
  switch (way) {
    case kLibrary: memcpy(to, from, bytes); return;
    case kRepeat: repeat(to, from, bytes); return;
    case kLines: line_by_line(to, from, bytes); return;
    default: wide(to, from, bytes); return;
  }
}

#else

int copies_has(int way) { return way == 0; }
void copies_do(int way, char* to, const char* from, size_t bytes) { (void)way, memcpy(to, from, bytes); }

#endif
