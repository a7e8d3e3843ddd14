/* The collectives that sumac-bench measures: the names that OSU's and Intel's benchmarks have for each, the data that a rank
 * gives and receives, and the calls of MPI. One table, read by both command lines. */
#ifndef SUMAC_BENCH_FIELD_KINDS_H
#define SUMAC_BENCH_FIELD_KINDS_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The data of one rank; `bytes` is the size of the table's row. */
typedef enum {
  kFieldNothing, /**< No data. */
  kFieldVector,  /**< A vector of `bytes`. */
  kFieldPart,    /**< The rank's own part of a vector of `bytes`; the first ranks have an element more than the last. */
  kFieldBlock,   /**< One block of `bytes`. */
  kFieldBlocks   /**< One block of `bytes` for each rank, or from each rank. */
} field_share;

/** The arguments of one call. `counts` and `starts` have one entry for each rank, in elements of `type`. */
typedef struct {
  const void* send;
  void* receive;
  int count; /**< Elements of a vector or block. */
  const int *counts, *starts;
  MPI_Datatype type;
  int root, rank;
  MPI_Comm comm;
} field_call;

typedef struct {
  const char* name;      /**< MPI's name in lower case: "allreduce". */
  const char* osu_title; /**< In OSU's first line: "Allreduce". */
  const char* osu_nonblocking_title;
  const char* imb; /**< Intel's name: "Allreduce"; the nonblocking one is "Iallreduce". */
  field_share gives, keeps;
  int reduces;        /**< The operation is a sum of floats. */
  int from_root;      /**< The root alone gives. */
  int to_root;        /**< The root alone receives. */
  int has_own_blocks; /**< The block from one rank to another is seen by no third. */
  int has_starts;     /**< A v-form: MPI's call takes a displacement, an int, for each rank. */
  int has_one_buffer; /**< The root gives what lies in the buffer in which the others receive. */
  int (*call)(const field_call* arguments);
  int (*post)(const field_call* arguments, MPI_Request* request);
} field_kind;

enum { kFieldKinds = 14 };
extern const field_kind kFieldTable[kFieldKinds];

/** Finds "osu_allreduce" or "osu_iallreduce". @return NULL: OSU has no such name for a collective. */
const field_kind* field_find_osu(const char* name, int* is_nonblocking);

/** Finds "Allreduce" (of IMB-MPI1) or, with `is_nonblocking`, "Iallreduce" and "Iallreduce_pure" (of IMB-NBC); letters
 *  may be small or capital. @return NULL: there is no such name. */
const field_kind* field_find_imb(const char* name, int is_nonblocking, int* is_pure);

/** Bytes of the data of one rank, root's for a collective with a root. */
size_t field_share_bytes(field_share share, size_t bytes, int ranks);

#ifdef __cplusplus
}
#endif
#endif
