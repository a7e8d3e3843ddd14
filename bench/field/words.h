/* Reads numbers and sizes of both command lines, and reports what is wrong with them once, from rank 0. */
#ifndef SUMAC_BENCH_FIELD_WORDS_H
#define SUMAC_BENCH_FIELD_WORDS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kFieldNumberMost = 1000000000 };

/** Reads a whole number from `least` to kFieldNumberMost. @return 0, or -1. */
int field_parse_number(const char* text, long least, long* number);

/** Reads OSU's -m: MAX, MIN: or MIN:MAX, each a number of bytes, at least 1 (0 where `least` is 0), that may end with K, M or G (powers of 1024).
 *  A part that is left out stays as it was. @return 0, or -1. */
int field_parse_sizes(const char* text, size_t* least, size_t* most);

/** Reads Intel's -msglog: MAX or MIN:MAX, exponents from 0 to 30. @return 0, or -1. */
int field_parse_exponents(const char* text, int* least, int* most);

#ifdef __cplusplus
}
#endif
#endif
