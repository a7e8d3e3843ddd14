/* A rank of libucc with a context and a team of all ranks, which has one sum under way at a time. A program of ours links it, and
 * Python loads it (bindings/python/tests/team_test.py). */
#ifndef SUMAC_TESTS_CLIENTS_UCC_RANK_H
#define SUMAC_TESTS_CLIENTS_UCC_RANK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* `allgather` is the caller's: it is called in here, and blocks. Returns a status of UCC's; so do the others. */
int ucc_rank_open(const char* prefix, int rank, int size, int (*allgather)(const void* in, void* out, size_t bytes));
int ucc_rank_post(const int64_t* in, int64_t* out, size_t count);
int ucc_rank_wait(void);
int ucc_rank_close(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
