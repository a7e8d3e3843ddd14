/* Open MPI's datatypes and operations, as src/rank sees them. */
#include "datatypes.h"

#include <pthread.h>
#include <string.h>

#include "ompi/datatype/ompi_datatype_internal.h"
#include "opal/datatype/opal_convertor.h"
#include "rank/rare_types.h"

uint8_t hcoll_rows[OMPI_DATATYPE_MAX_PREDEFINED];

static void fill(void) {
#define TYPE(name, values) MPI_DATATYPE_NULL == MPI_##name ? 0 : (uintptr_t)MPI_##name,
  const uintptr_t types[SUMAC_ROWS] = {SUMAC_PREDEFINED_TYPES(TYPE)};
#undef TYPE
#define OP(name) (uintptr_t) MPI_##name,
  const uintptr_t ops[SUMAC_OPS] = {SUMAC_PREDEFINED_OPS(OP)};
#undef OP
  memset(hcoll_rows, SUMAC_ROWS, sizeof(hcoll_rows));
  for (int row = SUMAC_ROWS - 1; row >= 0; --row) { /* the first of two names of one type counts */
    const int id = 0 == types[row] ? 0 : ((const ompi_datatype_t*)types[row])->id;
    if (id > 0 && id < OMPI_DATATYPE_MAX_PREDEFINED) {
      hcoll_rows[id] = (uint8_t)row;
    }
  }
  sumac_pairs_fill(&hcoll_runtime, types, ops);
}

void hcoll_pairs_fill(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, fill);
}

const struct sumac_layout* hcoll_layout(uintptr_t handle, struct sumac_layout* room) {
  const ompi_datatype_t* type = (const ompi_datatype_t*)handle;
  const bool is_predefined = 0 != (type->super.flags & OMPI_DATATYPE_FLAG_PREDEFINED);
  *room = (struct sumac_layout){.type = handle,
                                .size = type->super.size,
                                .extent = type->super.ub - type->super.lb,
                                .true_lb = type->super.true_lb,
                                .true_extent = type->super.true_ub - type->super.true_lb,
                                .row = is_predefined && hcoll_rows[type->id] < SUMAC_ROWS ? hcoll_rows[type->id] : -1,
                                .is_dense = 0 != opal_datatype_is_contiguous_memory_layout(&type->super, 1),
                                .is_flat = 0 != opal_datatype_is_contiguous_memory_layout(&type->super, 2)};
  return room;
}

int hcoll_op_kind(uintptr_t handle) {
  ompi_op_t* op = (ompi_op_t*)handle;
  if (0 != (op->o_flags & OMPI_OP_FLAGS_INTRINSIC)) {
    const unsigned column = hcoll_column_of(op);
    return column < SUMAC_OPS ? (int)column : SUMAC_OP_NOT_FOR_US;
  }
  if (0 != (op->o_flags & OMPI_OP_FLAGS_JAVA_FUNC)) {
    return SUMAC_OP_NOT_FOR_US; /* it is bound to the thread that made it */
  }
  return ompi_op_is_commute(op) ? SUMAC_OP_OWN : SUMAC_OP_IN_ORDER;
}

/* Open MPI calls a function as its language demands. */
void hcoll_reduce_local(const void* in, void* inout, int count, uintptr_t type, uintptr_t op) {
  ompi_op_reduce((ompi_op_t*)op, (void*)in, inout, count, (ompi_datatype_t*)type);
}

int hcoll_hold_type(uintptr_t* type) {
  OMPI_DATATYPE_RETAIN((ompi_datatype_t*)*type);
  return MPI_SUCCESS;
}
void hcoll_release_type(uintptr_t handle) {
  ompi_datatype_t* type = (ompi_datatype_t*)handle;
  OMPI_DATATYPE_RELEASE_NO_NULLIFY(type);
}
void hcoll_hold_op(uintptr_t op) { OBJ_RETAIN((ompi_op_t*)op); }
void hcoll_release_op(uintptr_t handle) {
  ompi_op_t* op = (ompi_op_t*)handle;
  OBJ_RELEASE(op);
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
