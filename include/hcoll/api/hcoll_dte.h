/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes and operations. A predefined type is a record whose id tells it; most describe themselves "in line". A derived type
 * of MPI is a handle of hcoll_create_mpi_type(). */
#ifndef HCOLL_DTE_H_
#define HCOLL_DTE_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The id of a type. */
typedef enum {
  HCOL_DTE_ZERO = 0,
  HCOL_DTE_BYTE = 1,
  HCOL_DTE_INT16 = 2,
  HCOL_DTE_INT32 = 3,
  HCOL_DTE_INT64 = 4,
  HCOL_DTE_INT128 = 5,
  HCOL_DTE_UBYTE = 6,
  HCOL_DTE_UINT16 = 7,
  HCOL_DTE_UINT32 = 8,
  HCOL_DTE_UINT64 = 9,
  HCOL_DTE_UINT128 = 10,
  HCOL_DTE_FLOAT32 = 11,
  HCOL_DTE_FLOAT64 = 12,
  HCOL_DTE_FLOAT96 = 13,
  HCOL_DTE_FLOAT128 = 14,
  HCOL_DTE_FLOAT32_COMPLEX = 15,
  HCOL_DTE_FLOAT64_COMPLEX = 16,
  HCOL_DTE_FLOAT128_COMPLEX = 17,
  HCOL_DTE_FLOAT_INT = 18,
  HCOL_DTE_DOUBLE_INT = 19,
  HCOL_DTE_LONG_INT = 20,
  HCOL_DTE_2INT = 21,
  HCOL_DTE_SHORT_INT = 22,
  HCOL_DTE_LONG_DOUBLE_INT = 23,
  HCOL_DTE_2INT64 = 24,
  HCOL_DTE_2FLOAT32 = 25,
  HCOL_DTE_2FLOAT64 = 26,
  HCOL_DTE_LB = 27,
  HCOL_DTE_UB = 28,
  HCOL_DTE_BOOL = 29,
  HCOL_DTE_WCHAR = 30,
  HCOL_DTE_MPI = 31,
  HCOL_DTE_FLOAT16 = 32,
  HCOL_DTE_MAX_PREDEFINED = 33
} hcoll_dte_id_t;

enum { HCOL_FIXED_SIZE_TYPE = 0, HCOL_FLOATING_POINT_TYPE = 1 };

/** A type in line. `packed_size` and `data_extent` count bits. */
struct dte_in_line_t {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  uint8_t is_signed : 1, padding : 2, n_types : 2, contiguity : 1, type : 1, in_line : 1;
#else
  uint8_t in_line : 1, type : 2, contiguity : 1, n_types : 2, padding : 1, is_signed : 1;
#endif
  uint8_t packed_size;
  uint8_t mantisa_size;
  uint16_t data_extent;
  uint16_t offset_from_base;
  uint8_t alignment;
};

struct dte_data_rep_t {
  union {
    struct dte_in_line_t in_line;
    uint64_t pointer_to_handle; /* its lowest bit is 0, which is `in_line` */
    uint8_t raw[8];
  } data_handle;
};

struct dte_ptr;
struct dte_data_rep_gen_t;

typedef struct dte_data_representation_t {
  union {
    struct dte_data_rep_t in_line_rep;
    struct dte_ptr* ptr;
    struct dte_data_rep_gen_t* general_rep;
  } rep;
  short id;
} dte_data_representation_t;
typedef struct dte_data_representation_t hcoll_datatype_t;

#define HCOL_DTE_IS_INLINE(_type) ((_type).rep.in_line_rep.data_handle.in_line.in_line)
#define HCOL_DTE_IS_ZERO(_type) (HCOL_DTE_IS_INLINE(_type) && (_type).id == HCOL_DTE_ZERO)
#define HCOL_DTE_IS_COMPLEX(_type) (!HCOL_DTE_IS_INLINE(_type) && (_type).id == HCOL_DTE_ZERO)
#define HCOL_DTE_PTR(_type) ((_type).rep.ptr)
/** The bytes of an element; -1: the type does not tell. */
#define HCOL_DTE_SIZE(_type) \
  (HCOL_DTE_IS_INLINE(_type) ? (int)((_type).rep.in_line_rep.data_handle.in_line.packed_size / 8) : -1)
