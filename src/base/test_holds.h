#pragma once
/* These state what a header says about numbers, sizes and offsets, for a C and a C++ compiler. */
#include <stddef.h>

#ifdef __cplusplus
#define HOLDS(...) static_assert(__VA_ARGS__, #__VA_ARGS__)
#else
#define HOLDS(...) _Static_assert(__VA_ARGS__, #__VA_ARGS__)
#endif
#define IS(name, number) HOLDS((long long)(name) == (number))
#define AT(type, field, offset) HOLDS(offsetof(type, field) == (offset))
#define SIZE(type, bytes) HOLDS(sizeof(type) == (bytes))
