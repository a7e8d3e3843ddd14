/* Translates the calls of MPI into those of a team (plan.h). */
#include "plan.h"

/* Packed memory holds the counts and displacements of the sides' blocks first, then their data, each part on a cache line of
 * its own. */
#define LINE 64
static size_t rounded(size_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

static size_t reserve(struct hcoll_plan* plan, size_t bytes) {
  size_t at = plan->memory_bytes;
  plan->memory_bytes = at + rounded(bytes > 0 ? bytes : 1);
  return at;
}

const char hcoll_plan_no_data[1];

void hcoll_plan_begin(struct hcoll_plan* plan, enum sumac_coll coll) {
  plan->call = (sumac_call_t){.coll = coll};
  plan->send.is_packed = plan->receive.is_packed = false;
  plan->shared = HCOLL_APART;
  plan->keeps_extent = false;
  plan->memory = NULL;
  plan->memory_bytes = 0;
}

/* For elements that follow each other: `user` is used as it is, or packed into `bytes` bytes. Returns the address of
 * the data; NULL: packed. */
char* hcoll_plan_row(struct hcoll_plan* plan, struct hcoll_side* side, const void* user, size_t count,
                     ompi_datatype_t* type, size_t bytes) {
  if (OPAL_LIKELY(hcoll_is_flat(type, count))) {
    return hcoll_data_at(user, type);
  }
  *side = (struct hcoll_side){
      .user = (char*)user, .type = type, .count = count, .packed_at = reserve(plan, bytes), .is_packed = true};
  return NULL;
}

static void pack_with_holes(struct hcoll_plan* plan, struct hcoll_side* side, const void* user, size_t elements) {
  *side = (struct hcoll_side){.user = (char*)user,
                              .type = plan->own.type,
                              .count = elements,
                              .packed_at = reserve(plan, elements * plan->own.mpi_bytes),
                              .is_packed = true};
}

static bool has_holes(const ompi_datatype_t* type) {
  const ptrdiff_t size = (ptrdiff_t)type->super.size;
  return type->super.ub - type->super.lb != size || type->super.true_ub - type->super.true_lb != size;
}

/* Elements without holes are used where they lie, whatever the order of their parts is: only the user's function looks
 * into them. */
static void plan_own(struct hcoll_plan* plan, const void* from, void* rbuf, bool keeps, size_t gives, size_t gets) {
  plan->call.fold = &plan->own.fold;
  plan->call.bytes = gets * plan->own.mpi_bytes;
  if (0 == gets) {
    return;
  }
  if (has_holes(plan->own.type)) {
    plan->keeps_extent = true;
    pack_with_holes(plan, &plan->send, from, gives);
    if (keeps) {
      pack_with_holes(plan, &plan->receive, rbuf, gets);
    }
    return;
  }
  plan->call.in = hcoll_data_at(from, plan->own.type);
  plan->call.out = keeps ? hcoll_data_at(rbuf, plan->own.type) : NULL;
}

enum hcoll_planned hcoll_plan_reduction(hcoll_module_t* module, struct hcoll_plan* plan, enum sumac_coll coll,
                                        const void* sbuf, void* rbuf, bool keeps, int count, ompi_datatype_t* dtype,
                                        ompi_op_t* op) {
  hcoll_plan_begin(plan, coll);
  const void* from = MPI_IN_PLACE == sbuf ? rbuf : sbuf;
  const struct hcoll_fold* fold = hcoll_fold_of(dtype, op);
  if (OPAL_LIKELY(NULL != fold)) {
    plan->call.in = from;
    plan->call.out = keeps ? rbuf : NULL;
    plan->call.bytes = (size_t)count * fold->mpi_bytes;
    plan->call.fold = &fold->fold;
  } else if (hcoll_fold_make(&plan->own, module->record.ordinary.team, coll, dtype, op)) {
    const size_t blocks = SUMAC_COLL_REDUCE_SCATTER_BLOCK == coll ? (size_t)module->record.size : 1;
    plan_own(plan, from, rbuf, keeps, blocks * (size_t)count, (size_t)count);
  } else {
    return HCOLL_NOT_OURS;
  }
  return 0 == count ? HCOLL_NOTHING : HCOLL_PLANNED;
}

/* For equal blocks on both sides: `sblocks` of them are sent, `size` received; in place, `own` is the first block of
 * rbuf that is sent. */
enum hcoll_planned hcoll_plan_equal_blocks(hcoll_module_t* module, struct hcoll_plan* plan, const void* sbuf,
                                           int scount, ompi_datatype_t* sdtype, int sblocks, void* rbuf, int rcount,
                                           ompi_datatype_t* rdtype, int own) {
  size_t bytes = (size_t)rcount * rdtype->super.size, blocks = (size_t)module->record.size;
  plan->call.bytes = bytes;
  if (0 == bytes) {
    return HCOLL_NOTHING;
  }
  plan->call.out = hcoll_plan_row(plan, &plan->receive, rbuf, blocks * (size_t)rcount, rdtype, blocks * bytes);
  if (MPI_IN_PLACE != sbuf) {
    plan->call.in =
        hcoll_plan_row(plan, &plan->send, sbuf, (size_t)sblocks * (size_t)scount, sdtype, (size_t)sblocks * bytes);
    return HCOLL_PLANNED;
  }
  plan->shared = HCOLL_IN_IS_OUT;
  plan->call.in = plan->call.out;
  if (plan->receive.is_packed) { /* data to send is packed into the memory that receives */
    ptrdiff_t extent = rdtype->super.ub - rdtype->super.lb;
    plan->send = plan->receive;
    plan->send.user += (ptrdiff_t)own * rcount * extent;
    plan->send.count = (size_t)sblocks * (size_t)rcount;
    plan->send.packed_at += (size_t)own * bytes;
  }
  return HCOLL_PLANNED;
}

/* The counts and displacements of packed blocks. */
static size_t numbers_bytes(int blocks) { return 2 * sizeof(int64_t) * (size_t)blocks; }

/* For blocks with sizes and displacements of their own. If they are packed, they follow each other and the
 * displacements are ours. */
char* hcoll_plan_blocks(struct hcoll_plan* plan, struct hcoll_side* side, sumac_blocks_t* at, const void* user,
                        const int* counts, const int* displacements, int blocks, ompi_datatype_t* type) {
  at->counts = counts;
  at->displacements = displacements;
  at->unit = type->super.size;
  at->is_wide = 0;
  if (OPAL_LIKELY(hcoll_is_flat(type, 2))) {
    return hcoll_data_at(user, type);
  }
  size_t elements = 0;
  for (int i = 0; i < blocks; ++i) {
    elements += (size_t)counts[i];
  }
  *side = (struct hcoll_side){
      .user = (char*)user, .type = type, .counts = counts, .displacements = displacements, .blocks = blocks};
  side->packed_at = reserve(plan, numbers_bytes(blocks) + LINE + elements * at->unit);
  side->is_packed = true;
  return NULL;
}

char* hcoll_plan_packed(const struct hcoll_plan* plan, const struct hcoll_side* side) {
  char* begins = (char*)plan->memory + side->packed_at;
  return NULL == side->counts ? begins : begins + rounded(numbers_bytes(side->blocks));
}

/* Returns where the packed data of a side begin, and sets the counts and displacements of blocks of different lengths:
 * those may be larger than the program's. */
static char* lay_out(const struct hcoll_plan* plan, const struct hcoll_side* side, sumac_blocks_t* at) {
  if (NULL != side->counts) {
    int64_t* counts = (int64_t*)((char*)plan->memory + side->packed_at);
    int64_t *displacements = counts + side->blocks, next = 0;
    for (int i = 0; i < side->blocks; ++i) {
      counts[i] = side->counts[i];
      displacements[i] = next;
      next += counts[i];
    }
    *at = (sumac_blocks_t){counts, displacements, at->unit, 1};
  }
  return hcoll_plan_packed(plan, side);
}

void hcoll_plan_use(struct hcoll_plan* plan, void* memory) {
  sumac_call_t* call = &plan->call;
  plan->memory = memory;
  if (plan->receive.is_packed) {
    call->out = lay_out(plan, &plan->receive, &call->out_blocks);
  }
  if (plan->send.is_packed && HCOLL_IN_IS_OUT != plan->shared) {
    call->in = lay_out(plan, &plan->send, &call->in_blocks);
  }
  if (HCOLL_IN_IS_OUT == plan->shared) {
    call->in = call->out;
    call->in_blocks = call->out_blocks;
  } else if (HCOLL_OUT_IS_IN == plan->shared) {
    call->out = (void*)call->in;
  }
}
