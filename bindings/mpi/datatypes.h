#pragma once
/* Open MPI's datatypes and operations, as src/rank sees them. */

#include "hcoll.h"

/** The row of a predefined type in the table of pairs (rank/fold.h), by Open MPI's number of the type. */
extern uint8_t hcoll_rows[OMPI_DATATYPE_MAX_PREDEFINED];

/** Fills the table once. */
void hcoll_pairs_fill(void);

/* Open MPI has them in the order of SUMAC_PREDEFINED_OPS; others, which are none for reductions, follow. */
static inline unsigned hcoll_column_of(const ompi_op_t* op) { return (unsigned)op->op_type - OMPI_OP_MAX; }

/** Returns NULL for a user's operation, a derived type, or a pair that MPI does not have. The result depends only on
 *  type and operation, so it is the same at all ranks. */
static inline const struct sumac_pair* hcoll_pair_of(const ompi_datatype_t* type, const ompi_op_t* op) {
  if (OPAL_UNLIKELY(!(type->super.flags & OMPI_DATATYPE_FLAG_PREDEFINED) || !(op->o_flags & OMPI_OP_FLAGS_INTRINSIC) ||
                    hcoll_column_of(op) >= SUMAC_OPS)) {
    return NULL;
  }
  const struct sumac_pair* pair = &sumac_pairs[hcoll_rows[type->id]][hcoll_column_of(op)];
  return OPAL_LIKELY(pair->mpi_bytes) ? pair : NULL;
}

/** These serve as the functions of hcoll_runtime. */
const struct sumac_layout* hcoll_layout(uintptr_t type, struct sumac_layout* room);
int hcoll_op_kind(uintptr_t op);
void hcoll_reduce_local(const void* in, void* inout, int count, uintptr_t type, uintptr_t op);
int hcoll_hold_type(uintptr_t* type);
void hcoll_release_type(uintptr_t type);
void hcoll_hold_op(uintptr_t op);
void hcoll_release_op(uintptr_t op);
int hcoll_pack(const void* user, size_t count, const struct sumac_layout* layout, void* bytes);
int hcoll_unpack(const void* bytes, void* user, size_t count, const struct sumac_layout* layout);
