#pragma once
/* A fold combines two elements of a reduction. The predefined types and operations for which src/reduce has a kernel use it;
 * the MPI's MPI_Reduce_local does the other legal ones, derived types and a program's own operation. */

#include <stddef.h>

#include "rank/plan.h"
#include "rank/predefined.h"
#include "team/team.h"

SUMAC_C_BEGIN

/** The rows of the table: SUMAC_ROW_DOUBLE. */
enum {
#define SUMAC_ROW(name, values) SUMAC_ROW_##name,
  SUMAC_PREDEFINED_TYPES(SUMAC_ROW)
#undef SUMAC_ROW
      SUMAC_ROWS
};

/** The predefined pairs; mpi_bytes is 0 for those that the MPI does not have, for rows of
 *  types that it lacks, and in one row more, for types that have none. */
extern struct sumac_pair sumac_pairs[SUMAC_ROWS + 1][SUMAC_OPS];

/** Fills the table, once. The handles of a type that the MPI lacks are 0.
 *  @param types [SUMAC_ROWS] in the order of SUMAC_PREDEFINED_TYPES
 *  @param ops   [SUMAC_OPS] in the order of SUMAC_PREDEFINED_OPS */
void sumac_pairs_fill(const struct sumac_runtime* runtime, const uintptr_t* types, const uintptr_t* ops);

/** Returns the row of a type among the same handles; -1: reductions do not know it. */
int sumac_pairs_row(const uintptr_t* types, uintptr_t type);

/** An operation that has no column. */
enum sumac_op_kind {
  SUMAC_OP_OWN = -1,        /* the program's, */
  SUMAC_OP_IN_ORDER = -2,   /* whose operands may not change places */
  SUMAC_OP_NOT_FOR_US = -3, /* none for a team */
};

/** Returns the pair for a reduction on a communicator with a team: the table's, or `own`, which it fills for the program's
 *  operation. NULL: the MPI does it, a pair that it does not have, elements that reach into each other or are too large for
 *  the team, an operation that does not commute where the team does not keep the order of ranks. All ranks agree, because MPI
 *  demands the same type and operation of them. */
const struct sumac_pair* sumac_pair_of(const struct sumac_record* record, struct sumac_pair* own, enum sumac_coll coll,
                                       const struct sumac_layout* type, uintptr_t op);

/** Computes inout[i] = in[i] op inout[i] for `count` elements. */
typedef void (*sumac_reduce_local_t)(const void* context, const void* in, void* inout, int count);

/** Computes out[i] = a[i] op b[i], as a fold's function does, by `reduce`, which gets fold->context. `out` may be `a` or
 *  `b`. */
void sumac_fold_by_local(const sumac_fold_t* fold, void* out, const void* a, const void* b, size_t count,
                         sumac_reduce_local_t reduce);

SUMAC_C_END
