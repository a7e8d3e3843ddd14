#pragma once
/* The layout of a collective's data. A team moves bytes: data of a type without gaps are used where they lie; any other are
 * packed into our memory before and unpacked from it afterwards. This is local to one rank: MPI lets ranks use different types
 * of equal signature, so the form of a rank's type must not influence a decision that all ranks share. In a reduction all ranks
 * have the same type: a user's function gets its elements with their gaps, so packed elements keep their extent, and only
 * their data return to the user. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/c_linkage.h"
#include "team/team.h"

SUMAC_C_BEGIN

struct sumac_record;
struct sumac_runtime;

/** The facts about a datatype of the MPI. */
struct sumac_layout {
  uintptr_t type; /* the MPI's handle */
  size_t size;    /* bytes of data in one element */
  ptrdiff_t extent, true_lb, true_extent;
  int row;       /* its row in fold.h's table, for a predefined type that reductions know; else -1 */
  bool is_dense; /* one element lies without a gap, in the order of its signature, from true_lb on */
  bool is_flat;  /* so do several elements one after the other */
};

/** A pair of type and operation: of the front end's table, or the program's own, in a plan. */
struct sumac_pair {
  sumac_fold_t fold; /* the first member: whoever has a call's fold has its pair */
  size_t
      mpi_bytes;  /* one MPI element in an array; 0: no such pair. A complex element has two elements of `fold` in it */
  uintptr_t type; /* the MPI's handle for one element of `fold` */
  uintptr_t op;   /* and for the operation on it */
  const struct sumac_runtime* runtime; /* the MPI, whose function does it where there is no kernel */
  ptrdiff_t true_lb;     /* the data of an element begin so many bytes behind the address that the MPI gets, */
  ptrdiff_t true_extent; /* and are so long */
};

/** One side of a collective, in the user's layout. */
struct sumac_side {
  char* user;
  struct sumac_layout layout;
  size_t count;         /* elements that follow each other, if `sized` is empty */
  sumac_blocks_t sized; /* counts and displacements of a v-form, the caller's, valid until the collective is done */
  int blocks;
  size_t packed_at; /* offset of the packed data in the plan's memory */
  bool is_packed;   /* else the user's memory is used as it is, and nothing above is set */
};

/** Which of a call's two addresses is the other one, as in a call that is in place and at a bcast's root. */
enum sumac_shared { SUMAC_SIDES_APART, SUMAC_IN_IS_OUT, SUMAC_OUT_IS_IN };

struct sumac_plan {
  sumac_call_t call;
  struct sumac_side send, receive;
  enum sumac_shared shared;
  bool keeps_extent;   /* a user's operation on a type with gaps: packed elements lie as far apart as the user's */
  size_t memory_bytes; /* the memory that sumac_plan_use() needs; 0: nothing is packed */
  void* memory;
  struct sumac_pair own; /* for a user's operation or type: call.fold points to it */
};

/** Copies `count` elements between the user's layout and bytes that follow each other. Returns an error code of the MPI. */
struct sumac_packing {
  int (*pack)(const void* user, size_t count, const struct sumac_layout* layout, void* bytes);
  int (*unpack)(const void* bytes, void* user, size_t count, const struct sumac_layout* layout);
};

/** Begins an empty call, member by member, because compilers clear a whole one with a slow loop. */
static inline void sumac_call_begin(sumac_call_t* call, enum sumac_coll coll) {
  call->coll = (uint8_t)coll;
  call->meaning = 0;
  call->root = 0;
  call->in = NULL;
  call->out = NULL;
  call->bytes = 0;
  call->fold = NULL;
  call->in_blocks.counts = call->in_blocks.displacements = NULL;
  call->out_blocks.counts = call->out_blocks.displacements = NULL;
  call->in_blocks.unit = call->out_blocks.unit = 0;
  call->in_blocks.is_wide = call->out_blocks.is_wide = 0;
}

/** Begins an empty plan; what it does not set is not read. */
static inline void sumac_plan_begin(struct sumac_plan* plan, enum sumac_coll coll) {
  sumac_call_begin(&plan->call, coll);
  plan->send.is_packed = plan->receive.is_packed = false;
  plan->shared = SUMAC_SIDES_APART;
  plan->keeps_extent = false;
  plan->memory_bytes = 0;
  plan->memory = NULL;
}

/** Packs a side of `count` elements that follow each other. */
void sumac_plan_pack_row(struct sumac_plan* plan, struct sumac_side* side, const void* user, size_t count,
                         const struct sumac_layout* layout);
/** Packs a side of blocks with counts and displacements of their own. */
void sumac_plan_pack_blocks(struct sumac_plan* plan, struct sumac_side* side, const void* user,
                            const sumac_blocks_t* sized, int blocks, const struct sumac_layout* layout);
/** Packs both sides of a reduction by plan->own whose elements have gaps. `out`: NULL at a rank that gets no result. */
void sumac_plan_pack_with_gaps(struct sumac_plan* plan, const void* in, size_t gives, void* out, size_t gets,
                               const struct sumac_layout* layout);
/** Completes equal blocks that are in place: the data to send are the `count` elements from the block `own` of the receiving
 *  side on. */
void sumac_plan_in_place(struct sumac_plan* plan, size_t own, size_t count);

/** The `in` of a rank that sends nothing: for a team NULL, or `in` equal to `out`, means in place. */
extern const char sumac_plan_no_data[1];

/** True if the call reduces by the program's own operation. */
static inline bool sumac_plan_is_own(const struct sumac_plan* plan) { return plan->call.fold == &plan->own.fold; }
/** Points the call at `memory`, of memory_bytes bytes on a cache line. */
void sumac_plan_use(struct sumac_plan* plan, void* memory);
/** Called before and after the collective. They do nothing if nothing is packed. Return an error code of the MPI. */
int sumac_plan_pack(const struct sumac_plan* plan, const struct sumac_packing* mpi);
int sumac_plan_unpack(const struct sumac_plan* plan, const struct sumac_packing* mpi);

/** MPI demands that counts and displacements stay until the end (3.1, 5.12), but MPIs read them in the call, and programs rely
 *  on that: mpi4py 4 frees them when the call returns. Copies those of a plan that is not used yet to `numbers`. */
#define SUMAC_PLAN_NUMBERS(blocks) (8 * (size_t)(blocks))
static inline bool sumac_plan_has_numbers(const struct sumac_plan* plan) {
  return NULL != plan->call.in_blocks.counts || NULL != plan->call.out_blocks.counts;
}
void sumac_plan_keep_numbers(struct sumac_plan* plan, int blocks, int64_t* numbers);

SUMAC_C_END
