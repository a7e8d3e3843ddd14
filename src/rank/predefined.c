#include "rank/predefined.h"

#include "sharp/api/sharp_coll.h"

static bool locates(int op) { return SHARP_OP_MAXLOC == op || SHARP_OP_MINLOC == op; }
static bool is_logical(int op) { return SHARP_OP_LAND == op || SHARP_OP_LOR == op || SHARP_OP_LXOR == op; }
static bool is_bitwise(int op) { return SHARP_OP_BAND == op || SHARP_OP_BOR == op || SHARP_OP_BXOR == op; }

bool sumac_predefined_is_legal(enum sumac_values values, int op) {
  switch (values) {
    case SUMAC_INTEGERS:
    case SUMAC_UNSIGNED_INTEGERS: return !locates(op);
    case SUMAC_REALS: return !locates(op) && !is_logical(op) && !is_bitwise(op);
    case SUMAC_COMPLEX_NUMBERS: return SHARP_OP_SUM == op || SHARP_OP_PROD == op;
    case SUMAC_C_BOOLS:
    case SUMAC_LOGICALS: return is_logical(op);
    case SUMAC_BYTES: return is_bitwise(op);
    case SUMAC_INTEGER_AND_INT:
    case SUMAC_REAL_AND_INT:
    case SUMAC_TWO_INTEGERS:
    case SUMAC_TWO_REALS: return locates(op);
  }
  return false;
}

/* Returns the integer type of `bytes` bytes; -1 if there is none. */
static int integer_of(size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1: return is_signed ? SHARP_DTYPE_INT8 : SHARP_DTYPE_UINT8;
    case 2: return is_signed ? SHARP_DTYPE_SHORT : SHARP_DTYPE_UNSIGNED_SHORT;
    case 4: return is_signed ? SHARP_DTYPE_INT : SHARP_DTYPE_UNSIGNED;
    case 8: return is_signed ? SHARP_DTYPE_LONG : SHARP_DTYPE_UNSIGNED_LONG;
    default: return -1;
  }
}

static int float_of(size_t bytes) { return 4 == bytes ? SHARP_DTYPE_FLOAT : 8 == bytes ? SHARP_DTYPE_DOUBLE : -1; }

bool sumac_predefined_fold(sumac_fold_t* fold, enum sumac_values values, int op, size_t size, size_t extent) {
  int dtype = -1, tag = SHARP_DTYPE_NULL;
  size_t elements = 1; /* one element of MPI is so many of the kernel */
  switch (values) {
    case SUMAC_INTEGERS: dtype = integer_of(size, true); break;
    case SUMAC_UNSIGNED_INTEGERS:
    case SUMAC_C_BOOLS:
    case SUMAC_BYTES: dtype = integer_of(size, false); break;
    case SUMAC_REALS: dtype = float_of(size); break;
    case SUMAC_COMPLEX_NUMBERS:
      elements = 2;
      dtype = SHARP_OP_SUM == op ? float_of(size / 2) : -1;
      break;
    case SUMAC_LOGICALS: break;
    case SUMAC_INTEGER_AND_INT: dtype = integer_of(size - sizeof(int), true); break;
    case SUMAC_REAL_AND_INT: dtype = float_of(size - sizeof(int)); break;
    case SUMAC_TWO_INTEGERS: dtype = tag = integer_of(size / 2, true); break;
    case SUMAC_TWO_REALS: dtype = tag = float_of(size / 2); break;
  }
  return sumac_predefined_is_legal(values, op) && dtype >= 0 && tag >= 0 &&
         SUMAC_TEAM_OK == sumac_fold_standard(fold, dtype, op, tag) && elements * fold->element_bytes == extent;
}
