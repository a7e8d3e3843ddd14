/* The table of folds: every predefined pair of MPI type and operation, looked up once. If src/reduce has a kernel
 * for the pair it is used, else (long double, complex product, Fortran's LOGICAL, ...) Open MPI's own function of
 * three buffers. A user's operation gets a fold for each call, which Open MPI calls as the language of its function
 * demands. */
#include "rank/fold.h"

#include "hcoll.h"
#include "rank/predefined.h"

#include <limits.h>
#include <pthread.h>

#include "ompi/datatype/ompi_datatype_internal.h"
#include "sharp/api/sharp_coll.h"

struct sumac_pair hcoll_folds[OMPI_DATATYPE_MAX_PREDEFINED][OMPI_OP_NUM_OF_TYPES];

static ompi_predefined_op_t* const ops[OMPI_OP_NUM_OF_TYPES] = {
    [OMPI_OP_MAX] = &ompi_mpi_op_max,   [OMPI_OP_MIN] = &ompi_mpi_op_min,       [OMPI_OP_SUM] = &ompi_mpi_op_sum,
    [OMPI_OP_PROD] = &ompi_mpi_op_prod, [OMPI_OP_LAND] = &ompi_mpi_op_land,     [OMPI_OP_BAND] = &ompi_mpi_op_band,
    [OMPI_OP_LOR] = &ompi_mpi_op_lor,   [OMPI_OP_BOR] = &ompi_mpi_op_bor,       [OMPI_OP_LXOR] = &ompi_mpi_op_lxor,
    [OMPI_OP_BXOR] = &ompi_mpi_op_bxor, [OMPI_OP_MAXLOC] = &ompi_mpi_op_maxloc, [OMPI_OP_MINLOC] = &ompi_mpi_op_minloc,
};
static const int sharp_ops[OMPI_OP_NUM_OF_TYPES] = {
    [OMPI_OP_MAX] = SHARP_OP_MAX,   [OMPI_OP_MIN] = SHARP_OP_MIN,       [OMPI_OP_SUM] = SHARP_OP_SUM,
    [OMPI_OP_PROD] = SHARP_OP_PROD, [OMPI_OP_LAND] = SHARP_OP_LAND,     [OMPI_OP_BAND] = SHARP_OP_BAND,
    [OMPI_OP_LOR] = SHARP_OP_LOR,   [OMPI_OP_BOR] = SHARP_OP_BOR,       [OMPI_OP_LXOR] = SHARP_OP_LXOR,
    [OMPI_OP_BXOR] = SHARP_OP_BXOR, [OMPI_OP_MAXLOC] = SHARP_OP_MAXLOC, [OMPI_OP_MINLOC] = SHARP_OP_MINLOC,
};

/* Computes out = a op b as Open MPI's collectives do. The order of the operands is kept, so that every rank gets the
 * same bits. */
static void fold_by_mpi(const sumac_fold_t* fold, void* out, const void* a, const void* b, size_t count) {
  const struct sumac_pair* pair = fold->context;
  while (count > 0) {
    size_t now = count < INT_MAX ? count : INT_MAX;
    ompi_3buff_op_reduce((ompi_op_t*)pair->op, (void*)a, (void*)b, out, (int)now, (ompi_datatype_t*)pair->type);
    a = (const char*)a + now * fold->element_bytes;
    b = (const char*)b + now * fold->element_bytes;
    out = (char*)out + now * fold->element_bytes;
    count -= now;
  }
}

/* The table's rows, by Open MPI's number of a type; `known` tells which types have a row. */
static struct {
  bool known;
  enum sumac_values values;
} rows[OMPI_DATATYPE_MAX_PREDEFINED];

static void list_row(const ompi_datatype_t* type, enum sumac_values values) {
  if (type->id > 0 && type->id < OMPI_DATATYPE_MAX_PREDEFINED && !rows[type->id].known) {
    rows[type->id].known = true;
    rows[type->id].values = values;
  }
}

static bool has_kernel(sumac_fold_t* fold, const ompi_datatype_t* type, int op, size_t size, size_t extent) {
  return rows[type->id].known && sumac_predefined_fold(fold, rows[type->id].values, sharp_ops[op], size, extent);
}

