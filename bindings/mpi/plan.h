/* The layout of a collective's data. A team moves bytes: a buffer of a contiguous type is used as it is; any other
 * is packed into our memory before and unpacked from it afterwards. This is local to one rank: MPI lets ranks use
 * different types of equal signature, so the form of a rank's type must not influence a decision that all ranks
 * share. In a reduction all ranks have the same type: a user's function gets its elements with their holes, so packed
 * elements keep their extent, and only their data return to the user. */
#ifndef SUMAC_MPI_PLAN_H
#define SUMAC_MPI_PLAN_H

#include "hcoll.h"

/** One side of a collective, in the user's layout. */
struct hcoll_side {
  char* user;
  ompi_datatype_t* type;
  size_t count;      /* elements, if they follow each other */
  const int* counts; /* [blocks] else; both arrays are the caller's, valid until the collective is done */
  const int* displacements;
  int blocks;
  size_t packed_at; /* the offset of its packed data in the plan's memory */
  bool is_packed;   /* else the user's memory is used as it is */
};

/** Says whether one of a call's two addresses is the other one, as in a call that is in place and at a bcast's root. */
enum hcoll_shared { HCOLL_APART, HCOLL_IN_IS_OUT, HCOLL_OUT_IS_IN };

struct hcoll_plan {
  sumac_call_t call;
  struct hcoll_side send, receive;
  enum hcoll_shared shared;
  struct hcoll_fold own; /* for a user's operation: call.fold points to it */
  bool keeps_extent;     /* packed elements lie as far apart as the user's, holes included */
  void* memory;          /* both sides' packed data, and its counts and displacements */
  size_t memory_bytes;
};

/** The result of each of the functions below. */
enum hcoll_planned {
  HCOLL_PLANNED, /* run plan->call, between hcoll_plan_pack() and hcoll_plan_unpack() */
  HCOLL_NOTHING, /* there is no byte to move or reduce, and all ranks know it */
  HCOLL_NOT_OURS /* the next module does it, at all ranks */
};

/* The functions of collectives/ make their plans with these. */

/** Begins an empty plan. */
void hcoll_plan_begin(struct hcoll_plan* plan, enum sumac_coll coll);
/** Makes the whole plan of a collective that reduces. `keeps`: this rank gets a result, so `rbuf` counts. */
enum hcoll_planned hcoll_plan_reduction(hcoll_module_t* module, struct hcoll_plan* plan, enum sumac_coll coll,
                                        const void* sbuf, void* rbuf, bool keeps, int count, ompi_datatype_t* dtype,
                                        ompi_op_t* op);
/** Completes the plan if both sides have blocks of one size: `sblocks` of them are sent and as many received as
 *  there are ranks; in place, the data to send begins with the block `own` of rbuf. */
enum hcoll_planned hcoll_plan_equal_blocks(hcoll_module_t* module, struct hcoll_plan* plan, const void* sbuf,
                                           int scount, ompi_datatype_t* sdtype, int sblocks, void* rbuf, int rcount,
                                           ompi_datatype_t* rdtype, int own);
/** For `count` elements of `bytes` bytes together that follow each other. Returns the address of the data; NULL:
 *  `side` is packed. */
char* hcoll_plan_row(struct hcoll_plan* plan, struct hcoll_side* side, const void* user, size_t count,
                     ompi_datatype_t* type, size_t bytes);
/** For blocks with counts and displacements of their own, which it stores in `at`. Returns the same as
 *  hcoll_plan_row(). */
char* hcoll_plan_blocks(struct hcoll_plan* plan, struct hcoll_side* side, sumac_blocks_t* at, const void* user,
                        const int* counts, const int* displacements, int blocks, ompi_datatype_t* type);
/** The `in` of a rank that sends nothing: for a team NULL, or `in` equal to `out`, means in place. */
extern const char hcoll_plan_no_data[1];

/** True if there is something to pack or unpack: then the caller must provide memory before anything else. */
static inline bool hcoll_plan_packs(const struct hcoll_plan* plan) { return 0 != plan->memory_bytes; }
/** True if the call reduces by a user's operation. */
static inline bool hcoll_plan_is_own(const struct hcoll_plan* plan) { return plan->call.fold == &plan->own.fold; }
/** Copies a plan that is not used yet. */
static inline void hcoll_plan_copy(struct hcoll_plan* to, const struct hcoll_plan* from) {
  *to = *from;
  if (hcoll_plan_is_own(from)) {
    hcoll_fold_moved(&to->own);
    to->call.fold = &to->own.fold;
  }
}
/** Points the call at `memory`, of plan->memory_bytes bytes. */
void hcoll_plan_use(struct hcoll_plan* plan, void* memory);
/** Returns the address of a packed side's data. */
char* hcoll_plan_packed(const struct hcoll_plan* plan, const struct hcoll_side* side);
/** Called before and after the collective. They do nothing if nothing is packed. */
void hcoll_plan_pack(const struct hcoll_plan* plan);
void hcoll_plan_unpack(const struct hcoll_plan* plan);

/** True if `count` elements of the type lie without a gap, in the order of the signature; they begin at buffer +
 *  true_lb. */
static inline bool hcoll_is_flat(const ompi_datatype_t* type, size_t count) {
  return 0 != opal_datatype_is_contiguous_memory_layout(&type->super, (int32_t)(count > 1 ? 2 : count));
}
static inline char* hcoll_data_at(const void* buffer, const ompi_datatype_t* type) {
  return (char*)buffer + type->super.true_lb;
}

#endif
