/* Plans of Open MPI's calls (rank/plan.h). */
#ifndef SUMAC_MPI_PLAN_H
#define SUMAC_MPI_PLAN_H

#include "hcoll.h"

/** The result of each of the functions below. */
enum hcoll_planned {
  HCOLL_PLANNED, /* run plan->call, between sumac_plan_pack() and sumac_plan_unpack() */
  HCOLL_NOTHING, /* there is no byte to move or reduce, and all ranks know it */
  HCOLL_NOT_OURS /* the next module does it, at all ranks */
};

/* The functions of collectives/ make their plans with these. */

/** Makes the whole plan of a collective that reduces. `keeps`: this rank gets a result, so `rbuf` counts. */
enum hcoll_planned hcoll_plan_reduction(hcoll_module_t* module, struct sumac_plan* plan, enum sumac_coll coll,
                                        const void* sbuf, void* rbuf, bool keeps, int count, ompi_datatype_t* dtype,
                                        ompi_op_t* op);
/** Completes the plan if both sides have blocks of one size: `sblocks` of them are sent and as many received as
 *  there are ranks; in place, the data to send begins with the block `own` of rbuf. */
enum hcoll_planned hcoll_plan_equal_blocks(hcoll_module_t* module, struct sumac_plan* plan, const void* sbuf,
                                           int scount, ompi_datatype_t* sdtype, int sblocks, void* rbuf, int rcount,
                                           ompi_datatype_t* rdtype, int own);
/** For `count` elements that follow each other. Returns the address of the data; NULL: `side` is packed. */
char* hcoll_plan_row(struct sumac_plan* plan, struct sumac_side* side, const void* user, size_t count,
                     ompi_datatype_t* type);
/** For blocks with counts and displacements of their own, which it stores in `at`. Returns the same. */
char* hcoll_plan_blocks(struct sumac_plan* plan, struct sumac_side* side, sumac_blocks_t* at, const void* user,
                        const int* counts, const int* displacements, int blocks, ompi_datatype_t* type);
/** Copies a plan that is not used yet. */
static inline void hcoll_plan_copy(struct sumac_plan* to, const struct sumac_plan* from) {
  *to = *from;
  if (sumac_plan_is_own(from)) {
    to->own.fold.context = &to->own; /* its function finds it by its address */
    to->call.fold = &to->own.fold;
  }
}
/** These serve as the functions of hcoll_runtime. */
int hcoll_pack(const void* user, size_t count, const struct sumac_layout* layout, void* bytes);
int hcoll_unpack(const void* bytes, void* user, size_t count, const struct sumac_layout* layout);

/** True if `count` elements of the type lie without a gap, in the order of the signature; they begin at buffer +
 *  true_lb. */
static inline bool hcoll_is_flat(const ompi_datatype_t* type, size_t count) {
  return 0 != opal_datatype_is_contiguous_memory_layout(&type->super, (int32_t)(count > 1 ? 2 : count));
}
static inline char* hcoll_data_at(const void* buffer, const ompi_datatype_t* type) {
  return (char*)buffer + type->super.true_lb;
}

#endif