static void fill_pair(ompi_datatype_t* type, int op, size_t size, size_t extent) {
  struct sumac_pair* pair = &hcoll_folds[type->id][op];
  int in_table = ompi_op_ddt_map[type->id];
  if (in_table < 0 || NULL == ops[op]->op.o_func.intrinsic.fns[in_table]) {
    return; /* MPI does not have this pair */
  }
  pair->type = (uintptr_t)type;
  pair->op = (uintptr_t)&ops[op]->op;
  pair->mpi_bytes = extent; /* includes padding */
  if (has_kernel(&pair->fold, type, op, size, extent)) {
    if (SUMAC_COMPLEX_NUMBERS == rows[type->id].values) {
      pair->type = (uintptr_t)(4 == pair->fold.element_bytes ? &ompi_mpi_float.dt : &ompi_mpi_double.dt);
    }
    return;
  }
  if (NULL == ops[op]->op.o_3buff_intrinsic.fns[in_table] ||
      SUMAC_TEAM_OK != sumac_fold_custom(&pair->fold, extent, fold_by_mpi, pair)) {
    pair->mpi_bytes = 0;
  }
}

static void fill_one(ompi_datatype_t* type, int op, size_t size, size_t extent) {
  fill_pair(type, op, size, extent);
  hcoll_folds[type->id][op].fold.type_name = type->name;
  hcoll_folds[type->id][op].fold.op_name = ops[op]->op.o_name;
}

static void fill(void) {
#define ROW(name, values) list_row(MPI_##name, values);
  SUMAC_PREDEFINED_TYPES(ROW)
#undef ROW
  for (int id = 1; id < OMPI_DATATYPE_MAX_PREDEFINED; ++id) {
    ompi_datatype_t* type = (ompi_datatype_t*)ompi_datatype_basicDatatypes[id];
    if (NULL == type || type->id != id || !ompi_datatype_is_predefined(type)) {
      continue;
    }
    size_t size = 0;
    ptrdiff_t lower = 0, extent = 0;
    ompi_datatype_type_size(type, &size);
    ompi_datatype_get_extent(type, &lower, &extent);
    for (int op = OMPI_OP_MAX; op <= OMPI_OP_MINLOC; ++op) {
      fill_one(type, op, size, (size_t)extent);
    }
  }
}

void hcoll_folds_fill(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, fill);
}

/* A user's function finds the data of an element true_lb bytes behind its address. */
static void reduce_local(const void* context, const void* in, void* inout, int count) {
  const struct sumac_pair* own = context;
  ompi_op_reduce((ompi_op_t*)own->op, (char*)in - own->true_lb, (char*)inout - own->true_lb, count,
                 (ompi_datatype_t*)own->type);
}

static void fold_by_user(const sumac_fold_t* fold, void* out, const void* a, const void* b, size_t count) {
  sumac_fold_by_local(fold, out, a, b, count, reduce_local);
}

bool hcoll_fold_make(struct sumac_pair* fold, const sumac_team_t* team, enum sumac_coll coll, ompi_datatype_t* type,
                     ompi_op_t* op) {
  const ptrdiff_t extent = type->super.ub - type->super.lb, true_extent = type->super.true_ub - type->super.true_lb;
  /* Data that lie over each other are no result. A predefined operation takes predefined types only. A function in Java is bound to the thread that made it. */
  if (0 != (op->o_flags & (OMPI_OP_FLAGS_INTRINSIC | OMPI_OP_FLAGS_JAVA_FUNC)) || 0 == type->super.size ||
      extent <= 0 || true_extent > extent || (size_t)true_extent < type->super.size ||
      (size_t)extent > sumac_team_element_bytes_max(team, coll) ||
      (!ompi_op_is_commute(op) && !sumac_team_keeps_order(team))) {
    return false;
  }
  *fold = (struct sumac_pair){.mpi_bytes = (size_t)extent,
                              .type = (uintptr_t)type,
                              .op = (uintptr_t)op,
                              .true_lb = type->super.true_lb,
                              .true_extent = true_extent};
  if (SUMAC_TEAM_OK != sumac_fold_custom(&fold->fold, (size_t)extent, fold_by_user, fold)) {
    return false;
  }
  fold->fold.in_mpi = 1;
  return true;
}