#define HCOL_DTE_EXTENT(_type) \
  (HCOL_DTE_IS_INLINE(_type) ? (int)((_type).rep.in_line_rep.data_handle.in_line.data_extent / 8) : -1)
#define HCOL_DTE_IS_SIGNED(_type) ((_type).rep.in_line_rep.data_handle.in_line.is_signed)
#define HCOL_DTE_IS_CONTIG(_type) ((_type).rep.in_line_rep.data_handle.in_line.contiguity)
#define HCOL_DTE_IS_FIXED_SIZE(_type) ((_type).rep.in_line_rep.data_handle.in_line.type == HCOL_FIXED_SIZE_TYPE)
#define HCOL_DTE_PREDEFINED_ID(_type) ((_type).id)

extern dte_data_representation_t zero_dte;
extern dte_data_representation_t byte_dte;
extern dte_data_representation_t integer16_dte;
extern dte_data_representation_t integer32_dte;
extern dte_data_representation_t integer64_dte;
extern dte_data_representation_t integer128_dte;
extern dte_data_representation_t u_byte_dte;
extern dte_data_representation_t u_integer16_dte;
extern dte_data_representation_t u_integer32_dte;
extern dte_data_representation_t u_integer64_dte;
extern dte_data_representation_t u_integer128_dte;
extern dte_data_representation_t float32_dte;
extern dte_data_representation_t float64_dte;
extern dte_data_representation_t float96_dte;
extern dte_data_representation_t float128_dte;
extern dte_data_representation_t float32_complex_dte;
extern dte_data_representation_t float64_complex_dte;
extern dte_data_representation_t float128_complex_dte;
extern dte_data_representation_t hcol_dte_float_int;
extern dte_data_representation_t hcol_dte_double_int;
extern dte_data_representation_t hcol_dte_long_int;
extern dte_data_representation_t hcol_dte_2int;
extern dte_data_representation_t hcol_dte_short_int;
extern dte_data_representation_t hcol_dte_long_double_int;
extern dte_data_representation_t hcol_dte_2int64;
extern dte_data_representation_t hcol_dte_2float32;
extern dte_data_representation_t hcol_dte_2float64;
extern dte_data_representation_t hcol_dte_lb;
extern dte_data_representation_t hcol_dte_ub;
extern dte_data_representation_t hcol_dte_bool;
extern dte_data_representation_t hcol_dte_wchar;
extern dte_data_representation_t float16_dte;

/* Clients test with #if defined() for some of them, and take their addresses. */
#define DTE_ZERO zero_dte
#define DTE_BYTE byte_dte
#define DTE_INT16 integer16_dte
#define DTE_INT32 integer32_dte
#define DTE_INT64 integer64_dte
#define DTE_INT128 integer128_dte
#define DTE_UBYTE u_byte_dte
#define DTE_UINT16 u_integer16_dte
#define DTE_UINT32 u_integer32_dte
#define DTE_UINT64 u_integer64_dte
#define DTE_UINT128 u_integer128_dte
#define DTE_FLOAT32 float32_dte
#define DTE_FLOAT64 float64_dte
#define DTE_FLOAT96 float96_dte
#define DTE_FLOAT128 float128_dte
#define DTE_FLOAT32_COMPLEX float32_complex_dte
#define DTE_FLOAT64_COMPLEX float64_complex_dte
#define DTE_FLOAT128_COMPLEX float128_complex_dte
#define DTE_FLOAT_INT hcol_dte_float_int
#define DTE_DOUBLE_INT hcol_dte_double_int
#define DTE_LONG_INT hcol_dte_long_int
#define DTE_2INT hcol_dte_2int
#define DTE_SHORT_INT hcol_dte_short_int
#define DTE_LONG_DOUBLE_INT hcol_dte_long_double_int
#define DTE_2INT64 hcol_dte_2int64
#define DTE_2FLOAT32 hcol_dte_2float32
#define DTE_2FLOAT64 hcol_dte_2float64
#define DTE_LB hcol_dte_lb
#define DTE_UB hcol_dte_ub
#define DTE_BOOL hcol_dte_bool
#define DTE_WCHAR hcol_dte_wchar
#define DTE_FLOAT16 float16_dte

