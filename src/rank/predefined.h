#pragma once
/* The predefined datatypes that MPI's reductions know, in one table for every binding: a binding expands the list with
 * the handles of its MPI, and asks for the kernel of a type and an operation. */

#include <stdbool.h>
#include <stddef.h>

#include "base/c_linkage.h"
#include "team/team.h"

SUMAC_C_BEGIN

/** The kind of a type's values. Their width is the MPI's: Fortran's types differ from C's by name only. */
enum sumac_values {
  SUMAC_INTEGERS,
  SUMAC_UNSIGNED_INTEGERS,
  SUMAC_REALS,
  SUMAC_COMPLEX_NUMBERS,
  SUMAC_C_BOOLS,
  SUMAC_LOGICALS, /* Fortran's: the compiler decides which bits are true */
  SUMAC_BYTES,
  /* The pairs of MINLOC and MAXLOC. */
  SUMAC_INTEGER_AND_INT, /* C's struct of the value and an int */
  SUMAC_REAL_AND_INT,
  SUMAC_TWO_INTEGERS, /* Fortran's: the index has the type of the value */
  SUMAC_TWO_REALS
};

/** Calls X(name without MPI_, values) for every type; a binding skips those that its MPI lacks, and second names. */
#define SUMAC_PREDEFINED_TYPES(X)                   \
  X(SIGNED_CHAR, SUMAC_INTEGERS)                    \
  X(SHORT, SUMAC_INTEGERS)                          \
  X(INT, SUMAC_INTEGERS)                            \
  X(LONG, SUMAC_INTEGERS)                           \
  X(LONG_LONG, SUMAC_INTEGERS)                      \
  X(INT8_T, SUMAC_INTEGERS)                         \
  X(INT16_T, SUMAC_INTEGERS)                        \
  X(INT32_T, SUMAC_INTEGERS)                        \
  X(INT64_T, SUMAC_INTEGERS)                        \
  X(AINT, SUMAC_INTEGERS)                           \
  X(OFFSET, SUMAC_INTEGERS)                         \
  X(COUNT, SUMAC_INTEGERS)                          \
  X(INTEGER, SUMAC_INTEGERS)                        \
  X(INTEGER1, SUMAC_INTEGERS)                       \
  X(INTEGER2, SUMAC_INTEGERS)                       \
  X(INTEGER4, SUMAC_INTEGERS)                       \
  X(INTEGER8, SUMAC_INTEGERS)                       \
  X(INTEGER16, SUMAC_INTEGERS)                      \
  X(UNSIGNED_CHAR, SUMAC_UNSIGNED_INTEGERS)         \
  X(UNSIGNED_SHORT, SUMAC_UNSIGNED_INTEGERS)        \
  X(UNSIGNED, SUMAC_UNSIGNED_INTEGERS)              \
  X(UNSIGNED_LONG, SUMAC_UNSIGNED_INTEGERS)         \
  X(UNSIGNED_LONG_LONG, SUMAC_UNSIGNED_INTEGERS)    \
  X(UINT8_T, SUMAC_UNSIGNED_INTEGERS)               \
  X(UINT16_T, SUMAC_UNSIGNED_INTEGERS)              \
  X(UINT32_T, SUMAC_UNSIGNED_INTEGERS)              \
  X(UINT64_T, SUMAC_UNSIGNED_INTEGERS)              \
  X(FLOAT, SUMAC_REALS)                             \
  X(DOUBLE, SUMAC_REALS)                            \
  X(LONG_DOUBLE, SUMAC_REALS)                       \
  X(REAL, SUMAC_REALS)                              \
  X(DOUBLE_PRECISION, SUMAC_REALS)                  \
  X(REAL4, SUMAC_REALS)                             \
  X(REAL8, SUMAC_REALS)                             \
  X(REAL16, SUMAC_REALS)                            \
  X(C_COMPLEX, SUMAC_COMPLEX_NUMBERS)               \
  X(C_FLOAT_COMPLEX, SUMAC_COMPLEX_NUMBERS)         \
  X(C_DOUBLE_COMPLEX, SUMAC_COMPLEX_NUMBERS)        \
  X(C_LONG_DOUBLE_COMPLEX, SUMAC_COMPLEX_NUMBERS)   \
  X(COMPLEX, SUMAC_COMPLEX_NUMBERS)                 \
  X(DOUBLE_COMPLEX, SUMAC_COMPLEX_NUMBERS)          \
  X(COMPLEX8, SUMAC_COMPLEX_NUMBERS)                \
  X(COMPLEX16, SUMAC_COMPLEX_NUMBERS)               \
  X(COMPLEX32, SUMAC_COMPLEX_NUMBERS)               \
  X(CXX_FLOAT_COMPLEX, SUMAC_COMPLEX_NUMBERS)       \
  X(CXX_DOUBLE_COMPLEX, SUMAC_COMPLEX_NUMBERS)      \
  X(CXX_LONG_DOUBLE_COMPLEX, SUMAC_COMPLEX_NUMBERS) \
  X(C_BOOL, SUMAC_C_BOOLS)                          \
  X(CXX_BOOL, SUMAC_C_BOOLS)                        \
  X(LOGICAL, SUMAC_LOGICALS)                        \
  X(BYTE, SUMAC_BYTES)                              \
  X(SHORT_INT, SUMAC_INTEGER_AND_INT)               \
  X(2INT, SUMAC_INTEGER_AND_INT)                    \
  X(LONG_INT, SUMAC_INTEGER_AND_INT)                \
  X(FLOAT_INT, SUMAC_REAL_AND_INT)                  \
  X(DOUBLE_INT, SUMAC_REAL_AND_INT)                 \
  X(LONG_DOUBLE_INT, SUMAC_REAL_AND_INT)            \
  X(2INTEGER, SUMAC_TWO_INTEGERS)                   \
  X(2REAL, SUMAC_TWO_REALS)                         \
  X(2DOUBLE_PRECISION, SUMAC_TWO_REALS)

/** Calls X(name without MPI_) for every operation of reductions. */
#define SUMAC_PREDEFINED_OPS(X) \
  X(MAX) X(MIN) X(SUM) X(PROD) X(LAND) X(BAND) X(LOR) X(BOR) X(LXOR) X(BXOR) X(MAXLOC) X(MINLOC)
enum { SUMAC_OPS = 12 };

/** True for the combinations that MPI's standard allows (5.1, section 6.9.2); an MPI may refuse any other.
 *  @param op  A number of enum sharp_reduce_op. */
bool sumac_predefined_is_legal(enum sumac_values values, int op);

/** Fills `fold` with the kernel of src/reduce for a type and an operation, which the tree knows as well.
 *  @param size    The bytes of data in one element.
 *  @param extent  The bytes from one element of an array to the next.
 *  @return False: there is no such kernel. A sum of complex numbers is one of reals, two in each element. */
bool sumac_predefined_fold(sumac_fold_t* fold, enum sumac_values values, int op, size_t size, size_t extent);

SUMAC_C_END
