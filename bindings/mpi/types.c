/* MPI's predefined types and operations in SHARP's words. What has no counterpart goes to the next module. */
#include "hcoll.h"

#include "ompi/datatype/ompi_datatype_internal.h"

static bool map_op(const ompi_op_t* op, enum sharp_reduce_op* out) {
  if (!ompi_op_is_intrinsic((ompi_op_t*)op)) {
    return false;
  }
  switch (op->op_type) {
    case OMPI_OP_MAX: *out = SHARP_OP_MAX; return true;
    case OMPI_OP_MIN: *out = SHARP_OP_MIN; return true;
    case OMPI_OP_SUM: *out = SHARP_OP_SUM; return true;
    case OMPI_OP_PROD: *out = SHARP_OP_PROD; return true;
    case OMPI_OP_LAND: *out = SHARP_OP_LAND; return true;
    case OMPI_OP_BAND: *out = SHARP_OP_BAND; return true;
    case OMPI_OP_LOR: *out = SHARP_OP_LOR; return true;
    case OMPI_OP_BOR: *out = SHARP_OP_BOR; return true;
    case OMPI_OP_LXOR: *out = SHARP_OP_LXOR; return true;
    case OMPI_OP_BXOR: *out = SHARP_OP_BXOR; return true;
    case OMPI_OP_MAXLOC: *out = SHARP_OP_MAXLOC; return true;
    case OMPI_OP_MINLOC: *out = SHARP_OP_MINLOC; return true;
    default: return false;
  }
}

/* An integer of `bytes` bytes. */
static bool map_integer(size_t bytes, bool is_signed, enum sharp_datatype* out) {
  switch (bytes) {
    case 1: *out = is_signed ? SHARP_DTYPE_INT8 : SHARP_DTYPE_UINT8; return true;
    case 2: *out = is_signed ? SHARP_DTYPE_SHORT : SHARP_DTYPE_UNSIGNED_SHORT; return true;
    case 4: *out = is_signed ? SHARP_DTYPE_INT : SHARP_DTYPE_UNSIGNED; return true;
    case 8: *out = is_signed ? SHARP_DTYPE_LONG : SHARP_DTYPE_UNSIGNED_LONG; return true;
    default: return false;
  }
}

static bool map_float(size_t bytes, enum sharp_datatype* out) {
  switch (bytes) {
    case 4: *out = SHARP_DTYPE_FLOAT; return true;
    case 8: *out = SHARP_DTYPE_DOUBLE; return true;
    default: return false;
  }
}

enum form { INTEGER, UNSIGNED_INTEGER, REAL, COMPLEX, PAIR, NONE };

/* Fortran's types differ from C's by name only: their width, asked of the type, says which C type they are. */
static enum form form_of(int id) {
  switch (id) {
    case OMPI_DATATYPE_MPI_INT8_T:
    case OMPI_DATATYPE_MPI_INT16_T:
    case OMPI_DATATYPE_MPI_INT32_T:
    case OMPI_DATATYPE_MPI_INT64_T:
    case OMPI_DATATYPE_MPI_INTEGER:
    case OMPI_DATATYPE_MPI_AINT:
    case OMPI_DATATYPE_MPI_OFFSET:
    case OMPI_DATATYPE_MPI_COUNT:
    case OMPI_DATATYPE_MPI_LONG: return INTEGER;
    case OMPI_DATATYPE_MPI_UINT8_T:
    case OMPI_DATATYPE_MPI_UINT16_T:
    case OMPI_DATATYPE_MPI_UINT32_T:
    case OMPI_DATATYPE_MPI_UINT64_T:
    case OMPI_DATATYPE_MPI_C_BOOL:
    case OMPI_DATATYPE_MPI_UNSIGNED_LONG: return UNSIGNED_INTEGER;
    case OMPI_DATATYPE_MPI_FLOAT:
    case OMPI_DATATYPE_MPI_DOUBLE:
    case OMPI_DATATYPE_MPI_REAL:
    case OMPI_DATATYPE_MPI_DOUBLE_PRECISION: return REAL;
    case OMPI_DATATYPE_MPI_COMPLEX8:
    case OMPI_DATATYPE_MPI_COMPLEX16:
    case OMPI_DATATYPE_MPI_COMPLEX:
    case OMPI_DATATYPE_MPI_DOUBLE_COMPLEX:
    case OMPI_DATATYPE_MPI_C_COMPLEX:
    case OMPI_DATATYPE_MPI_C_FLOAT_COMPLEX:
    case OMPI_DATATYPE_MPI_C_DOUBLE_COMPLEX: return COMPLEX;
    /* Value and int, both in slots as wide as the value: SHARP's pair without a tag type. MPI_SHORT_INT is not one. */
    case OMPI_DATATYPE_MPI_2INT:
    case OMPI_DATATYPE_MPI_FLOAT_INT:
    case OMPI_DATATYPE_MPI_DOUBLE_INT:
    case OMPI_DATATYPE_MPI_LONG_INT: return PAIR;
    default: return NONE;
  }
}

static bool map_pair(int id, enum sharp_datatype* out) {
  switch (id) {
    case OMPI_DATATYPE_MPI_2INT: *out = SHARP_DTYPE_INT; return true;
    case OMPI_DATATYPE_MPI_FLOAT_INT: *out = SHARP_DTYPE_FLOAT; return true;
    case OMPI_DATATYPE_MPI_DOUBLE_INT: *out = SHARP_DTYPE_DOUBLE; return true;
    case OMPI_DATATYPE_MPI_LONG_INT: *out = SHARP_DTYPE_LONG; return true;
    default: return false;
  }
}

bool hcoll_map(struct ompi_datatype_t* type, struct ompi_op_t* op, struct hcoll_reduction* out) {
  if (!ompi_datatype_is_predefined(type) || !map_op(op, &out->op)) {
    return false;
  }
  size_t bytes = 0;
  ompi_datatype_type_size(type, &bytes);
  bool locates = SHARP_OP_MAXLOC == out->op || SHARP_OP_MINLOC == out->op;
  bool arithmetic =
      SHARP_OP_MAX == out->op || SHARP_OP_MIN == out->op || SHARP_OP_SUM == out->op || SHARP_OP_PROD == out->op;
  out->tag_dtype = SHARP_DTYPE_NULL;
  out->per_element = 1;
  out->element_bytes = bytes;
  switch (form_of(type->id)) {
    case INTEGER: return !locates && map_integer(bytes, true, &out->dtype);
    case UNSIGNED_INTEGER: return !locates && map_integer(bytes, false, &out->dtype);
    case REAL: return arithmetic && map_float(bytes, &out->dtype);
    case COMPLEX: /* a sum is the sum of both parts */
      out->per_element = 2;
      return SHARP_OP_SUM == out->op && map_float(bytes / 2, &out->dtype);
    case PAIR: {
      ptrdiff_t lower = 0, extent = 0;
      ompi_datatype_get_extent(type, &lower, &extent);
      out->element_bytes = (size_t)extent; /* with the padding behind a tag narrower than its slot */
      return locates && map_pair(type->id, &out->dtype);
    }
    case NONE: return false;
  }
  return false;
}