/** The id of an operation. */
enum {
  HCOL_DTE_OP_NULL = 0,
  HCOL_DTE_OP_MAX = 1,
  HCOL_DTE_OP_MIN = 2,
  HCOL_DTE_OP_SUM = 3,
  HCOL_DTE_OP_PROD = 4,
  HCOL_DTE_OP_LAND = 5,
  HCOL_DTE_OP_BAND = 6,
  HCOL_DTE_OP_LOR = 7,
  HCOL_DTE_OP_BOR = 8,
  HCOL_DTE_OP_LXOR = 9,
  HCOL_DTE_OP_BXOR = 10,
  HCOL_DTE_OP_MAXLOC = 11,
  HCOL_DTE_OP_MINLOC = 12,
  HCOL_DTE_OP_REPLACE = 13,
  HCOL_DTE_OP_NUM_OF_TYPES = 14
};

typedef struct hcoll_dte_op_t {
  int id;
} hcoll_dte_op_t;

extern hcoll_dte_op_t hcoll_dte_op_null, hcoll_dte_op_max, hcoll_dte_op_min, hcoll_dte_op_sum, hcoll_dte_op_prod,
    hcoll_dte_op_land, hcoll_dte_op_band, hcoll_dte_op_lor, hcoll_dte_op_bor, hcoll_dte_op_lxor, hcoll_dte_op_bxor;

#define HCOL_OP_NULL (&hcoll_dte_op_null)
#define HCOL_OP_MAX (&hcoll_dte_op_max)
#define HCOL_OP_MIN (&hcoll_dte_op_min)
#define HCOL_OP_SUM (&hcoll_dte_op_sum)
#define HCOL_OP_PROD (&hcoll_dte_op_prod)
#define HCOL_OP_LAND (&hcoll_dte_op_land)
#define HCOL_OP_BAND (&hcoll_dte_op_band)
#define HCOL_OP_LOR (&hcoll_dte_op_lor)
#define HCOL_OP_BOR (&hcoll_dte_op_bor)
#define HCOL_OP_LXOR (&hcoll_dte_op_lxor)
#define HCOL_OP_BXOR (&hcoll_dte_op_bxor)

/** Returns the name of a type, for people. */
static inline const char* hcoll_dte_dtype_name(dte_data_representation_t type) {
  static const char* const names[] = {"ZERO",
                                      "BYTE",
                                      "INT16",
                                      "INT32",
                                      "INT64",
                                      "INT128",
                                      "UBYTE",
                                      "UINT16",
                                      "UINT32",
                                      "UINT64",
                                      "UINT128",
                                      "FLOAT32",
                                      "FLOAT64",
                                      "FLOAT96",
                                      "FLOAT128",
                                      "FLOAT32_COMPLEX",
                                      "FLOAT64_COMPLEX",
                                      "FLOAT128_COMPLEX",
                                      "FLOAT_INT",
                                      "DOUBLE_INT",
                                      "LONG_INT",
                                      "2INT",
                                      "SHORT_INT",
                                      "LONG_DOUBLE_INT",
                                      "2INT64",
                                      "2FLOAT32",
                                      "2FLOAT64",
                                      "LB",
                                      "UB",
                                      "BOOL",
                                      "WCHAR",
                                      "MPI",
                                      "FLOAT16"};
  return type.id >= 0 && type.id < HCOL_DTE_MAX_PREDEFINED ? names[type.id] : "UNKNOWN";
}

/** The same of an operation. */
static inline const char* hcoll_dte_op_name(hcoll_dte_op_t* op) {
  static const char* const names[] = {"NULL", "MAX", "MIN",  "SUM",  "PROD",   "LAND",   "BAND",
                                      "LOR",  "BOR", "LXOR", "BXOR", "MAXLOC", "MINLOC", "REPLACE"};
  return op != 0 && op->id >= 0 && op->id < HCOL_DTE_OP_NUM_OF_TYPES ? names[op->id] : "UNKNOWN";
}

#ifdef __cplusplus
}
#endif

#endif
