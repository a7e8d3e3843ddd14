/* Where the data of a collective lies. A team moves bytes: a buffer whose type is contiguous is used as it is, any other is packed into
 * memory of ours before, and unpacked from it afterwards. That is one rank's own affair: MPI lets ranks use different types of equal
 * signature, so what a rank's type looks like decides nothing that others must know. */
#ifndef SUMAC_MPI_PLAN_H
#define SUMAC_MPI_PLAN_H

#include "hcoll.h"

/** One side of a collective, in the user's layout. */
struct hcoll_side {
  char* user;
  ompi_datatype_t* type;
  size_t count;      /* elements, where they follow each other */
  const int* counts; /* [blocks] else; both are the caller's, valid until the collective is done */
  const int* displacements;
  int blocks;
  size_t packed_at; /* where in the plan's memory its packed data begins */
  bool is_packed;   /* else the user's memory is used as it is */
};

/** Whether one of a call's two addresses is the other one: all that is in place, and a bcast's root. */
enum hcoll_shared { HCOLL_APART, HCOLL_IN_IS_OUT, HCOLL_OUT_IS_IN };

struct hcoll_plan {
  sumac_call_t call;
  struct hcoll_side send, receive;
  enum hcoll_shared shared;
  bool is_too_large; /* more scattered elements to pack than displacements of type int reach */
  void* memory;      /* of both sides' packed data, and of displacements in it */
  size_t memory_bytes;
};

/** What each of the functions below returns. */
enum hcoll_planned {
  HCOLL_PLANNED, /* plan->call is to be run, between hcoll_plan_pack() and hcoll_plan_unpack() */
  HCOLL_NOTHING, /* not a byte to move or reduce, and all ranks know it */
  HCOLL_NOT_OURS /* the next module's, at all ranks alike */
};

/* What the functions of collectives/ make a plan of. */

/** An empty plan. */
void hcoll_plan_begin(struct hcoll_plan* plan, enum sumac_coll coll);
/** The whole plan of a collective that reduces. */
enum hcoll_planned hcoll_plan_reduction(struct hcoll_plan* plan, enum sumac_coll coll, const void* sbuf, void* rbuf,
                                        int count, ompi_datatype_t* dtype, ompi_op_t* op);
/** The rest of the plan where both sides have blocks of one size: `sblocks` of them are sent and as many received as there are ranks; in place,
 *  what is sent begins with the block `own` of rbuf. */
enum hcoll_planned hcoll_plan_equal_blocks(hcoll_module_t* module, struct hcoll_plan* plan, const void* sbuf,
                                           int scount, ompi_datatype_t* sdtype, int sblocks, void* rbuf, int rcount,
                                           ompi_datatype_t* rdtype, int own);
/** `count` elements of `bytes` bytes together, one behind the other. Returns where the data lies; NULL: `side` is packed. */
char* hcoll_plan_row(struct hcoll_plan* plan, struct hcoll_side* side, const void* user, size_t count,
                     ompi_datatype_t* type, size_t bytes);
/** Blocks with counts and displacements of their own, which `at` gets. Returns as hcoll_plan_row(). */
char* hcoll_plan_blocks(struct hcoll_plan* plan, struct hcoll_side* side, sumac_blocks_t* at, const void* user,
                        const int* counts, const int* displacements, int blocks, ompi_datatype_t* type);
/** The `in` of a rank that sends nothing: to a team NULL, or `in` equal to `out`, means in place. */
extern const char hcoll_plan_no_data[1];

/** True where there is something to pack or unpack: then memory is to be given before anything else is done. */
static inline bool hcoll_plan_packs(const struct hcoll_plan* plan) { return 0 != plan->memory_bytes; }
/** Points the call at `memory`, of plan->memory_bytes bytes. */
void hcoll_plan_use(struct hcoll_plan* plan, void* memory);
/** Where a packed side's data begins. */
char* hcoll_plan_packed(const struct hcoll_plan* plan, const struct hcoll_side* side);
/** Before and after the collective. Nothing to do where nothing is packed. */
void hcoll_plan_pack(const struct hcoll_plan* plan);
void hcoll_plan_unpack(const struct hcoll_plan* plan);

/** True: `count` elements of the type lie without a gap, in the order of the signature; they begin at buffer + true_lb. */
static inline bool hcoll_is_flat(const ompi_datatype_t* type, size_t count) {
  return 0 != opal_datatype_is_contiguous_memory_layout(&type->super, (int32_t)(count > 1 ? 2 : count));
}
static inline char* hcoll_data_at(const void* buffer, const ompi_datatype_t* type) {
  return (char*)buffer + type->super.true_lb;
}

#endif
