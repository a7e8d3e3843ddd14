/* Translates the calls of MPI into those of a team (plan.h). */
#include "plan.h"

#include "opal/datatype/opal_convertor.h"

static struct sumac_layout layout_of(const ompi_datatype_t* type) {
  return (struct sumac_layout){.type = (uintptr_t)type,
                               .size = type->super.size,
                               .extent = type->super.ub - type->super.lb,
                               .true_lb = type->super.true_lb};
}

char* hcoll_plan_row(struct sumac_plan* plan, struct sumac_side* side, const void* user, size_t count,
                     ompi_datatype_t* type) {
  if (OPAL_LIKELY(hcoll_is_flat(type, count))) {
    return hcoll_data_at(user, type);
  }
  const struct sumac_layout layout = layout_of(type);
  sumac_plan_pack_row(plan, side, user, count, &layout);
  return NULL;
}

char* hcoll_plan_blocks(struct sumac_plan* plan, struct sumac_side* side, sumac_blocks_t* at, const void* user,
                        const int* counts, const int* displacements, int blocks, ompi_datatype_t* type) {
  *at = (sumac_blocks_t){counts, displacements, type->super.size, 0};
  if (OPAL_LIKELY(hcoll_is_flat(type, 2))) {
    return hcoll_data_at(user, type);
  }
  const struct sumac_layout layout = layout_of(type);
  sumac_plan_pack_blocks(plan, side, user, at, blocks, &layout);
  return NULL;
}

static bool has_holes(const ompi_datatype_t* type) {
  const ptrdiff_t size = (ptrdiff_t)type->super.size;
  return type->super.ub - type->super.lb != size || type->super.true_ub - type->super.true_lb != size;
}

/* Elements without holes are used where they lie, whatever the order of their parts is: only the user's function looks
 * into them. */
static void plan_own(struct sumac_plan* plan, const void* from, void* rbuf, bool keeps, size_t gives, size_t gets,
                     const ompi_datatype_t* type) {
  plan->call.fold = &plan->own.fold;
  plan->call.bytes = gets * plan->own.mpi_bytes;
  if (0 == gets) {
    return;
  }
  if (has_holes(type)) {
    const struct sumac_layout layout = layout_of(type);
    sumac_plan_pack_with_gaps(plan, from, gives, keeps ? rbuf : NULL, gets, &layout);
    return;
  }
  plan->call.in = hcoll_data_at(from, type);
  plan->call.out = keeps ? hcoll_data_at(rbuf, type) : NULL;
}

enum hcoll_planned hcoll_plan_reduction(hcoll_module_t* module, struct sumac_plan* plan, enum sumac_coll coll,
                                        const void* sbuf, void* rbuf, bool keeps, int count, ompi_datatype_t* dtype,
                                        ompi_op_t* op) {
  sumac_plan_begin(plan, coll);
  const void* from = MPI_IN_PLACE == sbuf ? rbuf : sbuf;
  const struct sumac_pair* fold = hcoll_fold_of(dtype, op);
  if (OPAL_LIKELY(NULL != fold)) {
    plan->call.in = from;
    plan->call.out = keeps ? rbuf : NULL;
    plan->call.bytes = (size_t)count * fold->mpi_bytes;
    plan->call.fold = &fold->fold;
  } else if (hcoll_fold_make(&plan->own, module->record.ordinary.team, coll, dtype, op)) {
    const size_t blocks = SUMAC_COLL_REDUCE_SCATTER_BLOCK == coll ? (size_t)module->record.size : 1;
    plan_own(plan, from, rbuf, keeps, blocks * (size_t)count, (size_t)count, dtype);
  } else {
    return HCOLL_NOT_OURS;
  }
  return 0 == count ? HCOLL_NOTHING : HCOLL_PLANNED;
}

/* In place, `own` is the first block of rbuf that is sent. */
enum hcoll_planned hcoll_plan_equal_blocks(hcoll_module_t* module, struct sumac_plan* plan, const void* sbuf,
                                           int scount, ompi_datatype_t* sdtype, int sblocks, void* rbuf, int rcount,
                                           ompi_datatype_t* rdtype, int own) {
  plan->call.bytes = (size_t)rcount * rdtype->super.size;
  if (0 == plan->call.bytes) {
    return HCOLL_NOTHING;
  }
  const size_t received = (size_t)module->record.size * (size_t)rcount;
  plan->call.out = hcoll_plan_row(plan, &plan->receive, rbuf, received, rdtype);
  if (MPI_IN_PLACE != sbuf) {
    plan->call.in = hcoll_plan_row(plan, &plan->send, sbuf, (size_t)sblocks * (size_t)scount, sdtype);
  } else {
    sumac_plan_in_place(plan, (size_t)own, (size_t)sblocks * (size_t)rcount);
  }
  return HCOLL_PLANNED;
}

/* ---- packing, by Open MPI's convertor ---- */

/* `bytes` is the size of `count` elements; MPI_BOTTOM (NULL) is a legal `user`. */
static void convert(bool into_ours, char* user, size_t count, ompi_datatype_t* type, char* ours, size_t bytes) {
  if (0 == bytes) {
    return;
  }
  opal_convertor_t convertor;
  OBJ_CONSTRUCT(&convertor, opal_convertor_t);
  if (into_ours) {
    (void)opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, count, user, 0, &convertor);
  } else {
    (void)opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super, count, user, 0, &convertor);
  }
  size_t done = 0;
  int32_t complete = 0;
  while (!complete && done < bytes) {
    struct iovec piece = {.iov_base = ours + done, .iov_len = bytes - done};
    uint32_t pieces = 1;
    size_t moved = bytes - done;
    complete = into_ours ? opal_convertor_pack(&convertor, &piece, &pieces, &moved)
                         : opal_convertor_unpack(&convertor, &piece, &pieces, &moved);
    if (complete < 0 || 0 == moved) {
      break; /* the convertor has reached the end of the type */
    }
    done += moved;
  }
  OBJ_DESTRUCT(&convertor);
}

int hcoll_pack(const void* user, size_t count, const struct sumac_layout* layout, void* bytes) {
  convert(true, (char*)user, count, (ompi_datatype_t*)layout->type, bytes, count * layout->size);
  return MPI_SUCCESS;
}

int hcoll_unpack(const void* bytes, void* user, size_t count, const struct sumac_layout* layout) {
  convert(false, user, count, (ompi_datatype_t*)layout->type, (char*)bytes, count * layout->size);
  return MPI_SUCCESS;
}
